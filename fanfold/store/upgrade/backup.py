"""Copies the database to a file while others use it, on databases that support it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fanfold.errors import BadInput
from fanfold.store.database import Database


def copy(database: Database, target: Path) -> int:
    """Write a complete, verified copy of a SQLite database to a new file and flush it to disk; returns its size.

    The copy is consistent, and making it blocks no other process. The file gets its name only when it is complete.
    """
    source = database.access.source_of_copy(target)
    if not target.parent.is_dir():
        raise BadInput(f"There is no folder {target.parent}. Create it, or give another path.", code="file")
    if target.exists():
        raise BadInput(f"{target} already exists. Give another name.", code="file_exists")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        database.access.copy(unfinished)
        _keep(unfinished)
        shutil.copymode(source, unfinished)
        _name(unfinished, target)
    except OSError as error:
        raise BadInput(f"Cannot write {target}: {error.strerror}.", code="file") from None
    finally:
        unfinished.unlink(missing_ok=True)
    _keep(target.parent)
    return target.stat().st_size


def _name(unfinished: Path, target: Path) -> None:
    """Give the copy its name, unless another file has taken it meanwhile. Some network folders do not support links."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        raise
    except OSError:
        os.rename(unfinished, target)


def _keep(place: Path) -> None:
    """Flush a file or folder to disk."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
