"""Records which databases keep files in a data folder.

Cleanup removes files that no row references, and no row of this database references a file of another one. So each database
leaves a mark in the folder, and if there are several marks, only files that certainly belong to this database are removed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from pathlib import Path

import sqlalchemy as sa

from fanfold.store.schema.tables import revisions, tasks

MARKS = "databases"
TASK_ID = re.compile(r"\bt-[a-z0-9]+")
"""The id of a task in the name of a scratch file."""


def identity(connection: sa.Connection) -> str:
    """Identifies the database by the time its tables were created. A restored copy has the same identity."""
    made = connection.execute(sa.select(sa.func.min(revisions.c.upgraded_at))).scalar_one()
    return hashlib.sha256(str(made).encode()).hexdigest()[:16]


def leave_mark(data_folder: Path, name: str, address: str) -> None:
    """Record in the folder that the database ``name`` keeps files here, with its address for people."""
    mark = data_folder / MARKS / name
    if not mark.exists():
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600)
        mark.write_text(f"{address}\n", encoding="utf-8")


def marks(data_folder: Path) -> dict[str, str]:
    """The databases that keep files here: name → address."""
    folder = data_folder / MARKS
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    return {mark.name: mark.read_text(encoding="utf-8").strip() for mark in found}


def is_marked(data_folder: Path, address: str) -> bool:
    """Whether a database at this address keeps files here."""
    return address in marks(data_folder).values()


def known_tasks(connection: sa.Connection, ids: Collection[str]) -> set[str]:
    """The given task ids that this database has."""
    return set(connection.execute(sa.select(tasks.c.id).where(tasks.c.id.in_(sorted(ids)))).scalars())
