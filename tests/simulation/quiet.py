"""Idle workers run few statements, however many tasks there were."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from tests.simulation.watch import require

if TYPE_CHECKING:
    from tests.simulation.world import World

REST_SECONDS = 10.0
"""What was under way has ended by then."""
IDLE_SECONDS = 30.0
MOST_PER_SECOND = 8.0
"""Statements of one worker: its heartbeat, its looks and its sweeps, begins and commits included."""


def idle_workers_are_quiet(world: World) -> None:
    """Everything is finished: each worker makes a bounded number of statements per second."""
    world.schedule.sleep(REST_SECONDS)
    statements: Counter[str] = world.store.database.statements
    before = statements.copy()
    world.schedule.sleep(IDLE_SECONDS)
    for crew in world.people.living():
        many = (statements[crew.process.name] - before[crew.process.name]) / IDLE_SECONDS
        world.idle.append(many)
        require(
            many <= MOST_PER_SECOND, f"{crew.process.name} makes {many:.1f} statements per second with nothing to do"
        )
