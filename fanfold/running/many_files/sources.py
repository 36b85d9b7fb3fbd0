"""Finds the source files of a command and the target of each result, which is beside its source by default."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fanfold.errors import BadInput

STDOUT = STDIN = "-"


def is_url(name: str) -> bool:
    """Whether a source is to be downloaded."""
    return name.startswith(("http://", "https://"))


@dataclass(frozen=True)
class Source:
    """One source file."""

    path: Path
    root: Path
    """Folder it was found under. Subfolders are kept when results go into another folder."""
    given: str = ""
    """The URL it was downloaded from, or `-` for standard input. Its result goes into the current folder."""


@dataclass(frozen=True)
class Endings:
    """The file name endings an application accepts and produces."""

    taken: tuple[str, ...]
    """Accepted endings in lower case, such as `.pdf`."""
    made: str
    """Ending of the result, such as `.md`."""
    noun: tuple[str, str] = ("file", "files")
    """Singular and plural for people, such as `("PDF", "PDFs")`."""
    searched: tuple[str, ...] = ()
    """Endings of the files that are taken from a folder; empty for all accepted ones."""
    keeps: bool = False
    """Whether a result keeps the ending of its source, after ``made``: `novel.txt` becomes `novel.proofread.txt`."""

    def fit(self, path: Path) -> bool:
        """Whether the file has an accepted ending. Any other file is accepted only if named explicitly."""
        is_result = self.keeps and path.stem.endswith(self.made)
        return path.suffix.lower() in self.taken and not is_result and path.is_file()

    def result_name(self, path: Path) -> str:
        """The name of the result of a source."""
        if self.keeps:
            return f"{path.stem}{self.made}{path.suffix}"
        # A file with another ending (accepted because it was named) must not take the target of a file with the right
        # ending.
        fits = path.suffix.lower() in self.taken
        return path.with_suffix(self.made).name if fits else f"{path.name}{self.made}"


def find(given: Sequence[str], endings: Endings) -> tuple[list[Source], list[str]]:
    """The files, without duplicates and in a stable order, and an error for each name that matches none."""
    found: dict[Path, Source] = {}
    problems = []
    for name in given:
        try:
            sources = _expanded(name, endings)
        except OSError as error:
            problems.append(f"{name} cannot be read: {error.strerror or error}.")
            continue
        if isinstance(sources, str):
            problems.append(sources)
            continue
        for source in sources:
            found.setdefault(source.path.resolve(), source)
    return list(found.values()), problems


def _expanded(name: str, endings: Endings) -> list[Source] | str:
    """The files that a name stands for, or the reason there are none."""
    path = Path(name).expanduser()
    if path.is_dir():
        os.scandir(path).close()  # Raises for an unreadable folder, which rglob treats as empty.
        wanted = endings.searched or endings.taken
        found = (inner for inner in sorted(path.rglob("*")) if inner.suffix.lower() in wanted)
        inside = [Source(inner, path) for inner in found if endings.fit(inner)]
        return inside or f"There are no {endings.noun[1]} in {name}."
    if path.exists():
        return [Source(path, path.parent)] if path.is_file() else f"{name} is not a file."
    if glob.has_magic(name):
        matches = sorted(Path(match) for match in glob.glob(os.path.expanduser(name), recursive=True))
        fitting = [Source(match, match.parent) for match in matches if endings.fit(match)]
        return fitting or f"No {endings.noun[0]} matches {name}."
    if "://" in name:
        return f"{name} is not a URL with http or https: download the file first."
    return f"There is no file {name}."


def targets(
    sources: Sequence[Source],
    endings: Endings,
    output: str | None,
    owner: Callable[[Path], str | None] = lambda _: None,
) -> list[Path | None]:
    """The target of each result, all different; None means standard output.

    ``owner`` returns the source whose result is already at a path: the result of another source gets a number. A file named
    with ``-o`` is used in any case.
    """
    if output == STDOUT:
        return [None for _ in sources]
    taken: set[Path] = set()
    alone = len(sources) == 1
    found = []
    for source in sources:
        wanted = _target(source, endings, output, alone=alone)
        is_named = output is not None and wanted == Path(output).expanduser()
        found.append(_free(wanted, taken, (lambda _: None) if is_named else owner, str(source.path.resolve())))
    # A fetched source may have the name of its result, but not its place.
    originals = {source.path.resolve() for source in sources}
    for target in found:
        if target.resolve() in originals:
            raise BadInput(f"{target} is the {endings.noun[0]} itself. Choose another target: -o")
    return [*found]


def objection(target: Path) -> str | None:
    """Reason why ``target`` cannot be written, checked before the work is done."""
    place = next(parent for parent in target.absolute().parents if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        return f"Cannot write to {place}. Choose another target: -o"
    if target.exists() and not target.is_file():
        return f"{target} is not a file. Choose another target: -o"
    return None


def _target(source: Source, endings: Endings, output: str | None, *, alone: bool) -> Path:
    name = endings.result_name(source.path)
    if output is None:
        return Path(name) if source.given else source.path.with_name(name)
    place = Path(output).expanduser()
    is_folder = place.is_dir() or output.endswith(("/", os.sep)) or not place.suffix
    if is_folder:
        return place / source.path.parent.relative_to(source.root) / name
    if not alone:
        raise BadInput(f"{output} is one file, but there are several documents. Name a folder: -o {place.stem}/")
    return place


def _free(target: Path, taken: set[Path], owner: Callable[[Path], str | None], source: str) -> Path:
    number, place = 1, target
    while place in taken or owner(place) not in (None, source):
        number += 1
        place = target.with_stem(f"{target.stem}-{number}")
    taken.add(place)
    return place
