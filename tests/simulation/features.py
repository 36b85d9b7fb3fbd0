"""The features that a seed turns on. Each seed uses a few at the same time, so that short runs reach odd combinations."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields

ODDS = {"comes_back": 0.35, "heard": 0.25, "alone": 0.5, "crowd": 0.08, "cron": 0.15, "idle": 0.15}
"""How likely each feature is; the others have `OTHERWISE`."""
OTHERWISE = 0.25
LATER = (
    "decides",
    "stalls",
    "batches",
    "budgets",
    "samples",
    "limits",
    "adds",
    "schedules",
    "credits",
    "subtasks",
    "answers",
    "ahead",
    "together",
    "hooks",
)


@dataclass(frozen=True)
class Features:
    """What is on in one run."""

    comes_back: bool = False
    """People come back to what is finished."""
    heard: bool = False
    """On SQLite, every commit is a hint, as it is in life: also a heartbeat. Else those that change work."""
    alone: bool = False
    """When calm comes, all workers but one are told to leave."""

    external: bool = False
    """Items have external jobs done. The clock is not stepped then, nor does time leap: see `docs/explanation/simulation.md`."""

    refusals: bool = False
    """The database refuses statements and commits, with the codes of both kinds."""

    keys: bool = False
    """Keys of items are numbers and may collide, with each other or with the position of an item that has none."""
    poison: bool = False
    """The usual crash limit counts: an item that is lost three times without getting further fails."""
    crowd: bool = False
    """Many tasks wait in one stage, and a look for work sees only a few of them at a time."""

    idle: bool = False
    """When everything is finished, the workers stay for a while with nothing to do."""
    shared: bool = False
    """Another database keeps its files in the same data folder."""
    reads: bool = False
    """People read results at any time, also while they are redone."""
    paid: bool = False
    """Handlers make calls that are noted before they are sent, and say what they have used."""
    shortages: bool = False
    """Now and then the machine has no open files or no disk space left."""

    cron: bool = False
    """No worker until calm comes: only ticks, one after the other, with budgets that are too small for some items."""

    decides: bool = False
    """People decide about parts of results, at any time."""
    stalls: bool = False
    """One thread at a time stands still between two transactions while its process continues; every copy is a large one."""

    batches: bool = False
    """Items ask questions in the batch lane, in shared budgets. The clock is not stepped then, nor does time leap."""

    budgets: bool = False
    """Tasks have small budgets, which are used up and raised while they run."""
    samples: bool = False
    """Some tasks are submitted with a sample."""
    limits: bool = False
    """Items make calls under a rate limit that all workers share. The clock is not stepped then, nor does time leap."""
    adds: bool = False
    """Handlers add items to their stage while it runs, some of them the same ones."""
    schedules: bool = False
    """Schedules submit tasks every few seconds, and some tasks start later."""
    credits: bool = False
    """Tasks cost credits of their owner."""
    ahead: bool = False
    """Items are claimed ahead however slow their handlers are, and wait for a slot for long."""

    subtasks: bool = False
    """Items submit subtasks and wait for them; people steer both. Not where tasks have budgets."""
    answers: bool = False
    """Gates ask, and people answer."""

    together: bool = False
    """Handlers of `each` stages are called with batches of items. Some calls fail as a whole."""

    hooks: bool = False
    """Webhooks are told of what happens, by a receiver that fails, hangs and lies."""

    @classmethod
    def drawn(cls, dice: random.Random, seed: int) -> Features:
        """Some of them. Later features have their own dice: where one is off, a seed gives the same run as before."""
        drawn = {
            one.name: dice.random() < ODDS.get(one.name, OTHERWISE) for one in fields(cls) if one.name not in LATER
        }
        later = random.Random(seed ^ 0xDEC1DE)
        return cls(**drawn, **{name: later.random() < OTHERWISE for name in LATER})

    def __str__(self) -> str:
        return ", ".join(one.name for one in fields(self) if getattr(self, one.name)) or "nothing"
