"""Files and folders that only the account that made them can read: they hold documents, results and what was asked."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path
from typing import Any

FILE, FOLDER = 0o600, 0o700
OTHERS = 0o077
COMPANIONS = ("-wal", "-shm")
"""What SQLite keeps beside its file."""
log = logging.getLogger("fanfold.store")


def private_folder(folder: Path) -> None:
    """Make a folder with those above it that are missing; one that is there is left as it is."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        one.mkdir(FOLDER, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(folder))


def opener(path: Any, flags: int) -> int:
    """For ``open``: a file that is made is private."""
    return os.open(path, flags, FILE)


def private_file(path: Path) -> None:
    """Make an empty file: what a library opens it as afterwards keeps its rights. One that is there is tightened."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))
    except FileExistsError:
        tighten_all(path)


def tighten_all(path: Path) -> None:
    """Take the rights of other accounts from a file and from what SQLite keeps beside it."""
    for one in (path, *(path.with_name(path.name + ending) for ending in COMPANIONS)):
        tighten(one)


def tighten(path: Path) -> None:
    """Take the rights of other accounts from a file of our own, as earlier versions made it; says so in the log."""
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
