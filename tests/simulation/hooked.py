"""Webhooks of a run: each move that a receiver wants to know of is stored with its delivery, and each delivery comes to an end.

The pipeline is the real one behind a receiver that fails, hangs, loses its answers, redirects and goes away.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.engine.webhooks import deliveries
from fanfold.engine.webhooks.notices import EVENTS, OF_STATES
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.retry import Retry
from fanfold.outside.guarded_request import Reply
from fanfold.store.schema.tables import item_data, tasks
from tests.simulation.faults import HANDLER
from tests.simulation.parts import STAGE
from tests.simulation.watch import Picture, require, stored

if TYPE_CHECKING:
    from tests.simulation.handlers import Witness
    from tests.simulation.world import World

NAME = deliveries.NAME
DELAYS = (1.0, 2.0, 3.0, 5.0, 8.0, 13.0)
ANSWERS = (*["accepts"] * 6, "fails", "hangs", "loses its answer", "redirects", "is gone")
HANGS_SECONDS = 20.0
ENABLED = "SELECT name FROM webhooks WHERE disabled_at IS NULL"
HOOKS: dict[str, dict[str, Any]] = {"all": {}, "ends": {"events": ("completed", "failed"), "owner": "ann"}}


class Receiver:
    """The other side: remembers what it has accepted, by message."""

    def __init__(self, seed: int, witness: Witness) -> None:
        self.dice = random.Random(seed ^ 0x43004)
        self.witness = witness
        self.bodies: dict[str, bytes] = {}
        self.accepted: Counter[str] = Counter()

    def send(self, _url: str, *, body: bytes, headers: dict[str, str], **_rest: Any) -> Reply:
        """Stands for the guarded request."""
        message = headers["webhook-id"]
        require(self.bodies.setdefault(message, body) == body, f"{message} has two bodies")
        answer = self.dice.choice(ANSWERS) if self.witness.faults.on else "accepts"
        STAGE.schedule.note(f"the receiver of {message} {answer}")
        if answer in ("accepts", "loses its answer"):
            self.accepted[message] += 1
        self.witness.faults.at(HANDLER)
        if answer == "hangs":
            STAGE.schedule.sleep(HANGS_SECONDS)
        if answer in ("hangs", "loses its answer"):
            raise TimeoutError("simulated: no answer")
        return Reply({"accepts": 200, "fails": 500, "redirects": 302, "is gone": 410}[answer], b"simulated")


def deliveries_of(witness: Witness) -> Pipeline:
    """The pipeline of deliveries, whose attempts the witness sees."""
    pipeline = Pipeline(NAME)

    @pipeline.each(name=deliveries.STAGE, retry=Retry(limit=len(DELAYS)), timeout=60.0, concurrency=8)
    def deliver(item: Any) -> dict[str, Any]:
        witness.begins(item)
        return {**deliveries.deliver(item), "value": item.key, "mark": witness.ends(item, None)}

    return pipeline


def add_webhooks(world: World) -> None:
    """One that wants everything, and one that wants some events of an owner."""
    for name, wanted in HOOKS.items():
        Client(store=world.store).webhooks.add(name, f"https://{name}.example.com", **wanted)


class HookWatch:
    """Looks after every commit: a move and its delivery are stored together, and no delivery without a move."""

    def look(self, world: World, before: Picture) -> None:
        """Compare the new moves with the new deliveries. A webhook that was just disabled may or may not be told."""
        now = world.watch.now
        new = {number for number in now.tasks.keys() - before.tasks.keys() if now.tasks[number]["pipeline"] == NAME}
        new = {number for number in new if not (now.tasks[number]["key"] or "").startswith("held:")}
        found: Counter[tuple[str, str, str]] = Counter()
        given = stored(world.store.database, item_data.c.input) if new else {}
        for item in (one for number in new for one in now.of(number)):
            told = json.loads(json.loads(given[item["id"]])["body"])
            found[told["data"]["task"], told["type"], item["key"]] += 1
        possible = self._possible(world, before)
        with world.store.database.undisturbed() as connection:
            enabled = {row[0] for row in connection.exec_driver_sql(ENABLED).fetchall()} if possible else set()
        wanted = Counter({one: count for one, count in possible.items() if one[2] in enabled})
        require(wanted <= found <= possible, f"told {dict(found)}, and what happened is {dict(wanted)}")

    def _possible(self, world: World, before: Picture) -> Counter[tuple[str, str, str]]:
        """What this commit's moves have to tell, and whom."""
        possible: Counter[tuple[str, str, str]] = Counter()
        for number, moves in world.watch.now.events.items():
            task, known = world.watch.now.tasks.get(number), len(before.events.get(number, ()))
            if task is None or task["pipeline"] == NAME:
                continue
            for move in moves[known:]:
                event = OF_STATES.get(move["target"])
                same = move["source"] == move["target"] and move["verb"] != "start"
                if event is None or same or (move["verb"] == "submit" and _starts_later(world, number)):
                    continue
                for name, hook in HOOKS.items():
                    if event in hook.get("events", EVENTS) and hook.get("owner") in (None, task["owner"]):
                        possible[world.people.id_of(number), f"task.{event}", name] += 1
        return possible


def _starts_later(world: World, number: int) -> bool:
    with world.store.database.undisturbed() as connection:
        return connection.execute(sa.select(tasks.c.start_at).where(tasks.c.number == number)).scalar() is not None


def every_delivery_has_ended(world: World) -> None:
    """What counts as delivered was accepted; what was accepted was stored before."""
    receiver = world.receiver
    with world.store.database.undisturbed() as connection:
        rows = connection.exec_driver_sql(
            "SELECT items.state FROM items JOIN tasks ON tasks.number = items.task WHERE tasks.pipeline = 'webhooks'"
        ).fetchall()
    done = sum(state == "done" for (state,) in rows)
    require(done <= len(receiver.accepted), f"{done} are delivered, and accepted were {receiver.accepted}")
