"""Opens SQLite files without ever creating one, and detects when the path leads to another file or another log.

SQLite opens a missing file by creating an empty one, and deletes the log (WAL) beside an empty file. If the file was only moved
away for a moment, that log holds the last commits, and running processes keep writing to a log that nobody can find any more.
"""

from __future__ import annotations

import os
import threading
import weakref
from functools import cache
from pathlib import Path
from typing import Any

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.database_errors import UNREACHABLE
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module, sqlite_version
from fanfold.store.files.private import COMPANIONS

KNOWS_NOOP = (3, 51, 0)
"""First SQLite version that reports how much of a log is in the database file without moving anything."""
Identity = tuple[int, int]
"""Device and inode of a file."""


class OpenedFile:
    """The file that the first connection opened, identified by its inode.

    SQLite keeps writing to a file that was moved or removed, and others who open the path see none of it. So every
    transaction checks that the path still leads to the same file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: Identity | None = None

    def note(self) -> None:
        """Record the file of a new connection."""
        if self._opened is None:
            self._opened = _identity(self.path, None)

    def check(self) -> None:
        """DatabaseProblem if the path leads to another file, or to none."""
        if self._opened is not None and _identity(self.path, self._opened) != self._opened:
            raise _problem(say("database_file_moved", file=self.path), say("database_file_moved_public"))


class _OpenConnections:
    """The connections to files in this process. Those to one file share SQLite's state of its log."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Start empty in a forked process, which does not use inherited connections."""
        self._lock = threading.Lock()
        self._found: weakref.WeakSet[Any] = weakref.WeakSet()

    def add(self, connection: Any) -> None:
        with self._lock:
            self._found.add(connection)

    def discard(self, connection: Any) -> None:
        with self._lock:
            self._found.discard(connection)

    def of(self, path: Path) -> list[Any]:
        with self._lock:
            return [one for one in self._found if one.path == path]


_CONNECTIONS = _OpenConnections()
_KEPT_OPEN: dict[tuple[int, Path], Any] = {}
"""Connections to new logs, by process and file, kept open while connections to removed logs may exist; see `leave_log`."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_CONNECTIONS.begin_anew)


@cache
def _connection_class() -> Any:
    class FileConnection(sqlite_module().Connection):  # type: ignore[misc]
        """A connection that knows its file, the log it writes to, and the index of the log (-shm) it shares."""

        path: Path
        log_path: Path
        log: Identity | None = None
        index_path: Path
        index: Identity | None = None

        def close(self) -> None:
            """Close it and stop tracking it."""
            super().close()
            _CONNECTIONS.discard(self)

    return FileConnection


def is_new(path: Path) -> bool:
    """Whether there is no file yet; DatabaseProblem if a log beside it shows that there was one."""
    size = _size(path)
    if size:
        return False
    logs = [beside for beside in map(path.with_name, (path.name + ending for ending in COMPANIONS)) if _size(beside)]
    if size == 0:  # Another process is creating the database, or somebody replaced ours with an empty file.
        logs = [log for log in logs if log == _log(path)]
    if not logs or _size(path):  # Check again: others may have created it meanwhile.
        return size is None and not path.exists()
    told = ", ".join(map(str, logs))
    raise _problem(say("database_file_gone", file=path, logs=told), say("database_file_gone_public"))


def connect(path: Path, **arguments: Any) -> Any:
    """Open an existing file; never creates one."""
    path = path.absolute()
    if is_new(path):
        raise _problem(say("no_database_file", file=path), say("database_unreachable"))
    if not all(map(has_its_log, _CONNECTIONS.of(path))) and not _is_kept_open(path):
        raise _problem(say("log_removed", log=_log(path)), say("log_removed_public"))
    return _connected(path, **arguments)


def _connected(path: Path, **arguments: Any) -> Any:
    made = sqlite_module().connect(f"{path.as_uri()}?mode=rw", uri=True, factory=_connection_class(), **arguments)
    made.path, made.log_path, made.index_path = path, _log(path), path.with_name(f"{path.name}-shm")
    return made


def note_log(connection: Any) -> None:
    """Record which log a new connection writes to. The first read opens it."""
    connection.execute("PRAGMA schema_version").fetchone()
    connection.log = _identity(connection.log_path, None)
    connection.index = _identity(connection.index_path, None)
    _CONNECTIONS.add(connection)


def has_its_log(connection: Any) -> bool:
    """Whether the connection's log is still the one beside the file, where others find it."""
    log: Identity | None = connection.log
    return _identity(connection.log_path, log) == log


def has_its_index(connection: Any) -> bool:
    """Whether new connections share this connection's index of the log."""
    index: Identity | None = connection.index
    return _identity(connection.index_path, index) == index


def leave_log(connection: Any) -> bool:
    """Prepare to close all connections to a removed log; True if they may be closed.

    First, pages that only that log has are moved into the file. If the index is still shared, a connection to the new log
    stays open: the last connection to close checkpoints with that index, and an old one would write pages of the old log.
    """
    if not _save_log(connection):
        return False
    if has_its_index(connection) and not _is_kept_open(connection.path):
        kept = _connected(connection.path, check_same_thread=False, isolation_level=None)
        note_log(kept)
        _KEPT_OPEN[os.getpid(), connection.path] = kept
    return True


def _save_log(connection: Any) -> bool:
    """Move pages that only a removed log has into the file, where all can read them; True if all are there."""
    is_replaced = bool(_size(connection.log_path))
    if is_replaced and has_its_index(connection):
        return True  # SQLite starts a new log only when the whole old one is in the file, as the index shows.
    if is_replaced and sqlite_version() < KNOWS_NOOP:
        return False
    mode = "NOOP" if is_replaced else "FULL"
    busy, pages, saved = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    if is_replaced and pages != saved:  # Pages of both logs would be mixed.
        raise _problem(say("log_replaced", file=connection.path), say("log_replaced_public"))
    return not busy and bool(pages == saved)


def _is_kept_open(path: Path) -> bool:
    kept = _KEPT_OPEN.get((os.getpid(), path))
    return kept is not None and has_its_log(kept)


def log_problem(connection: Any) -> DatabaseProblem:
    """The error raised while connections to a removed log are closed."""
    return _problem(say("log_removed", log=connection.log_path), say("log_removed_public"))


def _problem(sentence: Sentence, public: Sentence) -> DatabaseProblem:
    return DatabaseProblem(sentence, code=UNREACHABLE, public=public)


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _size(path: Path) -> int | None:
    """The file's size; None if there is no such file."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
    except OSError:  # SQLite gives a better error for this path.
        return 1


def _identity(path: Path, unknown: Identity | None) -> Identity | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError:  # SQLite gives a better error for this path.
        return unknown
    return found.st_dev, found.st_ino
