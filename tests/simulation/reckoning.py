"""What must hold at the end: nothing is lost, nothing took effect twice, and all is as in an undisturbed run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.plan import Kind
from fanfold.store.schema.tables import externals, items
from tests.simulation.accounts import all_is_accounted_for
from tests.simulation.batched import every_answer_is_paid_and_counted_once
from tests.simulation.below import answers_are_read, subtasks_are_in_step
from tests.simulation.credited import everything_delivered_is_paid_for
from tests.simulation.decided import all_decisions_are_merged
from tests.simulation.expected import Expected
from tests.simulation.handlers import mark
from tests.simulation.hooked import every_delivery_has_ended
from tests.simulation.leftovers import nothing_is_left_over
from tests.simulation.limited import the_limit_is_whole
from tests.simulation.schedule import Violation
from tests.simulation.scheduled import every_task_has_its_run
from tests.simulation.watch import Row, outputs, require

if TYPE_CHECKING:
    from tests.simulation.world import Told, World


def reckon(world: World) -> None:
    """Everything that must hold in the end."""
    _all_leave(world)
    _as_in_peace(world)
    found = {number: world.store.unfold(text) for number, text in outputs(world.store.database).items()}
    for item in world.watch.now.items.values():
        task = world.watch.now.tasks[item["task"]]
        given_up = (task["state"] == "failed" and world.fail_fast) or _lies_ahead(world, task, item)
        # Its parent was run again and has new subtasks, or a person cancelled it: nobody takes it up again.
        given_up = given_up or (task["parent"] is not None and task["state"] == "cancelled")
        require(item["state"] in ("done", "failed") or given_up, f"left behind: {item}, {task}")
        if given_up and item["state"] == "pending":
            continue  # It was never claimed, or claimed by a worker that died before it began.
        known = (item["id"], item["lease"]) in world.witness.begun.keys() | world.watch.given_up
        require(known, f"nobody ever worked on it: {item}")
        if item["state"] == "done" and isinstance(found.get(item["id"]), dict):
            require(found[item["id"]]["mark"] == _mark(item), f"the output of another attempt: {item}")
    require(not world.watch.now.permits or world.fail_fast, f"permits left: {world.watch.now.permits}")
    twins = {told.number: told for told in world.told}
    for told in list(twins.values()):
        if told.number in world.watch.now.tasks:
            _merges_saw_what_is_there(world, told, found)
            all_decisions_are_merged(world, told.number, found)
            _nothing_is_out_of_date(world, told.number)
            _missing_is_what_is_missing(world, told.number)
            _failures_are_those_of_the_handlers(world, told)
            _degraded_is_marked(world, told)
    _jobs_are_known(world)
    _slots_are_free(world)
    all_is_accounted_for(world)
    if world.features.batches:
        every_answer_is_paid_and_counted_once(world)
    if world.features.limits:
        the_limit_is_whole(world)
    if world.features.answers:
        answers_are_read(world, found)
    if world.features.schedules:
        every_task_has_its_run(world)
    if world.features.hooks:
        every_delivery_has_ended(world)
    if world.features.credits:
        everything_delivered_is_paid_for(world)
    nothing_is_left_over(world)
    subtasks_are_in_step(world)


def _as_in_peace(world: World) -> None:
    """The state and the results of every task are those that its plan and its items give without any trouble."""
    for told in {told.number: told for told in world.told if told.number in world.watch.now.tasks}.values():
        passed = any((item["id"], item["lease"]) in world.watch.given_up for item in world.watch.now.of(told.number))
        if told.spoiled or passed or world.fail_fast or _is_poisoned(world, told.number):
            continue
        found = _summary(world, told.number)
        wanted = Expected(world.pipelines[told.pipeline].plan(), told.options, told.merged_by_hand).summary()
        require(found == wanted, f"not as in an undisturbed run: {told.number} {found} ≠ {wanted}")


def _is_poisoned(world: World, number: int) -> bool:
    """Whether an item was lost often enough that it may have been given up, where that is possible."""
    limit = world.store.settings.crash_limit
    family = {number}
    for child, task in sorted(world.watch.now.tasks.items()):  # A parent has a smaller number.
        family |= {child} if task["parent"] in family else set()
    lost = (item["crashes"] >= limit for one in family for item in world.watch.now.of(one))
    return world.features.poison and any(lost)


def _degraded_is_marked(world: World, told: Told) -> None:
    """People see a mark on each result that its handler called degraded, and on no other."""
    plans = {plan["key"]: plan for plan in told.options["items"]}
    with world.store.database.undisturbed() as connection:
        marks = dict(connection.execute(sa.select(items.c.id, items.c.degraded)).all())
    for item in world.watch.now.of(told.number):
        plan = plans.get(item["key"])
        if plan is not None and world.watch.plan(told.number).stage(item["stage"]).kind is Kind.EACH:
            wanted = bool(plan["degraded"]) and _is_done(item)
            require((marks[item["id"]] is not None) == wanted, f"degraded: {marks[item['id']]}, {item}")


def _summary(world: World, number: int) -> dict[str, Any]:
    """The state of a task and what its items came to, without who made it and when."""
    found = outputs(world.store.database)
    plan = world.watch.plan(number)
    names = [stage.name for stage in plan.stages]
    found_items = {
        (item["stage"], _name(item)): (item["state"], _value(world, found.get(item["id"])))
        for item in world.watch.now.of(number)
        if item["stage"] in names
    }
    return {"state": world.watch.now.tasks[number]["state"], "items": found_items}


def _value(world: World, text: str | None) -> Any:
    output = world.store.unfold(text)
    return json.dumps(output["value"]) if isinstance(output, dict) else output


def _all_leave(world: World) -> None:
    """Told to stop, every worker is gone within its grace time, and nothing of it is left."""
    world.schedule.sleep(1)
    for crew in world.crews:
        if crew.worker is not None and not crew.process.dead and not crew.ended:
            crew.worker.stop()
    world.schedule.pause("all leave", lambda: all(crew.process.dead or crew.ended for crew in world.crews), 60.0)
    left = [crew.process.name for crew in world.crews if not crew.process.dead and not crew.ended]
    require(not left, f"told to stop a minute ago: {left}")
    unfinished = [task for task in world.watch.now.tasks.values() if task["state"] not in FINISHED_TASKS]
    if unfinished:
        raise Violation(f"finished and then not: {unfinished}")


def _merges_saw_what_is_there(world: World, told: Told, found: dict[int, Any]) -> None:
    """A merge got the current results, each made by the attempt that counts."""
    if world.watch.now.tasks[told.number]["state"] != "completed":
        return
    plan = world.watch.plan(told.number)
    for stage in plan.stages:
        source = plan.last_each(stage.name) if stage.kind is Kind.MERGE else None
        if source is None:
            continue
        (merged,) = world.watch.now.of(told.number, stage.name)
        there = {_name(item): _mark(item) for item in world.watch.now.of(told.number, source.name) if _is_done(item)}
        saw = found[merged["id"]]["saw"]
        require(saw == there, f"task {told.number} was merged from {saw}, and there is {there}")


def _nothing_is_out_of_date(world: World, number: int) -> None:
    """Each result of a completed task was made from what the stage before it has now."""
    task, plan = world.watch.now.tasks[number], world.watch.plan(number)
    if task["state"] != "completed":
        return
    for stage in plan.stages:
        before = plan.before(stage.name)
        if before is None or stage.kind is Kind.MERGE:
            continue
        sources = {_name(item): _mark(item) for item in world.watch.now.of(number, before.name) if _is_done(item)}
        for item in filter(_is_done, world.watch.now.of(number, stage.name)):
            source = sources.get(_name(item)) if before.kind is Kind.EACH else next(iter(sources.values()), None)
            made_from = world.witness.made_from[item["id"], item["lease"]]
            require(made_from == source, f"made from {made_from}, and there is {source}: {item}")


def _missing_is_what_is_missing(world: World, number: int) -> None:
    """The number of items that the result of a completed task does without."""
    task, plan = world.watch.now.tasks[number], world.watch.plan(number)
    if task["state"] != "completed":
        return
    missing = 0
    for stage in plan.stages:
        before, after = plan.before(stage.name), plan.after(stage.name)
        here = world.watch.now.of(number, stage.name) if stage.kind is Kind.EACH else []
        if before is None or before.kind is not Kind.EACH:
            missing += len(here)
        if after is None or after.kind is not Kind.EACH:
            missing -= sum(map(_is_done, here))
    require(task["missing"] == missing, f"{missing} are missing: {task}")


def _jobs_are_known(world: World) -> None:
    """The last job that was started for an item is known by its id, or shown as unknown, or was given up by a person."""
    service = world.witness.service
    with world.store.database.undisturbed() as connection:
        rows = {row.item: row for row in connection.execute(sa.select(externals))}
    for item, jobs in service.of_item.items():
        if item not in world.watch.now.items or item not in rows:
            require(item not in world.watch.now.items or service.errors[item], f"a job without a row: {item}, {jobs}")
            continue
        row, (key, job) = rows[item], list(jobs.items())[-1]
        known = row.key != key or row.state != "started" or json.loads(row.job) == job
        require(known, f"{job} was started, and what is kept is {row}")


def _slots_are_free(world: World) -> None:
    """No worker that has left its work counts anything as still running."""
    for crew in world.crews:
        if crew.worker is not None and not crew.process.dead and crew.process.name not in world.cut_short:
            left = (len(crew.worker._attempts), crew.worker._attempts.per_stage(), crew.worker._attempts.per_task())
            require(not any(left), f"{crew.process.name} has lost slots: {left}")


def _lies_ahead(world: World, task: Row, item: Row) -> bool:
    """Whether an item is of a stage that its task has gone back behind and not come to again."""
    plan = world.watch.plan(item["task"])
    return bool(task["state"] != "completed" and plan.index(item["stage"]) > plan.index(task["stage"]))


def _is_done(item: Row) -> bool:
    return bool(item["state"] == "done")


def _name(item: Row) -> str:
    return item["key"] or str(item["seq"])


def _mark(item: Row) -> str:
    return mark(item["id"], item["lease"])


def _failures_are_those_of_the_handlers(world: World, told: Told) -> None:
    """No crash, pause, lost lease or postponement has used up a retry."""
    plans = {plan["key"]: plan for plan in told.options["items"]}
    for item in world.watch.now.of(told.number):
        if item["key"] in plans and item["state"] == "done":
            fails = plans[item["key"]]["fails"]
            # A call for several items that fails as a whole uses up a retry of each of them.
            errors = world.witness.service.errors[item["id"]] + world.witness.failed_with_others[item["id"]]
            require(
                fails <= item["failures"] <= fails + errors,
                f"{item['failures']} failures were counted, {fails} happened: {item}",
            )
