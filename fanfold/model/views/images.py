"""Pictures in the output of items: the shape that the view `images` shows.

An output has `images`, each with `file`, `label` and `kind`: the `result`, the same `unmarked`, and any `alternative`. It may
have the picture `before`, and facts such as `prompt`, `seed` and `cost`. Reading tolerates any output, so that nothing can
break a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanfold.model.values.files import File

RESULT, UNMARKED, ALTERNATIVE = "result", "unmarked", "alternative"
FACTS = ("prompt", "seed", "service", "model", "cost", "seconds", "width", "height", "place")
"""What may be known of a picture."""
MOST = 200
"""Most pictures of one output that are shown."""


@dataclass(frozen=True)
class Picture:
    """One picture of an output. ``number`` is its place among them, from 1; the picture before has 0."""

    number: int
    file: File
    label: str
    kind: str


def pictures_in(output: Any) -> list[Picture]:
    """The pictures of an output, the result first; empty for an output of another shape."""
    given = output.get("images") if isinstance(output, Mapping) else None
    found = []
    for number, one in enumerate(given[:MOST] if isinstance(given, list) else (), 1):
        if isinstance(one, Mapping) and isinstance(one.get("file"), File):
            kind = one.get("kind") or (RESULT if number == 1 else ALTERNATIVE)
            found.append(Picture(number, one["file"], str(one.get("label") or one["file"].name), str(kind)))
    return found


def before_of(output: Any) -> Picture | None:
    """The picture that an output was made from."""
    before = output.get("before") if isinstance(output, Mapping) else None
    return Picture(0, before, before.name, "before") if isinstance(before, File) else None


def facts_of(output: Any) -> dict[str, Any]:
    """What is known of an output's picture: plain texts and numbers only."""
    if not isinstance(output, Mapping):
        return {}
    return {name: output[name] for name in FACTS if isinstance(output.get(name), str | int | float)}


def numbered(output: Any, number: int) -> File | None:
    """The file of a picture of an output by its number."""
    if number == 0:
        return before.file if (before := before_of(output)) else None
    return next((one.file for one in pictures_in(output) if one.number == number), None)
