"""Draws the pipelines of a run and how each item of them behaves."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from fanfold.model.pipelines.gates import Gate
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.retry import Retry
from tests.simulation import handlers
from tests.simulation.features import Features
from tests.simulation.handlers import RETRIES, Witness

SEQUENCES = (
    *[("split", "each", "merge")] * 3,
    ("each", "each", "merge"),
    ("each", "merge"),
    ("split", "each", "each", "merge"),
    ("split", "each", "each", "each", "merge"),
    ("step", "split", "each", "merge", "step"),
    ("split", "each", "merge", "split", "each", "merge"),
    ("each", "merge", "step", "split", "each", "each", "merge", "step"),
    ("each",),
    ("each", "each"),
    ("step", "step"),
)

BEHAVIOUR: dict[str, tuple[Any, ...]] = {
    "seconds": (25.0, 0.0),
    "fails": (1, 2),
    "hopeless": (None, 0, 0, 1, 2),
    "limited": (1,),
    "looks": (1, 2),
    "pieces": (3,),
    "progress": (True,),
    "pauses": (True, False, False),
    "large": (True,),
    "writes": (1, 2, 3),
    "degraded": (True,),
    "uses": ({"input_tokens": 1.5}, {"output_tokens": 3e9}, {"cost": "much"}, {"input_tokens": True, "cost": -1}),
    "deaf": (1.0, 4.0),
    "calls": (True,),
    "costs": (True,),
    "asks": (True,),
    "pays": (1, 2),
    "queues": (1, 3, 6),
    "adds": (1, 2),
    "below": (1, 1, 2, 3),
    "deep": (0, 0, 1, 2),
    "job": tuple(
        {"finds": finds, "waits": waits, "looks": looks, "fails": fails}
        for finds in (True, False)
        for waits in (True, False)
        for looks, fails in ((0, False), (1, False), (0, True))
    ),
}
"""What an item may do, and how: take long, fail, be hopeless in an `each`, meet a rate limit, wait, stream, report, write."""
OF_FEATURES = {
    "job": "external",
    "calls": "paid",
    "costs": "paid",
    "asks": "batches",
    "pays": "budgets",
    "queues": "limits",
    "adds": "adds",
    "below": "subtasks",
    "deep": "subtasks",
}
"""What items do only where the run has a feature, and then in any case."""
ALWAYS = ("queues",)
"""What each item does where it is allowed: a limit is reached only by many calls."""
HABITS = sorted(BEHAVIOUR.keys() - OF_FEATURES.keys())


@dataclass(frozen=True)
class Shape:
    """A pipeline as drawn."""

    kinds: tuple[str, ...]
    in_loop: bool
    gate: str | None
    limits: tuple[int | None, ...]
    """For each stage: how many of its items may run at a time, among all workers."""
    takes: tuple[float, ...]
    """For each stage: seconds that a tick must have left to begin it."""
    tolerate: float
    fail_fast: bool
    on_failed: bool
    on_cancelled: bool
    mirrored: bool

    @classmethod
    def drawn(cls, dice: random.Random, features: Features) -> Shape:
        """Any that makes sense; external jobs need an `each` stage in the loop."""
        needs_each = features.external or features.batches or features.limits
        kinds = dice.choice([kinds for kinds in SEQUENCES if not needs_each or "each" in kinds])
        one = dice.choice((None, None, 1, 2))
        several = dice.random() < 0.25
        limits = tuple(dice.choice((None, 1, 2)) if several else one if kind == "each" else None for kind in kinds)
        return cls(
            kinds,
            in_loop=features.external or features.batches or features.limits or dice.random() < 0.4,
            gate=dice.choice((None, None, None, "merge", "each")),
            limits=limits,
            takes=tuple(dice.choice((0.0, 0.0, 1.0, 6.0)) for _ in kinds),
            tolerate=dice.choice((0, 0, 0.5, 1)),
            fail_fast=dice.random() < 0.1,
            on_failed=dice.random() < 0.2,
            on_cancelled=dice.random() < 0.2,
            mirrored=dice.random() < 0.15,
        )


PLAIN = Shape(("each",), False, None, (None,), (0.0,), 0, False, False, False, False)
"""One stage, without anything else."""


@dataclass(frozen=True)
class Habits:
    """How the items of one run behave: each run has a few of these habits, and its items have them often."""

    allowed: frozenset[str]
    trouble: float
    numeric: bool
    """Whether keys are small numbers."""

    @classmethod
    def drawn(cls, dice: random.Random, features: Features) -> Habits:
        """Some of them, and external jobs where the run has these."""
        allowed = dice.sample(HABITS, dice.choice((1, 2, 3, 4)))
        played = [name for name, feature in OF_FEATURES.items() if getattr(features, feature)]
        if features.budgets:
            played = [name for name in played if name != "below"]
        played += ["large", "writes"] if features.shortages else []  # What needs files.
        return cls(frozenset([*allowed, *played]), dice.choice((0.2, 0.5)), features.keys)

    def items(self, dice: random.Random, count: int) -> list[dict[str, Any]]:
        """New items: how long each takes, how often it fails, what it does on the way."""
        unkeyed = dice.choice((0.0, 0.0, 0.5, 1.0))
        found = []
        for number in range(count):
            item = plain_item(number, dice.choice((0.0, 0.0, 0.1, 1.0, 4.0)))
            item["unkeyed"] = dice.random() < unkeyed
            if self.numeric:
                item["key"] = str(dice.choice((number + 1, number + 1, number + 2, 100 + number, 100 + number)))
            for name in sorted(self.allowed):
                if name in ALWAYS or dice.random() < self.trouble:
                    item[name] = dice.choice(BEHAVIOUR[name])
            found.append(item)
        return found


def plain_item(number: int, seconds: float = 0.0) -> dict[str, Any]:
    """An item that does what it should, at once or after some seconds."""
    never = (
        "fails",
        "limited",
        "looks",
        "pieces",
        "progress",
        "pauses",
        "large",
        "writes",
        "job",
        "degraded",
        "uses",
        "unkeyed",
        "deaf",
        "calls",
        "costs",
        "asks",
        "pays",
        "queues",
        "adds",
        "below",
        "deep",
    )
    return {"key": f"k{number}", "seconds": seconds, "hopeless": None} | dict.fromkeys(never, 0)


@dataclass(frozen=True)
class Together:
    """How many items a call gets, and whether it fails as a whole if one of them fails."""

    batch: int
    raises: bool

    @classmethod
    def drawn(cls, dice: random.Random, features: Features) -> Together | None:
        """None where handlers get one item."""
        return cls(dice.choice((2, 3, 16)), dice.random() < 0.5) if features.together else None


def made(
    name: str, shape: Shape, witness: Witness, asked: Gate | None = None, together: Together | None = None
) -> Pipeline:
    """The pipeline of a shape, with a gate that asks if given.

    Its stages are named after their place and kind: `s1-split`, `s2-each` …
    """
    pipeline = Pipeline(name)
    ordinal = 0
    for place, kind in enumerate(shape.kinds, 1):
        rules: dict[str, Any] = {
            "gate": (asked or True) if shape.gate == kind and place > 1 else False,
            "limit": shape.limits[place - 1],
            "takes": shape.takes[place - 1],
            "spends": kind == "each" or shape.in_loop,  # Only items of `each` stages say what they have used.
            "retry": Retry(limit=RETRIES, first=2.0),
            "timeout": 60.0,
            "wait_limit": 1e9,
        }
        handler = getattr(handlers, kind)
        if kind == "each":
            rules |= {"tolerate": shape.tolerate, "fail_fast": shape.fail_fast}
            built = handler(witness, shape.in_loop, ordinal)
            if together is not None:
                built = handlers.together(witness, shape.in_loop, ordinal, together.raises)
                rules |= {"batch": together.batch, "limit": rules["limit"] and together.batch + rules["limit"] - 1}
            ordinal += 1
        else:
            built = handler(witness)
        getattr(pipeline, kind)(name=f"s{place}-{kind}", **rules)(built)
    if shape.on_failed:
        pipeline.on_failed(handlers.compensation(witness))
    if shape.on_cancelled:
        pipeline.on_cancelled(handlers.compensation(witness))
    if shape.mirrored:
        pipeline.on_move(handlers.mirror(witness))
    return pipeline
