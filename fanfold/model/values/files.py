"""Files of a pipeline: named blobs that any worker can read."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol


class Shelf(Protocol):
    """Where the bytes of files are stored: a directory now, perhaps an object store later."""

    def open(self, key: str) -> BinaryIO:
        """The bytes of a blob, from the start."""
        ...

    def path(self, key: str) -> Path:
        """A path on this machine where the blob can be read."""
        ...


@dataclass(frozen=True)
class File:
    """A file that belongs to a task: an input, or something a handler wrote."""

    key: str
    name: str
    size: int
    shelf: Shelf | None = field(default=None, repr=False, compare=False)

    def open(self) -> BinaryIO:
        """Open it for reading bytes."""
        return self._shelf().open(self.key)

    def read_bytes(self) -> bytes:
        """All its bytes."""
        with self.open() as source:
            return source.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it, decoded."""
        return self.read_bytes().decode(encoding)

    @property
    def path(self) -> Path:
        """A path on this machine to read it from; never write there."""
        return self._shelf().path(self.key)

    def save(self, target: str | Path) -> Path:
        """Copy it to ``target``, a file or an existing folder, and return the new path."""
        place = Path(target)
        if place.is_dir():
            place = place / self.name
        with self.open() as source, place.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        return place

    def _shelf(self) -> Shelf:
        if self.shelf is None:
            raise ValueError(f"{self.name} is not connected to a data folder")
        return self.shelf
