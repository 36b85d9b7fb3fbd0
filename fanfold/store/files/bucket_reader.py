"""Reads an object block by block: seekable, in constant memory, and each block complete or an error."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

FIRST_BYTES = 256 * 1024
"""The first request. Most objects fit in it and need no other."""
MOST_BYTES = 8 << 20
GROWTH = 4
"""A reader that continues where it stopped gets larger blocks."""


class BucketReader(io.RawIOBase):
    """A file object over range requests. ``fetch(start, length)`` returns exactly that part of the object."""

    def __init__(self, size: int, first: bytes, fetch: Callable[[int, int], bytes]) -> None:
        self._size = size
        self._fetch = fetch
        self._block, self._start = first, 0
        self._position = 0
        self._length = FIRST_BYTES

    def readable(self) -> bool:
        """It can be read."""
        return True

    def seekable(self) -> bool:
        """It can be read from any position."""
        return True

    def tell(self) -> int:
        """The position."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move the position; nothing is requested before the next read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative position: {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Copy the next bytes into the buffer."""
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        inside = self._position - self._start
        if not 0 <= inside < len(self._block):
            self._load()
            inside = 0
        part = self._block[inside : inside + wanted]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

    def _load(self) -> None:
        goes_on = self._position == self._start + len(self._block)
        self._length = min(MOST_BYTES, self._length * GROWTH) if goes_on else FIRST_BYTES
        length = min(self._length, self._size - self._position)
        self._block = b""  # Free it first: never two blocks at once.
        self._block = self._fetch(self._position, length)
        self._start = self._position
