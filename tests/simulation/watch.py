"""What must hold after every commit: a snapshot of the whole database is compared with the previous one."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from fanfold.model.item import HELD_FROM
from fanfold.model.lifecycle import ITEM_MOVES, OPEN_ITEMS, TASK_MOVES, legal, pairs, targets
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import ON_CANCELLED, ON_FAILED, Kind, Plan
from fanfold.store.items.count import Counting
from fanfold.store.schema.tables import item_data, items, tasks
from tests.simulation.database import SimulatedDatabase
from tests.simulation.handlers import Witness, is_added
from tests.simulation.schedule import Violation

Row = Mapping[str, Any]
ITEM_CHANGES, TASK_CHANGES = set(pairs(ITEM_MOVES)), set(pairs(TASK_MOVES))
TASK_COLUMNS = (
    "number", "pipeline", "state", "stage", "ending", '"plan"', "updated_at", "owner", '"key"', "missing", "generation",
    "sample", "parent", "closed_at",
)  # fmt: skip
ITEM_COLUMNS = (
    "id",
    "task",
    "stage",
    "seq",
    '"key"',
    "state",
    "lease",
    "worker",
    "failures",
    "crashes",
    "available_at",
    "attempts",
    "started_at",
)
PUT_BACK: dict[str, Any] = {"state": "pending", "worker": None, "failures": 0, "crashes": 0, "available_at": None}
"""What an item is that a reset of many has put back, though its row does not say so yet."""
EVENT_COLUMNS = ("id", "task", "verb", "source", "target", "stage")


READ_EVERY = 5
"""The public reads are compared with the tables once in this many checks."""


class Picture:
    """Everything that counts, at one moment; items of a stage that is still being written, or removed, do not."""

    def __init__(self, connection: sa.Connection, before: Picture | None = None) -> None:
        """``before`` is an earlier picture, where events only follow those that it has."""
        driver: Any = connection.connection.driver_connection

        def rows(table: str, names: tuple[str, ...], rest: str = "") -> list[dict[str, Any]]:
            keys = [name.strip('"') for name in names]
            found = driver.execute(f"SELECT {', '.join(names)} FROM {table} {rest}").fetchall()
            return [dict(zip(keys, row, strict=True)) for row in found]

        self.tasks = {row["number"]: row for row in rows("tasks", TASK_COLUMNS, "ORDER BY number")}
        self.drafts = {(row["task"], row["stage"]) for row in rows("drafts", ("task", "stage"))}
        self.items = {
            row["id"]: row
            for row in rows("items", ITEM_COLUMNS, "ORDER BY id")
            if (row["task"], row["stage"]) not in self.drafts and row["task"] in self.tasks
        }
        decided = {(row["number"], row["resetting"]) for row in rows("tasks", ("number", "resetting"))}
        for note in rows("reset_items", ("item", "task", "token", "lease")):
            item = self.items.get(note["item"])
            if item and (note["task"], note["token"]) in decided and note["lease"] in (None, item["lease"]):
                item |= PUT_BACK
        self.subtasks = rows("subtasks", ("item", "name", '"key"', "child"))
        self.permits = rows("permits", ("item", "lease", "name"), "ORDER BY item")
        self.events: dict[int, list[Row]] = {} if before is None else dict(before.events)
        self.last_event: int = 0 if before is None else before.last_event
        moves = f"item IS NULL AND verb <> 'budget' AND id > {self.last_event}"
        for row in rows("events", EVENT_COLUMNS, f"WHERE {moves} ORDER BY id"):
            self.events[row["task"]] = [*self.events.get(row["task"], ()), row]
            self.last_event = row["id"]

    def held(self, task: int) -> list[Row]:
        """The items of a task that wait for a person."""
        held = HELD_FROM.timestamp()
        due = ((item, item["available_at"]) for item in self.of(task) if item["state"] == "waiting")
        return [item for item, at in due if (at.timestamp() if isinstance(at, datetime) else at) >= held]

    def of(self, task: int, stage: str | None = None) -> list[Row]:
        """The items of a task, or of one of its stages, in order."""
        found = [item for item in self.items.values() if item["task"] == task and stage in (None, item["stage"])]
        return sorted(found, key=lambda item: (item["stage"], item["seq"]))


def require(condition: object, what: str) -> None:
    """Nothing, or a violation."""
    if not condition:
        raise Violation(what)


def _only_closed(was: Row, now: Row) -> bool:
    """Whether a task was only closed, because its budget is used up, or opened again."""
    closed = {row["closed_at"] is not None for row in (was, now)}
    return len(closed) == 2 and all(was[name] == now[name] for name in was if name not in ("closed_at", "updated_at"))


class Watch:
    """Looks after every commit."""

    def __init__(
        self,
        database: SimulatedDatabase,
        pipelines: Mapping[str, Pipeline],
        witness: Witness,
        sizes: Mapping[int, int],
    ) -> None:
        self.database = database
        self.pipelines = pipelines
        self.witness = witness
        self.sizes = sizes
        """How many items each task was submitted with."""
        self.plans: dict[str, Plan] = {}
        self.undone: dict[tuple[int, int], str] = {}
        """Which compensation was done for a task and its generation."""
        self.hidden: dict[int, Row] = {}
        """Items that were seen before: of deleted tasks, or of a stage that is being filled again, which is hidden meanwhile."""
        self.looks = 0
        self.given_up: set[tuple[int, int]] = set()
        """Items, with their lease, that waited for a person when their task was merged without them."""
        self.readings: list[Any] = []
        """Results that somebody reads at this moment."""
        self.now = self._picture()

    def _picture(self, before: Picture | None = None) -> Picture:
        with self.database.undisturbed() as connection:
            return Picture(connection, before)

    def look(self, seen: Picture) -> None:
        """Compare what a commit changed with what it may change, given what its transaction had seen."""
        # On PostgreSQL, events can become visible in another order than that of their ids.
        before, self.now = self.now, self._picture(self.now if self.database.dialect.name == "sqlite" else None)
        self.looks += 1
        for reading in self.readings:
            reading.look(self.now)
        self._items(before, seen)
        self._tasks(before)
        self._permits()
        self._samples()
        self._closed()
        if self.looks % READ_EVERY == 0:
            self._reads()

    def _samples(self) -> None:
        """Of a task with a sample, nothing behind the sample runs."""
        for number, task in self.now.tasks.items():
            if task["sample"] is not None and task["sample"] >= 0:
                running = [one for one in self.now.of(number, task["stage"]) if one["state"] == "running"]
                behind = [one for one in running if one["seq"] > task["sample"]]
                require(not behind, f"behind the sample of {task}: {behind}")

    def _closed(self) -> None:
        """Only a stage that may spend is closed; one that spends nothing goes on when the budget is used up."""
        for number, task in self.now.tasks.items():
            if task["closed_at"] is not None:
                spends = self.plan(number).stage(task["stage"]).spends
                require(spends, f"closed where nothing is spent: {task}")

    def redone(self, task: int) -> int:
        """How often people have had a task, or items of it, done again."""
        return sum(move["verb"] in ("retry", "rerun") for move in self.now.events.get(task, ()))

    def was_cancelled(self, task: int) -> bool:
        """Whether people have cancelled a task, or it is gone."""
        moves = self.now.events.get(task)
        return moves is None or any(move["verb"] == "cancel" for move in moves)

    def plan(self, task: int) -> Plan:
        """The plan that a task has now."""
        text = self.now.tasks[task]["plan"]
        if text not in self.plans:
            self.plans[text] = Plan.from_json(text)
        return self.plans[text]

    def _reads(self) -> None:
        """The counts that people see are those of the stages that are whole."""
        with self.database.undisturbed() as connection:
            seen = Counting(connection, self.database.clock).counts(sorted(self.now.tasks)) if self.now.tasks else {}
        shown = {
            (task, stage, state): count
            for task, stages in seen.items()
            for stage, counts in stages.items()
            for state, count in counts.by_state.items()
            if count
        }
        there = Counter((item["task"], item["stage"], item["state"]) for item in self.now.items.values())
        require(shown == dict(there), f"people see {shown}, and there is {dict(there)}")

    def _items(self, before: Picture, seen: Picture) -> None:
        """Leases only grow, one at a time, with a claim; states change as the table says."""
        self.hidden |= {number: item for number, item in before.items.items() if number not in self.now.items}
        for number, now in self.now.items.items():
            was = before.items.get(number) or self.hidden.pop(number, None)
            if was is None:
                require(now["state"] == "pending" and now["lease"] == 0, f"a new item that is not new: {now}")
                continue
            if was == now or self._is_given_up(before, was, now):
                continue
            require(
                was["state"] == now["state"] or (was["state"], now["state"]) in ITEM_CHANGES, f"illegal: {was} → {now}"
            )
            grown = now["lease"] - was["lease"]
            claimed = now["state"] == "running" and grown == 1
            # A rerun gives a new number to what was begun, so that pieces of it no longer count.
            reruns = any(move["verb"] == "rerun" for move in self.now.events[now["task"]])
            over = reruns and now["state"] == "pending" and grown == 1
            require(grown == 0 or claimed or over, f"the lease changed without a claim: {was} → {now}")
            # Settled and claimed again in one commit is fine, but only its own worker can settle it.
            own = was["worker"] == now["worker"]
            require(not claimed or was["state"] != "running" or own, f"claimed while it runs: {was} → {now}")
            if claimed and self.database.dialect.name == "sqlite":
                # On PostgreSQL a pause may commit between a claim's look at the task and its own commit; settling looks again.
                task = self.now.tasks[now["task"]]
                wanted = task["state"] == "active" and task["stage"] == now["stage"]
                require(wanted, f"claimed of a task that does not want it: {task}, {now}")
            self._begun(was, now)
            if was["state"] == "done" and now["state"] == "pending":
                self._not_repeated(before, now)
            if was["state"] == "running" and now["state"] == "done":
                self._undone_once(now)
                # On PostgreSQL a command may commit between that look and this commit: then the result came before it.
                task = seen.tasks[was["task"]]
                require(
                    task["state"] == "active" and task["stage"] == was["stage"],
                    f"a result was taken for a task that did not want it: {task}, {was}",
                )

    def _begun(self, was: Row, now: Row) -> None:
        """Whether an item claimed ahead has begun is known before a crash is counted, and never said of one that has not."""
        begun = (was["id"], was["lease"]) in self.witness.begun
        ahead = was["state"] == "running" and was["started_at"] is None
        require(not ahead or now["crashes"] <= was["crashes"], f"a crash of what may not have begun: {was} → {now}")
        if ahead and was["lease"] == now["lease"]:
            require(begun or now["started_at"] is None, f"it never began: {was} → {now}")
            untried = now["state"] == "pending" and now["attempts"] == was["attempts"] - 1
            require(not begun or not untried, f"an attempt was forgotten: {was} → {now}")
            known = now["state"] in ("running", "pending") or now["started_at"] is not None
            require(known, f"settled without a start: {was} → {now}")

    def _is_given_up(self, before: Picture, was: Row, now: Row) -> bool:
        """Whether a person has merged a task without an item that waited for a person: it fails, and nobody works on it."""
        moves = self.now.events[now["task"]][len(before.events.get(now["task"], ())) :]
        is_merged = any(move["verb"] == "merge" for move in moves)
        if not is_merged or was["state"] != "waiting" or now["state"] != "failed":
            return False
        require(
            was["id"] in {item["id"] for item in before.held(now["task"])},
            f"merged without what waits by itself: {was}",
        )
        require(now["lease"] == was["lease"] + 1, f"given up without a new lease: {was} → {now}")
        self.given_up.add((now["id"], now["lease"]))
        return True

    def _not_repeated(self, before: Picture, item: Row) -> None:
        """What is done of an `each` stage runs again when a person wants it, or when it was made from something else."""
        moves = self.now.events[item["task"]][len(before.events.get(item["task"], ())) :]
        if self.plan(item["task"]).stage(item["stage"]).kind is not Kind.EACH:
            return
        if any(move["verb"] in ("retry", "rerun") for move in moves):
            if (job := self.witness.service.used.get((item["id"], item["lease"]))) is not None:
                self.witness.service.spent.add(job)
            return
        given = stored(self.database, item_data.c.input)[item["id"]]
        made_from = self.witness.made_from.get((item["id"], item["lease"]))
        same = given is not None and json.loads(given).get("mark", "in a blob") == made_from
        require(not same, f"done, and to be done again from the same input: {item}, {[dict(move) for move in moves]}")

    def _undone_once(self, item: Row) -> None:
        """At most one compensation for each generation of a task."""
        if item["stage"] not in (ON_FAILED, ON_CANCELLED):
            return
        one = (item["task"], self.now.tasks[item["task"]]["generation"])
        require(one not in self.undone, f"{self.undone.get(one)} and {item['stage']} of one generation: {item}")
        self.undone[one] = item["stage"]

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
                require(
                    new_moves > 0 or _only_closed(was, now), f"a task's row was written without a move: {was} → {now}"
                )
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
        if len(moves) > 1:
            self._road(number, moves[-2], moves[-1])
        last = moves[-1]
        require(
            (last["target"], last["stage"]) == (task["state"], task["stage"]),
            f"not where it went: {dict(last)}, {task}",
        )

    def _road(self, number: int, earlier: Row, later: Row) -> None:
        """A task goes from one stage to the next, passes only stages with nothing to work on, and never goes back by itself."""
        plan, goes_on = self.plan(number), later["target"] in ("active", "waiting", "completed")
        names = [stage.name for stage in plan.stages]
        told = f"{dict(earlier)} → {dict(later)}"
        if later["verb"] == "decide":
            merge = plan.merge_to_repeat(earlier["stage"])
            require(merge is not None and merge.name == later["stage"], f"merged again, but elsewhere: {told}")
            self._is_news(number, later["stage"])
        if later["verb"] not in ("advance", "merge") or not goes_on or earlier["stage"] not in names:
            return
        if later["verb"] == "merge" and earlier["target"] == "waiting":
            require(later["stage"] == earlier["stage"], f"merged elsewhere than it waited: {told}")
            return
        if later["verb"] == "merge" and earlier["target"] == "completed":
            last = [stage.name for stage in plan.stages if stage.kind is Kind.MERGE][-1]
            require(later["stage"] == last, f"merged again, but not at the last merge: {told}")
            return
        stays = ("merge", "active", "active", earlier["stage"])
        if (later["verb"], later["source"], later["target"], later["stage"]) == stays:
            return  # Held items were given up, and others of the stage are still open.
        if later["stage"] not in names:
            return
        start = names.index(earlier["stage"]) + 1
        end = len(names) if later["target"] == "completed" else names.index(later["stage"])
        require(end >= start, f"back to a stage that is over: {told}")
        for stage in plan.stages[start:end]:
            require(stage.kind is Kind.EACH and self._has_nothing_to_do(number, stage.name), f"skipped a stage: {told}")

    def _is_news(self, number: int, merge: str) -> None:
        """A merge is repeated only for a decision that it may not have read."""
        (item,) = self.now.of(number, merge)
        with self.database.undisturbed() as connection:
            last = connection.execute(sa.select(tasks.c.decided).where(tasks.c.number == number)).scalar() or 0
        seen = stored(self.database, item_data.c.decided).get(item["id"]) or 0
        require(last > seen, f"merged again without a new decision: {item}, {last}, {seen}")

    def _has_nothing_to_do(self, number: int, stage: str) -> bool:
        """Whether an `each` stage has all of its items, and none that is open."""
        before, here = self.plan(number).before(stage), self.now.of(number, stage)
        made, wanted = self._given(number, stage), self._expected(number, stage)
        if before is not None and before.kind is Kind.EACH:
            done = [item for item in self.now.of(number, before.name) if item["state"] == "done"]
            made, wanted = len(here), len(done)
        return made == wanted and not any(item["state"] in OPEN_ITEMS for item in here)

    def _given(self, number: int, stage: str) -> int:
        """How many items of a stage were not added by others: handlers add in the first `each` stage."""
        first = next(one.name for one in self.plan(number).stages if one.kind is Kind.EACH)
        return sum(stage != first or not is_added(item["key"]) for item in self.now.of(number, stage))

    def _expected(self, number: int, stage: str) -> int | None:
        """How many items a stage has that a split, or the submission, gave; None where that is not known."""
        before = self.plan(number).before(stage)
        if before is None:
            return self.sizes.get(number)
        if before.kind is not Kind.SPLIT:
            return None
        (split,) = self.now.of(number, before.name) or [{"id": 0, "lease": 0, "state": "pending"}]
        return self.witness.yielded.get((split["id"], split["lease"])) if split["state"] == "done" else None

    def _left_behind(self, before: Picture, number: int, move: Row) -> None:
        """A worker moves a task on only when nothing of its stage is open."""
        was = before.tasks.get(number)
        if move["verb"] != "advance" or was is None:
            return
        stage = self.plan(number).stage(was["stage"])
        if stage.fail_fast or was["ending"]:
            return
        open_items = [item for item in self.now.of(number, was["stage"]) if item["state"] in OPEN_ITEMS]
        again = self.now.tasks[number]["stage"] == was["stage"]
        require(again or not open_items, f"moved on with open items: {was} → {dict(move)}: {open_items}")

    def _standing(self, number: int) -> None:
        """A task has all items of the stage where it stands, and none that are open when it is completed."""
        task, plan = self.now.tasks[number], self.plan(number)
        here = self.now.of(number, task["stage"])
        if task["state"] in ("active", "waiting", "paused"):
            require(here, f"no items where it stands: {task}")
        for stage in plan.stages:
            if stage.kind is Kind.EACH and (found := self.now.of(number, stage.name)):
                size, made = self._expected(number, stage.name), self._given(number, stage.name)
                require(size in (None, made), f"{made} of {size} items of {stage.name}: {task}, {found}")
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


def stored(database: SimulatedDatabase, column: sa.Column[Any]) -> dict[int, Any]:
    """One column of what is kept with each item."""
    with database.undisturbed() as connection:
        return {row.item: row[1] for row in connection.execute(sa.select(item_data.c.item, column))}


def outputs(database: SimulatedDatabase) -> dict[int, str | None]:
    """The output of every item that is done."""
    with database.undisturbed() as connection:
        found = sa.select(items.c.id, item_data.c.output).outerjoin(item_data, item_data.c.item == items.c.id)
        return {row.id: row.output for row in connection.execute(found.where(items.c.state == "done"))}
