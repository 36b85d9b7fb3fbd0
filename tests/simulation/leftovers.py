"""What may be left at the end: no row without its task or item, no file without a row, no row without its file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

import sqlalchemy as sa

from fanfold.engine.tasks.recovery import sweep
from fanfold.store.files import sharing
from fanfold.store.schema import tables
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World

SWEEPS = 40
"""Enough to remove whatever a dead process left half done, a few rows at a time."""
HALF_DONE = ("drafts", "deleted_tasks", "resets", "reset_items")
OF_TASKS = (
    "items",
    "events",
    "blobs",
    "emissions",
    "attempts",
    "calls",
    "drafts",
    "externals",
    "task_tags",
    "resets",
    "decisions",
    "subtasks",
    "gate_answers",
)
OF_ITEMS = ("item_data", "permits", "emissions", "attempts", "externals", "subtasks")


FOREIGN = "t-other/0123456789abcdef-page.txt"
"""A file of another database in the same data folder."""


def move_in(folder: Path) -> None:
    """Another database keeps its files in this data folder."""
    sharing.leave_mark(folder, "other", "sqlite:///other.db")
    file = folder / "blobs" / FOREIGN
    file.parent.mkdir(parents=True)
    file.write_text("what somebody paid for")


def nothing_is_left_over(world: World) -> None:
    """Sweep until nothing more can be found, and look into every table and into the data folder."""
    for _ in range(SWEEPS):
        world.schedule.sleep(60.0)
        sweep.recover_if_due(world.store, world.pipelines, "sweep", force=True)
        if not _half_done(world):
            break
    all_files_are_old = replace(world.store.settings, stale_hours=-1e9)
    with patch.object(world.store, "settings", all_files_are_old):
        sweep.clean(world.store)
    with world.store.database.undisturbed() as connection:
        for name in OF_TASKS:
            _has_its(connection, name, "task", tables.tasks.c.number)
        for name in OF_ITEMS:
            _has_its(connection, name, "item", tables.items.c.id)
        for name in HALF_DONE:
            left = [tuple(row) for row in connection.execute(sa.select(tables.metadata.tables[name]))]
            require(not left, f"left in {name}: {left}")
        named = set(connection.execute(sa.select(tables.blobs.c.key)).scalars())
    folder = world.store.settings.data_folder
    files = {path.relative_to(folder / "blobs").as_posix() for path in (folder / "blobs").glob("*/*")}
    if world.features.shared:
        require(FOREIGN in files, "a file of another database is gone")
        known = {key.partition("/")[0] for key in named}  # Other files may belong to anybody.
        files = {key for key in files if key.partition("/")[0] in known}
    require(files <= named, f"files that no row names: {sorted(files - named)}")
    require(named <= files, f"rows whose file is gone: {sorted(named - files)}")
    scratch = world.store.own_scratch([path.name for path in world.store.scratch.glob("*")])
    # In a shared folder nobody knows whose scratch files these are, so they stay.
    require(world.features.shared or not scratch, f"left in the scratch folder: {scratch}")


def _half_done(world: World) -> bool:
    """Whether something is still to be removed."""
    with world.store.database.undisturbed() as connection:
        return any(connection.execute(sa.select(tables.metadata.tables[name])).first() for name in HALF_DONE)


def _has_its(connection: sa.Connection, name: str, column: str, whole: sa.Column[int]) -> None:
    table = tables.metadata.tables[name]
    there = sa.select(whole)
    orphans = [tuple(row) for row in connection.execute(sa.select(table).where(table.c[column].not_in(there)).limit(5))]
    require(not orphans, f"without their {column}, in {name}: {orphans}")
