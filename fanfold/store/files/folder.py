"""Stores blobs in a folder, each written before the row that references it. The interface would fit S3 as well."""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values.files import File
from fanfold.store.dialects.clock import Clock
from fanfold.store.files.private import opener, private_folder
from fanfold.store.schema.tables import blobs, items, tasks

log = logging.getLogger("fanfold.sweep")
FOLDER_ATTEMPTS = 5
COPY_BYTES = 1 << 20


class BlobStore(Protocol):
    """Interface of a blob store."""

    def put(self, key: str, source: BinaryIO) -> int:
        """Store the content of ``source`` under ``key``, durably and atomically; returns the size."""
        ...

    def open(self, key: str) -> BinaryIO:
        """Open a blob for reading."""
        ...

    def path(self, key: str) -> Path:
        """A local path where the blob can be read."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; missing ones are ignored."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of blobs written more than ``seconds`` ago."""
        ...


class BlobGone(FileNotFoundError, NotFound):
    """A row references a blob that is not in the data folder: removed by hand, lost with a disk, or not shared here."""

    code = "file_gone"

    def __init__(self, key: str, folder: Path) -> None:
        task = key.partition("/")[0]
        NotFound.__init__(self, say("file_gone", file=key, folder=folder, task=task))
        self.filename = str(folder / key)

    def __str__(self) -> str:
        return self.message


def new_key(task_id: str, name: str) -> str:
    """A new unique key that starts with the task and ends with a readable, safe form of the name."""
    stem, dot, suffix = name.rpartition(".")
    ending = f".{suffix}" if dot and re.fullmatch(r"[A-Za-z0-9]{1,10}", suffix) else ""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", stem if ending else name).strip("_")[-50:] or "blob"
    return f"{task_id}/{secrets.token_hex(8)}-{safe}{ending}"


class Directory:
    """Blobs as files in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, key: str, source: BinaryIO) -> int:
        """Write a temporary file, flush it to disk, then rename it: a reader sees all of it or nothing."""
        target = self.path(key)
        partial = target.with_name(f".{target.name}.partial")
        try:
            with _opened(partial) as sink:
                while chunk := _read(source):
                    sink.write(chunk)
                sink.flush()
                os.fsync(sink.fileno())
                size = sink.tell()
            partial.replace(target)
        except _Unreadable as problem:
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

    def open(self, key: str) -> BinaryIO:
        """Open for reading; BlobGone if it is missing."""
        try:
            return self.path(key).open("rb")
        except FileNotFoundError:
            raise BlobGone(key, self.folder) from None

    def path(self, key: str) -> Path:
        """Path of the blob; a key never leads outside the folder."""
        path = (self.folder / key).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{key!r} is not a key of a blob")
        return path

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files and the folders they leave empty. A file that cannot be removed is logged and skipped."""
        for key in keys:
            path = self.path(key)
            remove_file(path)
            if path.parent != self.folder:
                _remove_if_empty(path.parent)

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of files last written more than ``seconds`` ago."""
        for folder in old_entries(self.folder, None):
            if folder.is_dir():
                for path in old_entries(folder, seconds):
                    if path.is_file():
                        yield path.relative_to(self.folder).as_posix()


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


class _Unreadable(Exception):
    """The source cannot be read; the data folder is not at fault."""

    def __init__(self, error: OSError) -> None:
        self.error = error


def _read(source: BinaryIO) -> bytes:
    try:
        return source.read(COPY_BYTES)
    except OSError as error:
        raise _Unreadable(error) from None


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


class Blobs:
    """Verbs on the rows that reference blobs, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, key: str, task: int, name: str, size: int, item: int | None = None, lease: int | None = None) -> None:
        """Add the row of a blob that is already written."""
        row: dict[str, Any] = {"key": key, "task": task, "name": name, "size": size, "item": item, "lease": lease}
        self.connection.execute(sa.insert(blobs).values(**row, created_at=self.clock.now))

    def add_files(self, task: int, files: Sequence[File]) -> None:
        """Add the rows of blobs of a task that are already written."""
        if files:
            made = sa.insert(blobs).values(created_at=self.clock.now)
            rows = [{"key": file.key, "task": task, "name": file.name, "size": file.size} for file in files]
            self.connection.execute(made, rows)

    def give_to_task(self, keys: Sequence[str]) -> None:
        """Let blobs of an attempt outlive it: they belong to its task from now on."""
        if keys:
            self.connection.execute(sa.update(blobs).where(blobs.c.key.in_(keys)).values(item=None, lease=None))

    def drop_keys(self, keys: Sequence[str]) -> None:
        """Remove the rows of these blobs."""
        if keys:
            self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))

    def drop_some(self, task: int, limit: int) -> list[str]:
        """Remove the rows of at most ``limit`` blobs of a task; returns their keys, to be deleted after the commit."""
        keys = list(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.task == task).limit(limit)).scalars())
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys

    def find(self, task: int, key: str) -> tuple[str, int] | None:
        """(name, size) of a blob that belongs to this task."""
        named = sa.select(blobs.c.name, blobs.c.size).where(blobs.c.key == key, blobs.c.task == task)
        row = self.connection.execute(named).first()
        return None if row is None else (row.name, row.size)

    def known(self, keys: Sequence[str]) -> set[str]:
        """The given keys that have a row."""
        return set(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.key.in_(keys))).scalars())

    def superseded(self, limit: int, keys: Sequence[str] | None = None) -> list[str]:
        """Blobs of finished tasks from attempts whose result does not count. May read all blobs, or only ``keys``."""
        current = sa.select(items.c.id).where(items.c.id == blobs.c.item, items.c.lease == blobs.c.lease)
        over = sa.select(tasks.c.number).where(tasks.c.number == blobs.c.task, tasks.c.finished_at.is_not(None))
        left = sa.select(blobs.c.key).where(
            blobs.c.item.is_not(None), ~sa.exists(current.correlate(blobs)), sa.exists(over.correlate(blobs))
        )
        if keys is not None:
            left = left.where(blobs.c.key.in_(keys))
        return list(self.connection.execute(left.limit(limit)).scalars())

    def drop_superseded(self, keys: Sequence[str]) -> list[str]:
        """Remove the rows of blobs that are still superseded; returns the keys to delete."""
        keys = self.superseded(len(keys), keys)
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys
