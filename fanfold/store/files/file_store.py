"""What a place for blobs must provide. A blob is written completely, never changed, and written before the row that names it."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.text.sentences import say

FILES_UNREACHABLE = "files_unreachable"
FILES_REFUSED = "files_refused"
FILES_UNSAFE = "files_unsafe"
FILES_AWAY = (FILES_UNREACHABLE, FILES_REFUSED)
"""Codes of problems that are not the item's fault: workers wait until the place of files answers again."""


class Listed(NamedTuple):
    """A blob in a listing."""

    key: str
    size: int
    written_at: float
    """Seconds since the epoch, by the clock of the place (``FileStore.now``)."""


class FileStore(Protocol):
    """A place for blobs: a folder, or a bucket."""

    address: str
    """For people; without credentials."""
    listed_at_once: int | None
    """Most blobs that one cleanup may list; None for no limit."""

    def put(self, key: str, source: BinaryIO, name: str = "") -> int:
        """Store the content of ``source`` under a new ``key``, durably and atomically; returns the size.

        ``name`` is the name that a person sees when the blob is downloaded.
        """
        ...

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """Open a blob for reading; BlobGone if it is not here, BlobDamaged if it does not have the expected size."""
        ...

    def path(self, key: str, size: int | None = None) -> Path:
        """A path on this machine where the blob can be read: the blob itself, or a copy that is made now."""
        ...

    def local(self, key: str) -> Path | None:
        """The path of the blob if it is on this machine anyway, otherwise None."""
        ...

    def copy_to(self, key: str, target: Path, size: int | None = None) -> None:
        """Put a copy of the blob at ``target``, on this machine; only one of the expected size."""
        ...

    def link(self, key: str, seconds: float) -> str | None:
        """A URL from which anybody can download the blob for some seconds; None if there is no such thing."""
        ...

    def where(self, key: str) -> str:
        """Where the blob is, for people."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; missing ones are ignored, and those that cannot be removed are logged."""
        ...

    def listed(self, after: str = "") -> Iterator[Listed]:
        """All blobs in the order of their keys, from the first key greater than ``after``."""
        ...

    def size(self, key: str) -> int | None:
        """The size of a blob; None if it is not here."""
        ...

    def now(self) -> float:
        """The time by the clock that dates the blobs."""
        ...

    def mark(self, name: str, database: str) -> None:
        """Record that a database keeps files here, and check that the place can be used."""
        ...

    def marks(self) -> dict[str, str]:
        """The databases that keep files here: name → address."""
        ...

    def probe(self) -> None:
        """DatabaseProblem if the place does not answer now."""
        ...


class BlobGone(FileNotFoundError, NotFound):
    """A row references a blob that is in no known place: removed by hand, lost with a disk, or not shared here."""

    code = "file_gone"

    def __init__(self, key: str, place: str) -> None:
        task = key.partition("/")[0]
        NotFound.__init__(self, say("file_gone", file=key, folder=place, task=task))
        self.filename = f"{place}/{key}"

    def __str__(self) -> str:
        return self.message


class BlobDamaged(DatabaseProblem):
    """A blob is not as long as it was when it was written: changed where it is stored, or cut off on the way from there."""

    code = "file_damaged"

    def __init__(self, key: str, place: str, found: int, size: int) -> None:
        task = key.partition("/")[0]
        said = say("file_damaged", file=key, folder=place, found=found, size=size, task=task)
        super().__init__(said, public=say("file_damaged_public"))


def new_key(task_id: str, name: str, item: int | None = None, lease: int | None = None) -> str:
    """A new unique key: the task, then item and lease of the attempt that writes it, and a readable, safe form of the name.

    Two attempts never share a key, so a worker that lost its lease cannot replace what its successor wrote.
    """
    stem, dot, suffix = name.rpartition(".")
    ending = f".{suffix}" if dot and re.fullmatch(r"[A-Za-z0-9]{1,10}", suffix) else ""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", stem if ending else name).strip("_")[-50:] or "blob"
    attempt = "" if item is None else f"{item}-{lease}-"
    return f"{task_id}/{attempt}{secrets.token_hex(8)}-{safe}{ending}"
