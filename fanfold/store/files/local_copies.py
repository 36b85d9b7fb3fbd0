"""Copies of remote blobs on this machine, for code that needs a path. Bounded: the least recently used ones are removed."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fanfold.store.files.private import private_folder

SPARED_SECONDS = 600.0
"""A copy that somebody asked for within this time is not removed: its path may be about to be opened."""
TRIES = 5
Fetch = Callable[[Path], None]
"""Writes the whole blob to a path."""


class LocalCopies:
    """A cache in one folder, shared by the processes that use the folder. Whole files appear by a rename."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self.most_bytes = most_bytes
        self._lock = threading.Lock()
        self._busy: dict[str, threading.Lock] = {}

    def get(self, key: str, fetch: Fetch) -> Path:
        """The path of a copy; fetched if there is none. Two threads never fetch the same blob at once."""
        path = self.folder / named(key)
        with self._alone(path.name):
            if not _touched(path):
                private_folder(self.folder)
                partial = self.folder / f".{secrets.token_hex(8)}.partial"
                try:
                    fetch(partial)
                    partial.replace(path)
                finally:
                    with suppress(OSError):
                        partial.unlink(missing_ok=True)
                self._make_room(path)
        return path

    def put_at(self, key: str, target: Path, fetch: Fetch) -> None:
        """A copy at ``target`` that stays until it is removed there: a hard link, so the cache may forget its own."""
        for attempt in range(TRIES):
            path = self.get(key, fetch)
            try:
                _linked(path, target)
                return
            except FileNotFoundError:  # Another process removed it in between.
                if attempt == TRIES - 1:
                    raise

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        with self._lock:
            lock = self._busy.setdefault(name, threading.Lock())
        with lock:
            yield
        with self._lock:
            if not lock.locked():
                self._busy.pop(name, None)

    def _make_room(self, newest: Path) -> None:
        """Remove the least recently used copies until the rest fits."""
        found = []
        with suppress(OSError):
            for entry in os.scandir(self.folder):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime, status.st_size, Path(entry.path)))
        total, spared = sum(size for _, size, _ in found), time.time() - SPARED_SECONDS
        for used_at, size, path in sorted(found):
            if total <= self.most_bytes or used_at > spared:
                return
            if path != newest:
                with suppress(OSError):
                    path.unlink()
                    total -= size


def named(key: str) -> str:
    """The name of a copy: unique for the key, and with the same ending, which readers look at."""
    return f"{hashlib.sha256(key.encode()).hexdigest()[:20]}-{key.rpartition('/')[2]}"


def _touched(path: Path) -> bool:
    """Whether there is a copy; notes that it is used."""
    try:
        os.utime(path)
    except FileNotFoundError:
        return False
    return True


def _linked(path: Path, target: Path) -> None:
    with suppress(FileExistsError):
        try:
            os.link(path, target)
        except (FileNotFoundError, FileExistsError):
            raise
        except OSError:  # Another disk, or a file system without hard links.
            partial = target.with_name(f".{target.name}.partial")
            shutil.copyfile(path, partial)
            partial.replace(target)
