"""What was asked and paid, counted outside of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.handlers.work import Work
from fanfold.errors import DatabaseProblem
from tests.simulation.faults import HANDLER, Faults
from tests.simulation.parts import STAGE
from tests.simulation.schedule import Process

MODEL = {"provider": "simulated", "model": "m"}
SECONDS = (0.0, 0.5, 3.0, 9.0)
"""How long a call takes: others may pause, kill or reclaim meanwhile."""


@dataclass
class Till:
    """Counts calls as the service does, and what handlers say they have used."""

    sent: Counter[int] = field(default_factory=Counter)
    """Calls that were sent, by item."""
    answered: Counter[int] = field(default_factory=Counter)
    """Calls whose answer is in the ledger."""
    unsure: Counter[int] = field(default_factory=Counter)
    """Calls that may have been recorded but were never sent, because the answer to the record was lost."""
    used: dict[tuple[int, int], Process] = field(default_factory=dict)
    """Attempts that have used something by themselves, and where they ran."""

    def uses(self, work: Work) -> None:
        """A handler says what it has used; it is spent, whatever becomes of the attempt."""
        for _ in range(2):  # As two calls of one attempt: both count.
            work.used(model="m", cost=0.5)
        self.used[work._claimed.id, work._claimed.lease] = STAGE.schedule.current.process

    def call(self, work: Work, faults: Faults) -> None:
        """One call to a model: noted, sent, and settled with its answer, as the providers do it."""
        claimed, store = work._claimed, work._store
        row = {"item": claimed.id, "lease": claimed.lease, **MODEL}
        self.unsure[claimed.id] += 1
        with store.write() as tx:
            call = tx.calls.begin(row)
        self.unsure[claimed.id] -= 1
        if call is None:
            return
        self.sent[claimed.id] += 1
        faults.at(HANDLER)
        STAGE.schedule.sleep(STAGE.schedule.dice.choice(SECONDS) if faults.on else 0.0)
        answer = {"outcome": "taken", "cost": 1.0, "seconds": 1.0, **MODEL}
        _persistently(lambda: store.transact(lambda tx: tx.calls.settle(call, answer)))
        self.answered[claimed.id] += 1


def _persistently(write: Callable[[], Any]) -> None:
    """What was paid is recorded, however often the database must be asked."""
    while True:
        try:
            write()
            return
        except DatabaseProblem:
            STAGE.schedule.sleep(0.5)
