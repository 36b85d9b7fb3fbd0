"""Schedules of a run: what is due is submitted exactly once, whatever happens to workers and to the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.model.item import NewItem
from fanfold.model.schedule import due_times
from fanfold.store.schema.tables import schedule_runs, schedules, tasks
from tests.simulation.pipelines import plain_item
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World

CRON = "*/20 * * * * *"
RULES = (("allow", "all"), ("allow", "all"), ("skip", "one"), ("queue", "one"), ("queue", "none"))


def add_schedules(world: World) -> None:
    """One or two schedules of any pipeline."""
    client = Client(store=world.store, pipelines=world.pipelines.values())
    for number in range(world.dice.choice((1, 1, 2))):
        name = world.dice.choice(world.drawable)
        overlap, catch_up = world.dice.choice(RULES)
        plans = [plain_item(place, 0.2) for place in range(2)]
        begins_with_items = world.pipelines[name].plan().stages[0].kind == "each"
        items = [NewItem(plan["key"], {"plan": plan, "mark": None}) for plan in plans] if begins_with_items else None
        client.schedules.add(
            f"s{number}",
            CRON,
            world.pipelines[name],
            items=items,
            options={"items": plans},
            overlap=overlap,
            catch_up=catch_up,
        )


def pause_schedules(world: World) -> None:
    """When calm comes, nothing more is due; until then each due time was dealt with once."""
    with world.store.write() as tx:
        for row in tx.schedules.all(None, 10):
            _is_whole(world, row.number)
            tx.schedules.pause(row.name, True, None)


def _is_whole(world: World, number: int) -> None:
    """Where every due time has a task, the runs are exactly the due times up to the next one."""
    with world.store.database.undisturbed() as connection:
        row = connection.execute(sa.select(schedules).where(schedules.c.number == number)).one()
        runs = sa.select(schedule_runs.c.due_at, schedule_runs.c.outcome).where(schedule_runs.c.schedule == number)
        found = sorted(tuple(one) for one in connection.execute(runs))
    if row.catch_up != "all" or not found:
        return
    times = due_times(row.cron, row.zone, row.created_at)
    wanted = []
    while (moment := next(times)) < row.next_at:
        wanted.append(moment)
    require([due for due, _ in found] == wanted[-len(found) :], f"due {wanted}, and there is {found}")
    require({outcome for _, outcome in found} <= {"submitted"}, f"allowed, and left out: {found}")


def every_task_has_its_run(world: World) -> None:
    """No task of a schedule without a record, none twice, and where runs must not overlap, they did not."""
    with world.store.database.undisturbed() as connection:
        keyed = sa.select(tasks.c.id, tasks.c.key).where(tasks.c.key.like("schedule:%"))
        made = {key: task for task, key in connection.execute(keyed)}
        runs = connection.execute(sa.select(schedule_runs).where(schedule_runs.c.task_id.is_not(None))).all()
    noted = {f"schedule:{run.schedule}:{run.due_at.isoformat()}": run.task_id for run in runs}
    require(len(noted) == len(runs), f"one due time twice: {runs}")
    lost = {key: task for key, task in made.items() if noted.get(key) != task}
    require(not lost, f"tasks of schedules without their run: {lost}, {noted}")
