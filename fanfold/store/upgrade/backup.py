"""Copies the database into a file while others work on it, where it can do that by itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from fanfold.errors import BadInput
from fanfold.store.database import Database


def copy(database: Database, target: Path) -> int:
    """Write a whole, checked copy of a SQLite database to a new file, and to the disk; returns its size.

    It has the state of one moment and holds nobody up. Under its name there is all of it, or nothing.
    """
    source = database.access.source_of_copy(target)
    if not target.parent.is_dir():
        raise BadInput(f"There is no folder {target.parent} to put the copy into.", code="file")
    if target.exists():
        raise BadInput(f"{target} exists already. Give a new name.", code="file_exists")
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
    """Give the copy its name, which nobody may have taken meanwhile; some network folders know no links."""
    try:
        os.link(unfinished, target)
    except FileExistsError:
        raise
    except OSError:
        os.rename(unfinished, target)


def _keep(place: Path) -> None:
    """Have the disk keep a file, or what a folder names."""
    descriptor = os.open(place, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
