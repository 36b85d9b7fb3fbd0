"""Files of a pipeline: named blobs that any worker can read, wherever they are stored."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import BinaryIO, Protocol

CONTENT_TYPES = {
    ".md": "text/markdown; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
    ".json": "application/json",
}


def content_type(name: str) -> str:
    """The type that a download of a file is given."""
    return CONTENT_TYPES.get(PurePath(name).suffix.lower(), "application/octet-stream")


class Shelf(Protocol):
    """Where the bytes of files are stored: a folder, or a bucket."""

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """The bytes of a blob, from the start; an error if it does not have the expected size."""
        ...

    def path(self, key: str, size: int | None = None) -> Path:
        """A path on this machine where the blob can be read; an error if a copy does not have the expected size."""
        ...

    def local(self, key: str) -> Path | None:
        """Its path if it is on this machine anyway; nothing is copied."""
        ...

    def link(self, key: str) -> str | None:
        """A URL for a download, if there is one."""
        ...

    def where(self, key: str) -> str:
        """Where it is, for people; nothing is copied."""
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
        return self._shelf().open(self.key, self.size)

    def read_bytes(self) -> bytes:
        """All its bytes."""
        with self.open() as source:
            return source.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it, decoded."""
        return self.read_bytes().decode(encoding)

    @property
    def path(self) -> Path:
        """A path on this machine to read it from; never write there.

        A file in a bucket is downloaded first. In an `async def` handler, ``await item.local(file)`` does not block others.
        """
        return self._shelf().path(self.key, self.size)

    @property
    def local(self) -> Path | None:
        """Its path if it is stored on this machine; None if it is in a bucket."""
        return self._shelf().local(self.key)

    @property
    def link(self) -> str | None:
        """A presigned URL for a download, if it is in a bucket and the settings allow such links."""
        return self._shelf().link(self.key)

    @property
    def where(self) -> str:
        """Where it is stored, for people: a path, or the address in a bucket."""
        return self._shelf().where(self.key)

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
