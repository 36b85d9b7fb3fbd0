"""Where are large things? Blobs in a directory, written before the row that names them; the interface fits S3 as well."""

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
    """What a home of blobs must be able to do."""

    def put(self, key: str, source: BinaryIO) -> int:
        """Keep everything ``source`` gives under ``key``, durably and all or nothing; returns the size."""
        ...

    def open(self, key: str) -> BinaryIO:
        """The bytes of a blob."""
        ...

    def path(self, key: str) -> Path:
        """A path on this machine where the blob can be read."""
        ...

    def delete(self, keys: Iterable[str]) -> None:
        """Remove blobs; those that are gone already are passed over."""
        ...

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of blobs written longer ago than that."""
        ...


class BlobGone(FileNotFoundError, NotFound):
    """A row names a blob that is not in the data folder: removed by hand, lost with a disk, or not shared with this machine."""

    code = "file_gone"

    def __init__(self, key: str, folder: Path) -> None:
        task = key.partition("/")[0]
        NotFound.__init__(self, say("file_gone", file=key, folder=folder, task=task))
        self.filename = str(folder / key)

    def __str__(self) -> str:
        return self.message


def new_key(task_id: str, name: str) -> str:
    """A fresh key that starts with the task and ends with a readable, harmless form of the name."""
    stem, dot, suffix = name.rpartition(".")
    ending = f".{suffix}" if dot and re.fullmatch(r"[A-Za-z0-9]{1,10}", suffix) else ""
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", stem if ending else name).strip("_")[-50:] or "blob"
    return f"{task_id}/{secrets.token_hex(8)}-{safe}{ending}"


class Directory:
    """Blobs as files below one directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, key: str, source: BinaryIO) -> int:
        """Write beside, flush to the disk, then rename: a reader sees all of it or nothing."""
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
        """Open for reading; BlobGone when it is not there."""
        try:
            return self.path(key).open("rb")
        except FileNotFoundError:
            raise BlobGone(key, self.folder) from None

    def path(self, key: str) -> Path:
        """Where the blob is; a key never leads outside the folder."""
        path = (self.folder / key).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise ValueError(f"{key!r} is not a key of a blob")
        return path

    def delete(self, keys: Iterable[str]) -> None:
        """Remove files and the folders they leave empty. One that resists is logged and does not stop the rest."""
        for key in keys:
            path = self.path(key)
            remove_file(path)
            if path.parent != self.folder:
                _remove_if_empty(path.parent)

    def older_than(self, seconds: float) -> Iterator[str]:
        """Keys of files last written longer ago than that."""
        for folder in old_entries(self.folder, None):
            if folder.is_dir():
                for path in old_entries(folder, seconds):
                    if path.is_file():
                        yield path.relative_to(self.folder).as_posix()


def old_entries(folder: Path, seconds: float | None) -> Iterator[Path]:
    """What lies in a folder and was last written longer ago than that, or (None) at any time.

    Others write and remove there meanwhile: what is gone by the time it is looked at is passed over.
    """
    threshold = None if seconds is None else time.time() - seconds
    try:
        with os.scandir(folder) as found:
            names = [entry.name for entry in found]
    except FileNotFoundError:
        return
    except OSError as error:
        log.warning("[sweep] Could not look into %s: %s. It is left as it is", folder, error.strerror)
        return
    for name in names:
        path = folder / name
        try:
            if threshold is None or path.stat(follow_symlinks=False).st_mtime < threshold:
                yield path
        except FileNotFoundError:
            continue
        except OSError as error:
            log.warning("[sweep] Could not look at %s: %s. It is left as it is", path, error.strerror)


def remove_file(path: Path) -> None:
    """Remove a file; one that is gone already is fine, one that resists is logged."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        log.warning("[sweep] Could not remove %s: %s. Trying again at the next cleaning", path, error.strerror)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR):
            log.warning("[sweep] Could not remove the empty folder %s: %s", folder, error.strerror)


class _Unreadable(Exception):
    """What is to be kept cannot be read: no trouble of the data folder."""

    def __init__(self, error: OSError) -> None:
        self.error = error


def _read(source: BinaryIO) -> bytes:
    try:
        return source.read(COPY_BYTES)
    except OSError as error:
        raise _Unreadable(error) from None


def _opened(path: Path) -> BinaryIO:
    """A new file, its folder made first; again, where somebody removed the empty folder in between."""
    for attempt in range(FOLDER_ATTEMPTS):
        private_folder(path.parent)
        try:
            return open(path, "wb", opener=opener)
        except FileNotFoundError:
            if attempt == FOLDER_ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _with_way_out(sentence: Sentence, error: OSError) -> Sentence:
    """The sentence with what a person does about it, where that is known."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return say("database_way_out", what=sentence, way=say("way_folder_full"))
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return say("database_way_out", what=sentence, way=say("way_folder_writable"))
    return sentence


class Blobs:
    """Verbs on the rows that name blobs, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, key: str, task: int, name: str, size: int, item: int | None = None, lease: int | None = None) -> None:
        """Name a blob that is written already."""
        row: dict[str, Any] = {"key": key, "task": task, "name": name, "size": size, "item": item, "lease": lease}
        self.connection.execute(sa.insert(blobs).values(**row, created_at=self.clock.now))

    def add_files(self, task: int, files: Sequence[File]) -> None:
        """Name many blobs of a task that are written already."""
        if files:
            made = sa.insert(blobs).values(created_at=self.clock.now)
            rows = [{"key": file.key, "task": task, "name": file.name, "size": file.size} for file in files]
            self.connection.execute(made, rows)

    def drop_some(self, task: int, limit: int) -> list[str]:
        """Unname blobs of a task, at most ``limit``; returns their keys, to be removed after the commit."""
        keys = list(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.task == task).limit(limit)).scalars())
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys

    def find(self, task: int, key: str) -> tuple[str, int] | None:
        """(name, size) of a blob that a row of this very task names."""
        named = sa.select(blobs.c.name, blobs.c.size).where(blobs.c.key == key, blobs.c.task == task)
        row = self.connection.execute(named).first()
        return None if row is None else (row.name, row.size)

    def known(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys that a row names."""
        return set(self.connection.execute(sa.select(blobs.c.key).where(blobs.c.key.in_(keys))).scalars())

    def superseded(self, limit: int, keys: Sequence[str] | None = None) -> list[str]:
        """What attempts wrote that came to nothing, for finished tasks; it may read all blobs, or only ``keys``."""
        current = sa.select(items.c.id).where(items.c.id == blobs.c.item, items.c.lease == blobs.c.lease)
        over = sa.select(tasks.c.number).where(tasks.c.number == blobs.c.task, tasks.c.finished_at.is_not(None))
        left = sa.select(blobs.c.key).where(
            blobs.c.item.is_not(None), ~sa.exists(current.correlate(blobs)), sa.exists(over.correlate(blobs))
        )
        if keys is not None:
            left = left.where(blobs.c.key.in_(keys))
        return list(self.connection.execute(left.limit(limit)).scalars())

    def drop_superseded(self, keys: Sequence[str]) -> list[str]:
        """Unname those of the blobs that are superseded still; returns the keys to remove."""
        keys = self.superseded(len(keys), keys)
        self.connection.execute(sa.delete(blobs).where(blobs.c.key.in_(keys)))
        return keys
