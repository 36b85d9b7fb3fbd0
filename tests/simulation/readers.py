"""People who read a result while it may be redone: they get the old one or the new one, never something in between."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fanfold.engine.client import Client
from tests.simulation.handlers import mark
from tests.simulation.watch import Picture, require

if TYPE_CHECKING:
    from tests.simulation.world import World

Marks = tuple[str, ...]


@dataclass(eq=False)
class Reading:
    """A result that somebody reads, and every state of it that there was meanwhile."""

    number: int
    stage: str
    seen: set[Marks] = field(default_factory=set)

    def look(self, picture: Picture) -> None:
        """Note what there is to be read now, if anything is."""
        task = picture.tasks.get(self.number)
        if task is not None and task["state"] == "completed":
            done = [item for item in picture.of(self.number, self.stage) if item["state"] == "done"]
            self.seen.add(tuple(mark(item["id"], item["lease"]) for item in sorted(done, key=lambda one: one["seq"])))


def read(world: World, number: int, task_id: str) -> None:
    """Read the result of a task, statement by statement, while others work."""
    watch = world.watch
    reading = Reading(number, watch.plan(number).stages[-1].name)
    reading.look(watch.now)
    watch.readings.append(reading)
    try:
        found = Client(store=world.store, pipelines=world.pipelines.values()).result(task_id)
    finally:
        watch.readings.remove(reading)
    got = _marks(found)
    require(got in reading.seen, f"somebody read {got} of task {number}, and there was {sorted(reading.seen)}")


def _marks(found: Any) -> Marks:
    return tuple(one["mark"] for one in (found if isinstance(found, list) else [found]))
