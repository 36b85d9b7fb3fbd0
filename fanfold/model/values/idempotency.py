"""Idempotency keys: the same for every attempt at one piece of work, and different for any two pieces of work.

A key is made of names that people choose, so separators inside names are escaped: the item `cover/thumb` and the job `thumb`
of the item `cover` have different keys.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

SEPARATORS = str.maketrans({"%": "%25", "/": "%2F", "~": "%7E"})


def item_key(task: str, stage: str, key: str, generations: tuple[int, int], splits: Sequence[int] = ()) -> str:
    """The key of an item: ``generations`` of its task and of itself, ``splits`` of every split before it that has made its items.

    They are left out if nothing was redone.
    """
    plain = f"{task}/{stage}/{escaped(key)}"
    if any(splits):
        return f"{plain}/g{generations[0]}.{'-'.join(map(str, splits))}.{generations[1]}"
    return f"{plain}/g{generations[0]}.{generations[1]}" if any(generations) else plain


def job_key(item: str, name: str, number: int) -> str:
    """The key of an external job of an item. ``number`` grows each time a job of that name was lost or failed."""
    named = item if name == "job" else f"{item}/{_named(name)}"
    return named if number == 1 else f"{named}~{number}"


def escaped(text: str) -> str:
    """A name, escaped as a part of a key."""
    return text.translate(SEPARATORS)


def _named(name: str) -> str:
    """A name, escaped so that it does not look like a generation."""
    return f"%67{escaped(name[1:])}" if re.match(r"g\d", name) else escaped(name)


def redone_splits(lineage: str | None, splits: Sequence[str]) -> list[int]:
    """The generation of each of the ``splits`` before an item, as stored with the task; 0 for a split that ran once."""
    known = json.loads(lineage) if lineage else {}
    return [int(known.get(stage, 0)) for stage in splits]
