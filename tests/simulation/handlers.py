"""The handlers of a run, and the witness who sees every attempt outside of the database.

Their results depend on their input alone, whatever happens on the way. Each result carries a mark of the attempt that made it and
of what it was made from, so that the reckoning can tell a result that stands on something out of date.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.handlers.task_and_item import ItemWork, TaskWork
from fanfold.engine.handlers.work import Work
from fanfold.engine.queries.results.task_result import Results
from fanfold.errors import PauseTask, Permanent, Temporary
from fanfold.model.item import NewItem, later
from tests.simulation.batched import BatchService, Lane
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.limited import LimitedService
from tests.simulation.money import Till
from tests.simulation.parts import STAGE
from tests.simulation.purse import OWN_PARTS, Purse
from tests.simulation.schedule import ProcessDied, Violation
from tests.simulation.service import Service

RETRIES = 3
LARGE = 400
"""Characters beyond which a result goes to a blob, in this world."""
SPOILED = "spoiled"
"""The option of a retry that makes an item fail for good."""
Attempt = tuple[int, int]
"""The id and the lease of an item."""


def mark(item: int, lease: int) -> str:
    """How results identify the attempt that made them."""
    return f"{item}.{lease}"


@dataclass
class Witness:
    """Saw every attempt that began, outside of the database."""

    faults: Faults
    in_transaction: Callable[[], bool] = lambda: False
    """Whether the actor that runs now has a write transaction open."""
    begun: dict[Attempt, str] = field(default_factory=dict)
    made_from: dict[Attempt, Any] = field(default_factory=dict)
    """The mark of the input, for each attempt that came to a result."""
    merge_seconds: float = 0.0
    """How long a merge takes after it has read the results."""
    yielded: dict[Attempt, int] = field(default_factory=dict)
    """How many items each split gave."""
    failed_with_others: Counter[int] = field(default_factory=Counter)
    """How many calls with several items failed as a whole, for each of these items."""

    def __post_init__(self) -> None:
        self.service = Service(self.faults)
        self.till = Till()
        self.batches = BatchService(self.faults)

    lane: Lane = field(init=False)
    """The way of questions to batches."""
    purse: Purse = field(init=False)
    """Pays for calls within the budgets of tasks."""
    child: Any = field(init=False)
    """The pipeline of subtasks."""
    limited: LimitedService = field(init=False)
    """Allows some calls per minute."""

    def begins(self, work: Work) -> None:
        """A handler starts: no lease is ever given out twice."""
        claimed, who = work._claimed, STAGE.schedule.current.process.name
        STAGE.schedule.note(f"begins {claimed.stage} {claimed.key}, lease {claimed.lease}")
        before = self.begun.get((claimed.id, claimed.lease))
        if before is not None:
            told = f"lease {claimed.lease} of {claimed.stage} {claimed.key} was given to {before} and to {who}"
            STAGE.schedule.fail(Violation(told))
        self.begun[claimed.id, claimed.lease] = who
        self.user_code(claimed.stage)

    def user_code(self, what: str) -> None:
        """User code runs here: others may come between, and no transaction of ours may be open meanwhile."""
        if self.in_transaction():
            STAGE.schedule.fail(Violation(f"user code inside a write transaction: {what}"))
        self.faults.at(HANDLER)

    def uses(self, work: Work) -> None:
        """A handler says what it has used by itself: nothing is reserved for that, so a budget may be exceeded by it."""
        self.purse.beyond[work._row.number] += OWN_PARTS
        self.till.uses(work)

    def ends(self, work: Work, source: Any) -> str:
        """A handler has a result, made from the attempts that ``source`` names; returns its mark."""
        claimed = work._claimed
        self.made_from[claimed.id, claimed.lease] = source
        return mark(claimed.id, claimed.lease)


def each(witness: Witness, in_loop: bool, ordinal: int) -> Any:
    """The handler of the `each` stage that comes as number ``ordinal`` among those of its pipeline."""

    from tests.simulation import below

    def work(item: ItemWork) -> Any:
        """One attempt at one item; the same input gives the same result in the end."""
        plan = item.input["plan"]
        if plan["progress"]:
            item.progress(0.5, "half")
        looked = item.memory.get("looks", 0)
        if looked < plan["looks"]:
            item.remember(looks=looked + 1)
            return later(3)
        if plan["below"] and ordinal == 0:
            below.have_done(witness, item.task if plan["below"] > 1 else item, plan["below"], plan["deep"] or 0)
        if plan["degraded"]:
            item.degraded("simulated: a fallback")
        if plan["uses"]:
            item.used(**plan["uses"])
        for piece in range(plan["pieces"]):
            item.emit(piece)
        return _ended(witness, item, plan, ordinal)

    def in_thread(item: ItemWork) -> Any:
        witness.begins(item)
        if item.input["plan"]["costs"]:
            witness.uses(item)
        if item.input["plan"]["calls"]:
            witness.till.call(item, witness.faults)
        for _ in range(item.input["plan"]["pays"]):
            witness.purse.pay(item, witness.faults, witness.till)
        for number in range(item.input["plan"]["writes"]):
            _write(item, number)
            STAGE.schedule.sleep(0.6)
        STAGE.schedule.sleep(item.input["plan"]["seconds"])
        item.check()
        return work(item)

    async def in_the_loop(item: ItemWork) -> Any:
        witness.begins(item)
        if item.input["plan"]["costs"]:
            witness.uses(item)
        for number in range(item.input["plan"]["writes"]):
            _write(item, number)
            await asyncio.sleep(0.6)
        await _slept(item.input["plan"])
        for number in range(item.memory.get("queued", 0), item.input["plan"]["queues"]):
            await witness.limited.call()
            item.remember(queued=number + 1)  # As an answer that is cached.
        if item.input["plan"]["asks"]:
            await witness.lane.ask(item)
        if item.input["plan"]["job"]:
            await witness.service.do(item, item.input["plan"]["job"])
        return work(item)

    return in_the_loop if in_loop else in_thread


def together(witness: Witness, in_loop: bool, ordinal: int, raises: bool) -> Any:
    """The handler of an `each` stage that is called with several items; it does with each what ``each`` does.

    With ``raises``, an error of one item is raised instead of returned in its place, so the whole call fails.
    """
    one = each(witness, in_loop, ordinal)

    def in_thread(items: list[ItemWork]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            try:
                found.append(one(item))
            except ProcessDied:
                raise
            except BaseException as error:
                found.append(error)
        return _told(witness, items, found, raises)

    async def in_the_loop(items: list[ItemWork]) -> list[Any]:
        return _told(witness, items, await asyncio.gather(*map(one, items), return_exceptions=True), raises)

    return in_the_loop if in_loop else in_thread


def _told(witness: Witness, items: list[ItemWork], found: list[Any], raises: bool) -> list[Any]:
    """What a batch handler returns; raises an error of an item instead where the run wants that, and the death of the process."""
    for value in found:
        if isinstance(value, ProcessDied):
            raise value
        if raises and isinstance(value, Permanent | ValueError):
            witness.failed_with_others.update(item._claimed.id for item in items)
            raise value
    return found


async def _slept(plan: dict[str, Any]) -> None:
    """Take as long as planned; one that ignores cancellation continues for a while after it."""
    try:
        await asyncio.sleep(plan["seconds"])
    except asyncio.CancelledError:
        if plan["deaf"]:
            await asyncio.sleep(plan["deaf"])
        raise


def _write(item: ItemWork, number: int) -> None:
    """Everything that a handler can write while its task may be deleted."""
    item.emit(f"piece {number}")
    item.flush()
    item.write(f"part-{number}.txt", "x" * number)
    item.remember(written=number)
    item.progress(number / 10, "writing")


def _ended(witness: Witness, item: ItemWork, plan: dict[str, Any], ordinal: int) -> dict[str, Any]:
    if plan["pauses"] and not item.memory.get("paused"):
        item.remember(paused=True)
        raise PauseTask("simulated: the account is empty")
    if plan["limited"] and not item.memory.get("limited"):
        item.remember(limited=True)
        raise Temporary("simulated: too many requests", after=5, counts=False)
    note = item.options.get("note")
    if plan["hopeless"] == ordinal or note == SPOILED:
        raise Permanent("simulated: hopeless")
    if RETRIES - item.retries_left < plan["fails"]:
        raise ValueError("simulated: this time it fails")
    if ordinal == 0:
        item.add(*(NewItem(child["key"], {"plan": child, "mark": item.input["mark"]}) for child in added_by(plan)))
    value = f"{item.input.get('value', '')}/{item._claimed.stage}:{item.key}"
    made = witness.ends(item, item.input["mark"])
    return {"value": value, "plan": plan, "mark": made, "note": note, "pad": "x" * LARGE if plan["large"] else ""}


def added_by(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The plans of what an item adds in the first `each` stage: some of its own, which may add more, and a shared one."""
    if not plan["adds"]:
        return []
    plain = {name: None if name == "hopeless" else 0 for name in plan} | {"seconds": 0.1}
    own = [
        {**plain, "key": f"{plan['key']}+{plan['adds']}.{number}", "adds": plan["adds"] - 1}
        for number in range(plan["adds"])
    ]
    return [*own, {**plain, "key": "+shared"}]


def is_added(name: str | None) -> bool:
    """Whether an item of this name was added by another."""
    return name is not None and "+" in name


def in_order(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Results in their order; those of added items, whose order is a race, by name behind the others."""
    return sorted(found, key=lambda one: one[0] if is_added(one[0]) else "")


def new_items(witness: Witness, plans: list[dict[str, Any]], made_by: str | None) -> Iterator[NewItem]:
    """One item per plan, with a point before each where others may come between."""
    for plan in plans:
        witness.user_code("making items")
        yield NewItem(key=None if plan["unkeyed"] else plan["key"], input={"plan": plan, "mark": made_by})


def split(witness: Witness) -> Any:
    """The handler of a split: of the task's options, or of what the merge before it saw."""

    def split(task: TaskWork) -> Iterator[NewItem]:
        """One item per plan."""
        witness.begins(task)
        before = task.previous
        plans = task.options["items"] if before is None or before["plans"] is None else before["plans"]
        claimed = task._claimed
        yield from new_items(witness, plans, witness.ends(task, before and before["mark"]))
        witness.yielded[claimed.id, claimed.lease] = len(plans)

    return split


def merge(witness: Witness) -> Any:
    """The handler of a merge."""

    def merge(task: TaskWork, results: Results) -> dict[str, Any]:
        """Everything that is there, with the marks of what it was made from."""
        witness.begins(task)
        seen, decided = [], {}
        for result in results:
            witness.user_code("reading results")
            seen.append((result.key, result.output))
            if result.decisions:
                decided[result.key] = {part: [one.verdict, one.value] for part, one in result.decisions.items()}
        if witness.merge_seconds:
            STAGE.schedule.sleep(witness.merge_seconds)
        seen = in_order(seen)
        saw = {key: output["mark"] for key, output in seen}
        return {
            "value": [(key, output["value"]) for key, output in seen],
            "plans": [output["plan"] for _, output in seen],
            "saw": saw,
            "decided": decided,
            **({"answer": task.answer()} if task._row.plan.stage(task._claimed.stage).needs_answer else {}),
            "mark": witness.ends(task, saw),
        }

    return merge


def step(witness: Witness) -> Any:
    """The handler of a step."""

    from tests.simulation import below

    def step(task: TaskWork) -> dict[str, Any]:
        """Passes on what was before; one of a subtask may have subtasks of its own."""
        witness.begins(task)
        if deep := task.options.get("deep"):
            below.have_done(witness, task, 1, deep - 1)
        before = task.previous
        return {
            "value": [before and before["value"], task._claimed.stage],
            "plans": before and before["plans"],
            "mark": witness.ends(task, before and before["mark"]),
        }

    return step


def compensation(witness: Witness) -> Any:
    """The handler of on_failed and on_cancelled."""

    def undo(task: TaskWork) -> str:
        """Gives something back."""
        witness.begins(task)
        return "undone"

    return undo


def mirror(witness: Witness) -> Any:
    """A record of the user's own that refuses a move now and then, while there is trouble."""

    def on_move(_connection: Any, change: Any) -> None:
        faults = witness.faults
        if faults.on and faults.schedule.dice.random() < 0.05:
            STAGE.schedule.note(f"*** on_move refuses {change.verb}")
            raise RuntimeError("simulated: the record of the user's own is locked")

    return on_move
