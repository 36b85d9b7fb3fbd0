"""Which documents are meant, and where does each result belong? Files, folders and patterns; beside the source unless said."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fanfold.errors import BadInput

STDOUT = "-"


@dataclass(frozen=True)
class Source:
    """One document that was asked for."""

    path: Path
    root: Path
    """The folder it was found under: what lies between the two is kept when the results go into another folder."""


def find(given: Sequence[str]) -> tuple[list[Source], list[str]]:
    """The documents, each once and in a steady order, and what was named but is not there."""
    found: dict[Path, Source] = {}
    missing = []
    for name in given:
        sources = list(_expanded(name))
        if not sources:
            missing.append(name)
        for source in sources:
            found.setdefault(source.path.resolve(), source)
    return list(found.values()), missing


def _expanded(name: str) -> Iterable[Source]:
    path = Path(name).expanduser()
    if path.is_dir():
        return [Source(inner, path) for inner in sorted(path.rglob("*")) if _is_pdf(inner)]
    if path.exists():
        return [Source(path, path.parent)]
    if glob.has_magic(name):
        matches = sorted(Path(match) for match in glob.glob(os.path.expanduser(name), recursive=True))
        return [Source(match, match.parent) for match in matches if _is_pdf(match)]
    return []


def _is_pdf(path: Path) -> bool:
    return path.suffix.lower() == ".pdf" and path.is_file()


def targets(sources: Sequence[Source], output: str | None) -> list[Path | None]:
    """Where each result goes; None is the standard output. No two go to the same place."""
    if output == STDOUT:
        return [None for _ in sources]
    taken: set[Path] = set()
    return [_free(_target(source, output, alone=len(sources) == 1), taken) for source in sources]


def _target(source: Source, output: str | None, *, alone: bool) -> Path:
    name = source.path.with_suffix(".md").name
    if output is None:
        return source.path.with_name(name)
    place = Path(output).expanduser()
    is_folder = place.is_dir() or output.endswith(("/", os.sep)) or not place.suffix
    if is_folder:
        return place / source.path.parent.relative_to(source.root) / name
    if not alone:
        raise BadInput(f"{output} is one file, and there are several documents. Name a folder: -o {place.stem}/")
    return place


def _free(target: Path, taken: set[Path]) -> Path:
    number, place = 1, target
    while place in taken:
        number += 1
        place = target.with_stem(f"{target.stem}-{number}")
    taken.add(place)
    return place
