"""The places of an installation's files: one that new files go to, and others in which older ones may still be.

While an installation moves from a folder to a bucket, or has processes with either setting, a file may be in any of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from fanfold.settings import Settings
from fanfold.store.files import address
from fanfold.store.files.bucket import Bucket
from fanfold.store.files.file_store import BlobGone, FileStore
from fanfold.store.files.folder import Directory
from fanfold.store.files.local_copies import LocalCopies

COPIES = "copies"
LOOK_SECONDS = 60.0
"""How long the list of other places is remembered, where an old one does no harm."""


class Places:
    """All places of one installation, used as one."""

    def __init__(self, settings: Settings, known: Callable[[], Iterable[str]] = tuple) -> None:
        """``known``: the addresses of the buckets that the database knows."""
        self._settings = settings
        self._known = known
        self.folder = Directory(settings.data_folder / "blobs")
        self.copies = LocalCopies(settings.data_folder / "scratch" / COPIES, settings.copies_bytes)
        self._buckets: dict[str, Bucket] = {}
        self.home: FileStore = self.bucket(settings.files) if settings.files else self.folder
        """Where new files go."""
        self._others: list[FileStore] = []
        self._looked_at: float | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """In another process: the same places, as far as they are known."""
        return made, (self._settings, tuple(self._buckets))

    def bucket(self, text: str) -> Bucket:
        """The bucket at an address."""
        parsed = address.parse(text)
        return self._buckets.setdefault(str(parsed), Bucket(parsed, self.copies))

    @property
    def is_remote(self) -> bool:
        """Whether new files leave this machine."""
        return isinstance(self.home, Bucket)

    def others(self, *, fresh: bool = False) -> Sequence[FileStore]:
        """The other places in which files may be."""
        if fresh or self._looked_at is None or time.monotonic() - self._looked_at > LOOK_SECONDS:
            found: list[FileStore] = [self.bucket(text) for text in self._known()]
            if self.is_remote and self.folder.folder.is_dir():
                found.insert(0, self.folder)
            self._others = [place for place in found if place is not self.home]
            self._looked_at = time.monotonic()
        return self._others

    def all(self) -> Iterator[FileStore]:
        """Every place; the one for new files first."""
        yield self.home
        yield from self.others(fresh=True)

    def put(self, key: str, source: BinaryIO, name: str = "") -> int:
        """Store a new file."""
        return self.home.put(key, source, name)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """Open a file, wherever it is; BlobGone if it is nowhere, BlobDamaged if it does not have the expected size."""
        try:
            return self.home.open(key, size)
        except BlobGone:
            return self._elsewhere(key).open(key, size)

    def path(self, key: str, size: int | None = None) -> Path:
        """A path on this machine. A file of the data folder that is missing has its path there, as every file has."""
        return self.place_of(key).path(key, size)

    def local(self, key: str) -> Path | None:
        """The path of a file that is on this machine anyway."""
        return self.place_of(key).local(key)

    def copy_to(self, key: str, target: Path, size: int | None = None) -> None:
        """A copy on this machine."""
        self.place_of(key).copy_to(key, target, size)

    def link(self, key: str) -> str | None:
        """A URL for a download, if the settings allow one and there is one."""
        if self._settings.file_links != "presigned":
            return None
        return self.place_of(key).link(key, self._settings.file_link_seconds)

    def where(self, key: str) -> str:
        """Where a file is, for people; nothing is copied."""
        return self.home.where(key)

    def size(self, key: str) -> int | None:
        """The size of a file; None if it is nowhere."""
        return next((found for place in self.all() if (found := place.size(key)) is not None), None)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files from every place."""
        wanted = list(keys)
        if wanted:
            for place in (self.home, *self.others()):
                place.delete(wanted)

    def probe(self) -> None:
        """DatabaseProblem if the place for new files does not answer."""
        self.home.probe()

    def place_of(self, key: str) -> FileStore:
        """The place that has a file. If none has it, the home answers for it."""
        if not self.is_remote and self.folder.path(key).exists():
            return self.folder
        if not (others := self.others()) or (self.is_remote and self.home.size(key) is not None):
            return self.home
        return next((place for place in others if place.size(key) is not None), self.home)

    def _elsewhere(self, key: str) -> FileStore:
        found = (place for place in self.others(fresh=True) if place.size(key) is not None)
        return next(found, self.home)


def made(settings: Settings, buckets: Iterable[str] = ()) -> Places:
    """The places as another process knew them."""
    return Places(settings, lambda: buckets)
