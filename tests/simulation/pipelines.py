"""What is worked on? Pipelines whose results depend on their input alone, whatever happens on the way."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.context import ItemWork, TaskWork
from fanfold.engine.results import Results
from fanfold.errors import PauseTask, Permanent, Temporary
from fanfold.model.item import NewItem, later
from fanfold.model.pipeline import Pipeline
from fanfold.model.retry import Retry
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Violation

SEQUENCES = (
    ("split", "each", "merge"),
    ("split", "each", "merge"),
    ("each", "each", "merge"),
    ("each", "merge"),
    ("split", "each", "each", "merge"),
    ("step", "split", "each", "merge", "step"),
    ("each",),
    ("step", "step"),
)
RETRIES = 3
LARGE = 400
"""Characters beyond which a result goes to a blob, in this world."""


@dataclass
class Witness:
    """Saw every attempt that began, outside of the database."""

    faults: Faults
    begun: dict[tuple[int, int], str] = field(default_factory=dict)

    def begins(self, work: TaskWork | ItemWork) -> None:
        """A handler begins: no lease is ever given out twice."""
        claimed, who = work._claimed, STAGE.schedule.current.process.name
        STAGE.schedule.note(f"begins {claimed.stage} {claimed.key}, lease {claimed.lease}")
        before = self.begun.get((claimed.id, claimed.lease))
        if before is not None:
            told = f"lease {claimed.lease} of {claimed.stage} {claimed.key} was given to {before} and to {who}"
            STAGE.schedule.fail(Violation(told))
        self.begun[claimed.id, claimed.lease] = who
        self.faults.at(HANDLER)


@dataclass(frozen=True)
class Shape:
    """A pipeline as drawn."""

    kinds: tuple[str, ...]
    in_loop: bool
    gate: str | None
    limit: int | None
    tolerate: float
    fail_fast: bool
    on_failed: bool
    on_cancelled: bool

    @classmethod
    def drawn(cls, dice: random.Random) -> Shape:
        """Any that makes sense."""
        kinds = dice.choice(SEQUENCES)
        return cls(
            kinds,
            in_loop=dice.random() < 0.4,
            gate=dice.choice((None, None, None, "merge", "each")),
            limit=dice.choice((None, None, 1, 2)),
            tolerate=dice.choice((0, 0, 0.5, 1)),
            fail_fast=dice.random() < 0.1,
            on_failed=dice.random() < 0.2,
            on_cancelled=dice.random() < 0.2,
        )


def drawn_items(dice: random.Random, count: int) -> list[dict[str, Any]]:
    """How each item behaves: how long it takes, how often it fails, what it does on the way."""
    trouble = dice.choice((0.1, 0.3))

    def sometimes(value: Any, otherwise: Any) -> Any:
        return value if dice.random() < trouble else otherwise

    return [
        {
            "key": f"k{number}",
            "seconds": dice.choice((0.0, 0.0, 0.1, 1.0, 4.0, sometimes(25.0, 0.0))),
            "fails": sometimes(dice.choice((1, 2)), 0),
            "hopeless": sometimes(dice.random() < 0.3, False),
            "limited": sometimes(1, 0),
            "looks": sometimes(dice.choice((1, 2)), 0),
            "pieces": sometimes(3, 0),
            "progress": sometimes(True, False),
            "pauses": sometimes(dice.random() < 0.2, False),
            "large": sometimes(True, False),
        }
        for number in range(count)
    ]


def made(name: str, shape: Shape, witness: Witness) -> Pipeline:
    """The pipeline of a shape; its stages are named after their place and kind: `s1-split`, `s2-each` …"""
    pipeline = Pipeline(name)
    handlers = {
        "split": _split(witness),
        "each": _each(witness, shape.in_loop),
        "merge": _merge(witness),
        "step": _step(witness),
    }
    for place, kind in enumerate(shape.kinds, 1):
        rules: dict[str, Any] = {
            "gate": shape.gate == kind and place > 1,
            "limit": shape.limit if kind == "each" else None,
            "retry": Retry(limit=RETRIES, first=2.0),
            "timeout": 60.0,
            "wait_limit": 1e9,
        }
        if kind == "each":
            rules |= {"tolerate": shape.tolerate, "fail_fast": shape.fail_fast}
        getattr(pipeline, kind)(name=f"s{place}-{kind}", **rules)(handlers[kind])
    if shape.on_failed:
        pipeline.on_failed(_compensation(witness))
    if shape.on_cancelled:
        pipeline.on_cancelled(_compensation(witness))
    return pipeline


def _each(witness: Witness, in_loop: bool) -> Any:
    def work(item: ItemWork) -> Any:
        """One attempt at one item; the same input gives the same result in the end."""
        plan = item.input["plan"]
        if plan["progress"]:
            item.progress(0.5, "half")
        looked = item.memory.get("looks", 0)
        if looked < plan["looks"]:
            item.remember(looks=looked + 1)
            return later(3)
        for piece in range(plan["pieces"]):
            item.emit(piece)
        return _ended(item, plan)

    def in_thread(item: ItemWork) -> Any:
        witness.begins(item)
        STAGE.schedule.sleep(item.input["plan"]["seconds"])
        item.check()
        return work(item)

    async def in_the_loop(item: ItemWork) -> Any:
        witness.begins(item)
        await asyncio.sleep(item.input["plan"]["seconds"])
        return work(item)

    return in_the_loop if in_loop else in_thread


def _ended(item: ItemWork, plan: dict[str, Any]) -> dict[str, Any]:
    if plan["pauses"] and not item.memory.get("paused"):
        item.remember(paused=True)
        raise PauseTask("simulated: the account is empty")
    if plan["limited"] and not item.memory.get("limited"):
        item.remember(limited=True)
        raise Temporary("simulated: too many requests", after=5, counts=False)
    if plan["hopeless"]:
        raise Permanent("simulated: hopeless")
    if RETRIES - item.retries_left < plan["fails"]:
        raise ValueError("simulated: this time it fails")
    value = f"{item.input.get('value', '')}/{item._claimed.stage}:{item.key}"
    return {"value": value, "plan": plan, "lease": item._claimed.lease, "pad": "x" * LARGE if plan["large"] else ""}


def _split(witness: Witness) -> Any:
    def split(task: TaskWork) -> Iterator[NewItem]:
        """One item per plan."""
        witness.begins(task)
        for plan in task.options["items"]:
            witness.faults.at(HANDLER)
            yield NewItem(key=plan["key"], input={"plan": plan})

    return split


def _merge(witness: Witness) -> Any:
    def merge(task: TaskWork, results: Results) -> dict[str, Any]:
        """Everything that is there, with the leases it was made under."""
        witness.begins(task)
        seen = []
        for result in results:
            witness.faults.at(HANDLER)
            seen.append((result.key, result.output))
        values = [(key, output["value"]) for key, output in seen]
        return {"value": values, "saw": {key: output["lease"] for key, output in seen}, "lease": task._claimed.lease}

    return merge


def _step(witness: Witness) -> Any:
    def step(task: TaskWork) -> dict[str, Any]:
        """Passes on what was before."""
        witness.begins(task)
        before = task.previous
        return {"value": [before and before["value"], task._claimed.stage], "lease": task._claimed.lease}

    return step


def _compensation(witness: Witness) -> Any:
    def undo(task: TaskWork) -> str:
        """Gives something back."""
        witness.begins(task)
        return "undone"

    return undo
