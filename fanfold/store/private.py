"""Files and folders that only the account that made them can read: they hold documents, results and what was asked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

FILE, FOLDER = 0o600, 0o700


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
    """Make an empty file, unless it is there: what a library opens it as afterwards keeps its rights."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, FILE))
    except FileExistsError:
        return
