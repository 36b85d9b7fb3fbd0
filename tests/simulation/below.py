"""Subtasks of a run, and gates that ask: each subtask is submitted once, and its result or failure reaches its item."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.engine.handlers.work import Work
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.pipelines.gates import Gate
from fanfold.model.pipelines.options import Option
from fanfold.store.schema.tables import gate_answers, subtasks, tasks
from tests.simulation.parts import STAGE
from tests.simulation.pipelines import Shape, made
from tests.simulation.schedule import Violation
from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.handlers import Witness
    from tests.simulation.world import World

CHILD = "sub"
RESULT = [[None, "s1-step"], "s2-step"]
"""What a subtask comes to."""
WORDS = ("yes", "no", "later")
ASKED = Gate(Option("word", "choice", choices=WORDS))


def child_of(seed: int, witness: Witness) -> Any:
    """The pipeline of subtasks: two steps, perhaps with a gate between them and a compensation."""
    dice = random.Random(seed ^ 0x5B7A5C)
    shape = Shape(
        ("step", "step"),
        in_loop=False,
        gate=dice.choice((None, None, "step")),
        limits=(None, None),
        takes=(0.0, 0.0),
        tolerate=0,
        fail_fast=False,
        on_failed=False,
        on_cancelled=dice.random() < 0.3,
        mirrored=False,
    )
    return made(CHILD, shape, witness)


def have_done(witness: Witness, work: Work, count: int, deep: int = 0) -> None:
    """Have some subtasks done, and wait for all of them or for one after the other; each has ``deep`` levels below it."""
    options: dict[str, Any] = {"items": [], **({"deep": deep} if deep else {})}
    started = [work.submit_subtask(witness.child, name=f"s{n}", options=options) for n in range(count)]
    found = work.subtask_results(started) if count % 2 else [one.result() for one in started]
    if [one["value"] for one in found] != [RESULT] * count:
        STAGE.schedule.fail(Violation(f"subtasks came to {found}"))


def steered_alone(world: World, number: int) -> None:
    """A person cancels a subtask by itself, so the item that waits for it fails, and its task with it."""
    while (parent := world.watch.now.tasks.get(number, {}).get("parent")) is not None:
        number = parent
        world.mark(number, spoiled=True)


def is_over(world: World, number: int) -> bool:
    """Whether nobody steers a task at the end: subtasks follow their parents."""
    task = world.watch.now.tasks[number]
    return task["parent"] is not None and task["state"] in FINISHED_TASKS


def answer_for(world: World, number: int, dice: random.Random) -> dict[str, str] | None:
    """An answer, if the task waits at a gate that asks; at times one that is refused."""
    task = world.watch.now.tasks.get(number)
    if task is None or task["state"] != "waiting" or not world.watch.plan(number).stage(task["stage"]).needs_answer:
        return None
    return {"word": dice.choice(WORDS)}


class SubtaskWatch:
    """Looks after every commit: the key of a subtask never gets a second task."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def look(self, rows: list[dict[str, Any]]) -> None:
        """Compare with what was there before."""
        for row in rows:
            before = self.known.setdefault(row["key"], row["child"])
            require(before == row["child"], f"a second subtask for {row['key']}: {before} and {row['child']}")


def subtasks_are_in_step(world: World) -> None:
    """In the end every subtask has its parent and is finished, and one that no item has any more did not go on."""
    with world.store.database.undisturbed() as connection:
        rows = [row._mapping for row in connection.execute(sa.select(subtasks))]
        found = sa.select(tasks.c.number, tasks.c.parent, tasks.c.state).where(tasks.c.parent.is_not(None))
        children = {row.number: row for row in connection.execute(found)}
    for number, row in children.items():
        require(row.parent in world.watch.now.tasks, f"subtask {number} has lost its parent")
        require(row.state in FINISHED_TASKS, f"subtask {number} is {row.state}")
    once = Counter((row["item"], row["name"]) for row in rows)
    require(not once or max(once.values()) == 1, f"subtasks: {once}")
    missing = [dict(row) for row in rows if row["child"] not in children]
    require(not missing, f"subtasks without their task: {missing}")


def answers_are_read(world: World, found: dict[int, Any]) -> None:
    """Each pass through a gate that asks has one answer, and the merge behind it has read the last one."""
    with world.store.database.undisturbed() as connection:
        rows = list(connection.execute(sa.select(gate_answers).order_by(gate_answers.c.task, gate_answers.c.number)))
    given = Counter((row.task, row.stage) for row in rows)
    last = {(row.task, row.stage): row.answer for row in rows}
    for number, task in world.watch.now.tasks.items():
        asking = {stage.name for stage in world.watch.plan(number).stages if stage.needs_answer}
        moves = world.watch.now.events[number]
        passed = Counter(
            move["stage"]
            for move in moves
            if (move["verb"], move["source"]) == ("resume", "waiting") and move["stage"] in asking
        )
        for stage in asking:
            require(given[number, stage] == passed[stage], f"{number} passed {stage} {passed[stage]} times: {given}")
        for item in world.watch.now.of(number):
            if task["state"] == "completed" and item["stage"] in asking and "answer" in (found.get(item["id"]) or {}):
                told = world.store.unfold(last[number, item["stage"]])
                require(found[item["id"]]["answer"] == told, f"read {found[item['id']]['answer']}, and said was {told}")
