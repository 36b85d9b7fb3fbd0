"""Stores blobs in a folder: the data folder of one machine, or one that several machines share."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.files import sharing
from fanfold.store.files.file_store import BlobDamaged, BlobGone, Listed
from fanfold.store.files.private import opener, private_folder

log = logging.getLogger("fanfold.sweep")
FOLDER_ATTEMPTS = 5
COPY_BYTES = 1 << 20


class Directory:
    """Blobs as files in one folder."""

    listed_at_once: int | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = str(folder)

    def put(self, key: str, source: BinaryIO, name: str = "") -> int:
        """Write a temporary file, flush it to disk, then rename it: a reader sees all of it or nothing."""
        target = self.path(key)
        partial = target.with_name(f".{target.name}.partial")
        try:
            with _opened(partial) as sink:
                while chunk := read_some(source, COPY_BYTES):
                    sink.write(chunk)
                sink.flush()
                os.fsync(sink.fileno())
                size = sink.tell()
            partial.replace(target)
        except SourceUnreadable as problem:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise problem.error from None
        except OSError as error:
            with suppress(OSError):
                partial.unlink(missing_ok=True)
            raise DatabaseProblem(
                _with_way_out(say("folder_not_written", folder=self.folder, why=error.strerror), error),
                code="data_folder",
                public=_with_way_out(say("folder_not_written_public", why=error.strerror), error),
            ) from error
        return size

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """Open for reading; BlobGone if it is missing, BlobDamaged if it does not have the expected size."""
        try:
            source = self.path(key).open("rb")
        except FileNotFoundError:
            raise BlobGone(key, self.address) from None
        if size is not None and (found := os.fstat(source.fileno()).st_size) != size:
            source.close()
            raise BlobDamaged(key, self.address, found, size)
        return source

    def path(self, key: str, size: int | None = None) -> Path:
        """Path of the blob; a key never leads outside the folder."""
        path = (self.folder / key).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{key!r} is not a key of a blob")
        return path

    def local(self, key: str) -> Path | None:
        """Its path: it is always on this machine."""
        return self.path(key)

    def copy_to(self, key: str, target: Path, size: int | None = None) -> None:
        """Copy the file."""
        with self.open(key, size) as source, open(target, "wb", opener=opener) as sink:
            shutil.copyfileobj(source, sink, COPY_BYTES)

    def link(self, key: str, seconds: float) -> str | None:
        """No URL leads to it."""
        return None

    def where(self, key: str) -> str:
        """Its path."""
        return str(self.path(key))

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files and the folders they leave empty. A file that cannot be removed is logged and skipped."""
        for key in keys:
            path = self.path(key)
            remove_file(path)
            if path.parent != self.folder:
                _remove_if_empty(path.parent)

    def listed(self, after: str = "") -> Iterator[Listed]:
        """All files, task by task."""
        first = after.partition("/")[0]
        for folder in sorted(old_entries(self.folder, None)):
            if folder.name < first or not folder.is_dir():
                continue
            for path in sorted(old_entries(folder, None)):
                key = f"{folder.name}/{path.name}"
                if key > after and (found := _stat(path)) is not None:
                    yield Listed(key, found.st_size, found.st_mtime)

    def size(self, key: str) -> int | None:
        """The size of the file."""
        found = _stat(self.path(key))
        return None if found is None else found.st_size

    def now(self) -> float:
        """The clock of this machine."""
        return time.time()

    def mark(self, name: str, database: str) -> None:
        """Leave a mark beside the folder."""
        sharing.leave_mark(self.folder.parent, name, database)

    def marks(self) -> dict[str, str]:
        """The marks beside the folder."""
        return sharing.marks(self.folder.parent)

    def probe(self) -> None:
        """A folder has no server that could be away; a full disk is found by the worker's own probe."""


def old_entries(folder: Path, seconds: float | None) -> Iterator[Path]:
    """Entries of a folder last written more than ``seconds`` ago; all entries if None.

    Other processes write and remove files there meanwhile, so entries that vanish are skipped.
    """
    threshold = None if seconds is None else time.time() - seconds
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found]
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("[sweep] Could not read the folder %s: %s. Leaving it as it is", folder, error.strerror)
        return
    for name in names:
        path = folder / name
        try:
            if threshold is None or path.stat(follow_symlinks=False).st_mtime < threshold:
                yield path
        except FileNotFoundError:
            continue
        except OSError as error:
            log.warning("[sweep] Could not look at %s: %s. Leaving it as it is", path, error.strerror)


def remove_file(path: Path) -> None:
    """Remove a file. A missing one is fine; one that cannot be removed is logged."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("[sweep] Could not remove %s: %s. Trying again at the next cleanup", path, error.strerror)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
            log.warning("[sweep] Could not remove the empty folder %s: %s", folder, error.strerror)


def _stat(path: Path) -> os.stat_result | None:
    """The status of a regular file; None if it is none, or is gone."""
    try:
        found = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found if stat.S_ISREG(found.st_mode) else None


class SourceUnreadable(Exception):
    """The source cannot be read; the place of files is not at fault."""

    def __init__(self, error: OSError) -> None:
        self.error = error


def read_some(source: BinaryIO, most: int) -> bytes:
    """Read from the source of a blob; its errors are not those of the place."""
    try:
        return source.read(most)
    except OSError as error:
        raise SourceUnreadable(error) from None


def _opened(path: Path) -> BinaryIO:
    """Create a file and its folder; retries if another process removes the empty folder in between."""
    for attempt in range(FOLDER_ATTEMPTS):
        private_folder(path.parent)
        try:
            return open(path, "wb", opener=opener)
        except FileNotFoundError:
            if attempt == FOLDER_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _with_way_out(sentence: Sentence, error: OSError) -> Sentence:
    """The sentence with what a person can do about it, if known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return say("database_way_out", what=sentence, way=say("way_folder_full"))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return say("database_way_out", what=sentence, way=say("way_folder_writable"))
    return sentence
