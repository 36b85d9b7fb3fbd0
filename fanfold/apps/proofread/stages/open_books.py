"""Keeps the last merged books in memory, so that a merge after a decision reads and makes only the chunk that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from fanfold.apps.proofread.formats.book import Book
from fanfold.apps.proofread.options import Options
from fanfold.apps.proofread.stages.validating import book_of

Made = TypeVar("Made")
MOST_BOOKS = 2
MOST_CHARACTERS = 10_000_000
"""Larger books are read again for each merge: with its pieces, a book takes about ten bytes of memory per character."""
_OPEN: dict[tuple[str, ...], OpenBook[Any]] = {}


@dataclass
class OpenBook(Generic[Made]):
    """A book, and what its chunks contribute to it, by position."""

    book: Book
    pieces: dict[int, tuple[Any, Made]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(init=False)
    """The text of each block."""

    def __post_init__(self) -> None:
        self.texts = {block.id: block.text for block in self.book.blocks}


def open_book(key: str, path: Path, options: Options) -> OpenBook[Any]:
    """The book, read once by this process.

    Writing compares the digest of the file, so a book in memory is never written from another file.
    """
    wanted = (key, options.source_encoding, options.paragraphs, options.undecided)
    found = _OPEN.get(wanted)
    if found is not None:
        return found
    found = OpenBook(book_of(path, options))
    if sum(len(block.text) for block in found.book.blocks) <= MOST_CHARACTERS:
        _OPEN[wanted] = found
        while len(_OPEN) > MOST_BOOKS:
            _OPEN.pop(next(iter(_OPEN)), None)
    return found
