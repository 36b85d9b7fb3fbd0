"""Fetches sources that are not files yet: URLs, and `-` for standard input."""

from __future__ import annotations

import hashlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fanfold.errors import BadInput
from fanfold.model.text.sizes import told_size
from fanfold.running.many_files.sources import STDIN, Endings, Source, find, is_url

if TYPE_CHECKING:
    from fanfold.settings import Settings

_PART = 1 << 20
_HEADS = (
    (b"%PDF", ".pdf"), (b"\x89PNG", ".png"), (b"\xff\xd8\xff", ".jpg"), (b"II*\x00", ".tif"), (b"MM\x00*", ".tif"),
    (b"RIFF", ".webp"),
)  # fmt: skip
"""First bytes of files, for the name of one that has none."""


@contextmanager
def arrived(given: Sequence[str], endings: Endings, settings: Settings) -> Iterator[tuple[list[Source], list[str]]]:
    """The sources, and an error for each name that stands for none. Fetched files are removed at the end.

    A URL always has the same place, so that its result is recognised as that of the same source.
    """
    plain = [name for name in given if name != STDIN and not is_url(name)]
    found, problems = find(plain, endings)
    home = settings.data_folder / "downloads"
    places: list[Path] = []
    try:
        for name in dict.fromkeys(name for name in given if name not in plain):
            folder = home / hashlib.sha256(name.encode()).hexdigest()[:20]
            places.append(folder)
            try:
                path = _read_input(folder, settings) if name == STDIN else _downloaded(name, folder, settings)
                found.append(Source(path, path.parent, name))
            except BadInput as problem:
                problems.append(problem.message)
        yield found, problems
    finally:
        for folder in places:
            shutil.rmtree(folder, ignore_errors=True)


def _downloaded(url: str, folder: Path, settings: Settings) -> Path:
    from fanfold.outside.addresses import Allowed
    from fanfold.outside.download import Limits, download

    allowed = Allowed.parsed(settings.private_addresses)
    return download(url, folder, Limits(settings.url_bytes, settings.url_seconds, allowed))


def _read_input(folder: Path, settings: Settings) -> Path:
    """Standard input as a file, named by its content."""
    source = sys.stdin.buffer
    head = source.read(_PART)
    if not head:
        raise BadInput("Standard input is empty.")
    ending = next((ending for magic, ending in _HEADS if magic in head[:1024]), "")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"input{ending}"
    size = 0
    with target.open("wb") as sink:
        while head:
            size += len(head)
            if size > settings.url_bytes:
                raise BadInput(f"Standard input is larger than {told_size(settings.url_bytes)}.")
            sink.write(head)
            head = source.read(_PART)
    return target
