"""Creates files and folders that only their owner can read: they hold documents, results and prompts."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any

FILE, FOLDER = 0o600, 0o700
OTHERS = 0o077
COMPANIONS = ("-wal", "-shm")
"""Suffixes of the files that SQLite keeps beside its database."""
log = logging.getLogger("fanfold.store")


def private_folder(folder: Path) -> None:
    """Create a folder and its missing parents; an existing one is left unchanged."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(FOLDER, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))


def opener(path: Any, flags: int) -> int:
    """Opener for ``open`` that creates private files."""
    return os.open(path, flags, FILE)


def private_file(path: Path) -> None:
    """Create an empty private file, whose permissions stay when a library opens it. An existing one is made private."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))
    except FileExistsError:
        tighten_all(path)


def tighten_all(path: Path) -> None:
    """Make a file, and the files that SQLite keeps beside it, private."""
    for one in (path, *(path.with_name(path.name + ending) for ending in COMPANIONS)):
        tighten(one)


def tighten(path: Path) -> None:
    """Make a file of ours private if an earlier version created it readable for others; logs the change."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return
    rights = stat.S_IMODE(found.st_mode)
    if not rights & OTHERS or found.st_uid != os.geteuid() or not stat.S_ISREG(found.st_mode):
        return
    path.chmod(rights & ~OTHERS)
    log.warning(
        "[store] %s could be read by other accounts (%o); it is private now (%o)", path, rights, rights & ~OTHERS
    )
