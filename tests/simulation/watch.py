"""What must hold after every single commit? A picture of the whole database is compared with the one before."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ITEM_MOVES, OPEN_ITEMS, TASK_MOVES, legal, pairs, targets
from fanfold.model.pipeline import Pipeline
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, Plan
from fanfold.store.tables import item_data, items
from tests.simulation.database import SimulatedDatabase
from tests.simulation.schedule import Violation

Row = Mapping[str, Any]
ITEM_CHANGES, TASK_CHANGES = set(pairs(ITEM_MOVES)), set(pairs(TASK_MOVES))
TASK_COLUMNS = ("number", "pipeline", "state", "stage", "ending", '"plan"', "updated_at", "owner", '"key"')
ITEM_COLUMNS = ("id", "task", "stage", "seq", '"key"', "state", "lease", "worker", "failures", "crashes")
EVENT_COLUMNS = ("id", "task", "verb", "source", "target", "stage")


class Picture:
    """Everything that counts, at one moment."""

    def __init__(self, connection: sa.Connection) -> None:
        driver: Any = connection.connection.driver_connection

        def rows(table: str, names: tuple[str, ...], rest: str = "") -> list[dict[str, Any]]:
            keys = [name.strip('"') for name in names]
            found = driver.execute(f"SELECT {', '.join(names)} FROM {table} {rest}").fetchall()
            return [dict(zip(keys, row, strict=True)) for row in found]

        self.tasks = {row["number"]: row for row in rows("tasks", TASK_COLUMNS, "ORDER BY number")}
        self.items = {row["id"]: row for row in rows("items", ITEM_COLUMNS, "ORDER BY id")}
        self.permits = rows("permits", ("item", "lease", "name"), "ORDER BY item")
        self.events: dict[int, list[Row]] = {}
        for row in rows("events", EVENT_COLUMNS, "WHERE item IS NULL ORDER BY id"):
            self.events.setdefault(row["task"], []).append(row)

    def of(self, task: int, stage: str | None = None) -> list[Row]:
        """The items of a task, or of one of its stages, in order."""
        found = [item for item in self.items.values() if item["task"] == task and stage in (None, item["stage"])]
        return sorted(found, key=lambda item: (item["stage"], item["seq"]))


def require(condition: object, what: str) -> None:
    """Nothing, or a violation."""
    if not condition:
        raise Violation(what)


class Watch:
    """Looks after every commit."""

    def __init__(self, database: SimulatedDatabase, pipelines: Mapping[str, Pipeline], sizes: dict[int, int]) -> None:
        self.database = database
        self.pipelines = pipelines
        self.sizes = sizes
        """How many items each task's split gives."""
        self.plans: dict[int, Plan] = {}
        self.looks = 0
        self.now = self._picture()

    def _picture(self) -> Picture:
        with self.database.undisturbed() as connection:
            return Picture(connection)

    def look(self, seen: Picture) -> None:
        """Compare what a commit made of the database with what it may make of it, after what its transaction had seen."""
        before, self.now = self.now, self._picture()
        self.looks += 1
        self._items(before, seen)
        self._tasks(before)
        self._permits()

    def _plan(self, task: int) -> Plan:
        if task not in self.plans:
            self.plans[task] = Plan.from_json(self.now.tasks[task]["plan"])
        return self.plans[task]

    def _items(self, before: Picture, seen: Picture) -> None:
        """Leases only grow, one at a time, with a claim; states change as the table says."""
        for number, now in self.now.items.items():
            was = before.items.get(number)
            if was is None:
                require(now["state"] == "pending" and now["lease"] == 0, f"a new item that is not new: {now}")
                continue
            if was == now:
                continue
            require(
                was["state"] == now["state"] or (was["state"], now["state"]) in ITEM_CHANGES, f"illegal: {was} → {now}"
            )
            grown = now["lease"] - was["lease"]
            claimed = now["state"] == "running" and grown == 1
            require(grown == 0 or claimed, f"the lease changed without a claim: {was} → {now}")
            # Settled and claimed again in one commit is fine, but only its own worker can settle it.
            own = was["worker"] == now["worker"]
            require(not claimed or was["state"] != "running" or own, f"claimed while it runs: {was} → {now}")
            if claimed and self.database.dialect == "sqlite":
                # On PostgreSQL a pause may commit between a claim's look at the task and its own commit; settling looks again.
                task = self.now.tasks[now["task"]]
                wanted = task["state"] == "active" and task["stage"] == now["stage"]
                require(wanted, f"claimed of a task that does not want it: {task}, {now}")
            if was["state"] == "running" and now["state"] == "done":
                # On PostgreSQL a command may commit between that look and this commit: then the result came before it.
                task = seen.tasks[was["task"]]
                require(
                    task["state"] == "active" and task["stage"] == was["stage"],
                    f"a result was taken for a task that did not want it: {task}, {was}",
                )

    def _tasks(self, before: Picture) -> None:
        keys = [(task["owner"], task["key"]) for task in self.now.tasks.values() if task["key"] is not None]
        require(len(keys) == len(set(keys)), f"two tasks under one key: {keys}")
        for number, now in self.now.tasks.items():
            was = before.tasks.get(number)
            require(number in self.now.events, f"a task without a submission: {now}")
            new_moves = len(self.now.events.get(number, ())) - len(before.events.get(number, ()))
            if was is not None and was != now:
                require(
                    was["state"] == now["state"] or (was["state"], now["state"]) in TASK_CHANGES,
                    f"illegal: {was} → {now}",
                )
                require(new_moves > 0, f"a task's row was written without a move: {was} → {now}")
            if was is None or new_moves:
                self._chain(number)
                self._left_behind(before, number, self.now.events[number][-1])
            self._standing(number)

    def _chain(self, number: int) -> None:
        """The moves of a task form one chain, and no stage is left twice in a row."""
        moves, task = self.now.events[number], self.now.tasks[number]
        require((moves[0]["verb"], moves[0]["source"]) == ("submit", None), f"no submit: {moves[0]}")
        for earlier, later in itertools.pairwise(moves):
            require(later["source"] == earlier["target"], f"the chain breaks: {dict(earlier)} → {dict(later)}")
            require(legal(TASK_MOVES, later["source"], later["verb"]), f"illegal: {dict(later)}")
            require(later["target"] in targets(TASK_MOVES, later["verb"]), f"illegal: {dict(later)}")
            if later["verb"] == "advance" and later["target"] in ("active", "waiting"):
                require(later["stage"] != earlier["stage"], f"moved on twice: {dict(earlier)} → {dict(later)}")
        last = moves[-1]
        require(
            (last["target"], last["stage"]) == (task["state"], task["stage"]),
            f"not where it went: {dict(last)}, {task}",
        )

    def _left_behind(self, before: Picture, number: int, move: Row) -> None:
        """A worker moves a task on only when nothing of its stage is open."""
        was = before.tasks.get(number)
        if move["verb"] != "advance" or was is None:
            return
        stage = self._plan(number).stage(was["stage"])
        if stage.fail_fast or was["ending"]:
            return
        open_items = [item for item in self.now.of(number, was["stage"]) if item["state"] in OPEN_ITEMS]
        again = self.now.tasks[number]["stage"] == was["stage"]
        require(again or not open_items, f"moved on with open items: {was} → {dict(move)}: {open_items}")

    def _standing(self, number: int) -> None:
        """A task has all items of the stage where it stands, and none that are open when it is completed."""
        task, plan = self.now.tasks[number], self._plan(number)
        here = self.now.of(number, task["stage"])
        if task["state"] in ("active", "waiting", "paused"):
            require(here, f"no items where it stands: {task}")
        for stage in plan.stages:
            found = self.now.of(number, stage.name)
            size = self.sizes.get(number)
            if stage.kind is Kind.EACH and found and size is not None:
                before = plan.before(stage.name)
                chained = before is not None and before.kind is Kind.EACH
                require(len(found) <= size if chained else len(found) == size, f"{len(found)} of {size} items: {task}")
        if task["state"] == "completed":
            left = [item for item in self.now.of(number) if item["state"] in OPEN_ITEMS]
            require(not left, f"completed with open items: {task}, {left}")
        for stage_name in (ON_FAILED, ON_CANCELLED):
            require(len(self.now.of(number, stage_name)) <= 1, f"{stage_name} twice: {task}")

    def _permits(self) -> None:
        """Never more permits than the limit; whatever runs in a limited stage has one for its lease."""
        held = {(permit["item"], permit["lease"]) for permit in self.now.permits}
        for name, count in Counter(permit["name"] for permit in self.now.permits).items():
            limit = self._limit(name)
            require(limit is not None and count <= limit, f"{count} permits of {name}, limit {limit}")
        for item in self.now.items.values():
            if item["state"] == "running":
                name = f"{self.now.tasks[item['task']]['pipeline']}.{item['stage']}"
                require(
                    self._limit(name) is None or (item["id"], item["lease"]) in held, f"runs without a permit: {item}"
                )

    def _limit(self, name: str) -> int | None:
        pipeline, _, stage = name.partition(".")
        found = self.pipelines[pipeline].find(stage)
        return None if found is None else found.limit


def outputs(database: SimulatedDatabase) -> dict[int, str | None]:
    """The output of every item that is done."""
    with database.undisturbed() as connection:
        found = sa.select(items.c.id, item_data.c.output).outerjoin(item_data, item_data.c.item == items.c.id)
        return {row.id: row.output for row in connection.execute(found.where(items.c.state == "done"))}
