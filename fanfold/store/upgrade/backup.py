"""How is the database copied while others work on it? SQLite by itself; for PostgreSQL there is a tool that does it better."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

from fanfold.errors import BadInput, DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.dialects.sqlite import sqlite_module
from fanfold.store.urls import shown


def copy(database: Database, target: Path) -> int:
    """Write a whole, checked copy of a SQLite database to a new file, and to the disk; returns its size.

    It has the state of one moment and holds nobody up. Under its name there is all of it, or nothing.
    """
    if database.dialect != "sqlite":
        url = shown(database.url.set(drivername="postgresql"))
        raise BadInput(
            f"This is for SQLite. For PostgreSQL: pg_dump --format=custom --file={target} '{url}'", code="not_sqlite"
        )
    source = Path(str(database.url.database or ""))
    if not source.is_file():
        raise DatabaseProblem(f"There is no database to copy: {shown(database.url)}", code="no_database")
    if not target.parent.is_dir():
        raise BadInput(f"There is no folder {target.parent} to put the copy into.", code="file")
    if target.exists():
        raise BadInput(f"{target} exists already. Give a new name.", code="file_exists")
    unfinished = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        _write(source, unfinished)
        shutil.copymode(source, unfinished)
        _name(unfinished, target)
    except OSError as error:
        raise BadInput(f"Cannot write {target}: {error.strerror}.", code="file") from None
    finally:
        unfinished.unlink(missing_ok=True)
    _keep(target.parent)
    return target.stat().st_size


def _write(source: Path, target: Path) -> None:
    module = sqlite_module()
    try:
        with closing(module.connect(source)) as original, closing(module.connect(target)) as made:
            original.backup(made)
            made.execute("PRAGMA journal_mode=DELETE")
            found = made.execute("PRAGMA integrity_check(1)").fetchone()[0]
    except module.Error as error:
        raise DatabaseProblem(f"Cannot copy {source}: {error}.", code="copy") from None
    if found != "ok":
        raise DatabaseProblem(f"The database {source} is damaged: {found}. The copy was not kept.", code="damaged")
    _keep(target)


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
