"""Which databases keep files in a data folder?

Cleaning removes files that no row names. A file of another database is named by no row of this one. So each database leaves a
mark in the folder, and where there are several marks, only what surely is one's own is removed.
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
    """What tells this database from others: the moment at which its tables were made. A restored copy has the same."""
    made = connection.execute(sa.select(sa.func.min(revisions.c.upgraded_at))).scalar_one()
    return hashlib.sha256(str(made).encode()).hexdigest()[:16]


def leave_mark(data_folder: Path, name: str, address: str) -> None:
    """Say in the folder that the database ``name`` keeps files here; for people with its address."""
    mark = data_folder / MARKS / name
    if not mark.exists():
        mark.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mark.touch(mode=0o600)
        mark.write_text(f"{address}\n", encoding="utf-8")


def others(data_folder: Path, name: str) -> list[str]:
    """The addresses of other databases that keep files here."""
    folder = data_folder / MARKS
    found = sorted(mark for mark in folder.iterdir() if mark.name != name) if folder.is_dir() else []
    return [mark.read_text(encoding="utf-8").strip() for mark in found]


def is_marked(data_folder: Path, address: str) -> bool:
    """Whether a database of this address keeps files here."""
    return address in others(data_folder, "")


def known_tasks(connection: sa.Connection, ids: Collection[str]) -> set[str]:
    """Those of the task ids that this database has."""
    return set(connection.execute(sa.select(tasks.c.id).where(tasks.c.id.in_(sorted(ids)))).scalars())
