"""What must hold for decisions at the end: the last merge of a completed task has read all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.model.values import serial
from fanfold.store.schema.tables import decisions
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World


def all_decisions_are_merged(world: World, number: int, found: dict[int, Any]) -> None:
    """The merge got the latest decision about each part of each result, and none that was undone."""
    task, plan = world.watch.now.tasks[number], world.watch.plan(number)
    merge = plan.merge_to_repeat(plan.stages[-1].name)
    source = None if merge is None else plan.last_each(merge.name)
    if task["state"] != "completed" or merge is None or source is None:
        return
    (merged,) = world.watch.now.of(number, merge.name)
    results = {
        item["key"] or str(item["seq"]) for item in world.watch.now.of(number, source.name) if item["state"] == "done"
    }
    latest = _latest(world, number, source.name)
    wanted = {key: parts for key, parts in latest.items() if key in results and parts}
    saw = found[merged["id"]]["decided"]
    require(saw == wanted, f"task {number} was merged with the decisions {saw}, and there are {wanted}")


def _latest(world: World, number: int, stage: str) -> dict[str, dict[str, Any]]:
    """What counts, by item and part."""
    mine = sa.select(decisions).where(decisions.c.task == number, decisions.c.stage == stage)
    with world.store.database.undisturbed() as connection:
        rows = connection.execute(mine.order_by(decisions.c.number)).all()
    require([row.number for row in rows] == sorted({row.number for row in rows}), f"numbered twice: {rows}")
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        parts = found.setdefault(row.item, {})
        parts.pop(row.part, None)
        if row.verdict != "undo":
            parts[row.part] = [row.verdict, serial.load(row.value)]
    return found
