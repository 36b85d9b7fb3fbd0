"""What people and other processes do during a run, besides its workers: commands, ticks, sweeps, kills, late results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from fanfold.engine.tasks.moving import copy_items as copying
from fanfold.engine.tasks.recovery import sweep, tick
from fanfold.engine.tasks.steering import commands
from fanfold.engine.tasks.steering import external_decisions as deciding
from fanfold.engine.tasks.steering.decide import Deciding
from fanfold.engine.tasks.steering.follow_parent import follow_parents
from fanfold.engine.tasks.steering.wake import wake
from fanfold.engine.worker import turn
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.settle_batch import settle
from fanfold.engine.worker.claiming.room import Room
from fanfold.errors import FanfoldError
from fanfold.model.awaited.external import EXTERNAL_COMMANDS
from fanfold.model.decision import NewDecision
from fanfold.model.endings import Ending
from fanfold.model.item import AddedItem, Claimed
from fanfold.model.lifecycle import TASK_MOVES, legal
from fanfold.model.plan import Kind
from fanfold.store.schema import tables
from tests.simulation.below import answer_for, steered_alone
from tests.simulation.faults import is_short
from tests.simulation.handlers import SPOILED
from tests.simulation.purse import raise_budget
from tests.simulation.readers import read
from tests.simulation.watch import Row, require

if TYPE_CHECKING:
    from tests.simulation.world import Crew, World

STEERING = ("pause", "resume", "cancel", "rerun", "merge", "retry", "delete")
MOST_WORKERS = 4
OWNERS = ("", "", "ann", "bob")
BUDGETS = (0.5, 1.0, 3.0, 8.0, 30.0)
"""Seconds of a tick: some are too short for any step."""


TICKS = 5


class People:
    """Everybody except the workers."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.dice = world.dice
        self.schedule = world.schedule
        self.deliveries: list[tuple[Any, str, list[Settlement]]] = []
        self.decisions = 0

    def acts(self) -> list[Callable[[], None]]:
        """What may happen next, as often as it is likely."""
        often = [self._hire, self._tick, self._sweep, self._probe, self._redeliver, self._late]
        if self.world.features.external:
            often += [self._external, self._wake]
        if self.world.features.reads:
            often += [self._read, self._read]
        if self.world.features.decides:
            often += [self.decide] * 4
        if self.world.features.budgets:
            often += [self._raise] * 2
        return [self._command] * 4 + often * 2 + [self._kill, self._stop, self._twice, self._series, self._series]

    def does(self, what: str, act: Callable[[], object], *, at_risk: bool = True) -> None:
        """Somebody at a terminal of their own does one thing."""
        process = self.schedule.process(f"person-{self.schedule.processes}", at_risk=at_risk)

        def do() -> None:
            self._told(act)

        self.schedule.note(f"*** {process.name} {what}", "-")
        self.schedule.spawn(process.name, do, process)

    def _told(self, act: Callable[[], object]) -> None:
        try:
            act()
        except (FanfoldError, OSError) as error:
            if isinstance(error, OSError) and not is_short(error):
                raise
            self.world.cut_short.add(self.schedule.current.process.name)
            self.schedule.note(f"is told: {error}")

    def are_gone(self) -> bool:
        """Whether nobody does anything any more."""
        return not any(actor.process.name.startswith("person") for actor in self.schedule.actors)

    def _command(self) -> None:
        """A person steers a task, mostly as the table allows."""
        tasks = self.world.watch.now.tasks
        if not tasks:
            return
        number = self.dice.choice(sorted(tasks))
        possible = [verb for verb in STEERING if legal(TASK_MOVES, tasks[number]["state"], verb)]
        verb = self.dice.choice(possible if possible and self.dice.random() < 0.8 else STEERING)
        if verb == "delete" and self.dice.random() < 0.8:
            return
        self.does(f"{verb}s {number}", self._steering(number, verb))

    def comes_back(self) -> None:
        """Somebody finds a task finished: partial ones are merged as they are, or redone; others may be redone too."""
        tasks = self.world.watch.now.tasks
        partial = [number for number in sorted(tasks) if tasks[number]["state"] == "partial"]
        if not tasks:
            return
        number = self.dice.choice(partial or sorted(tasks))
        verb = self.dice.choice(("merge", "merge", "retry") if partial else ("retry", "retry", "merge", "rerun"))
        self.does(f"{verb}s {number}", self._steering(number, verb))
        if self.world.features.reads:
            self._read()
        if self.world.features.decides:
            self.decide()

    def _raise(self) -> None:
        """Somebody raises the budget of a task."""
        if tasks := self.world.watch.now.tasks:
            number = self.dice.choice(sorted(tasks))
            self.does(f"raises the budget of {number}", lambda: raise_budget(self.world, number))

    def _read(self) -> None:
        """Somebody reads a result, while somebody else may have it redone."""
        tasks = self.world.watch.now.tasks
        finished = [number for number in sorted(tasks) if tasks[number]["state"] == "completed"]
        if finished or tasks:
            number = self.dice.choice(finished or sorted(tasks))
            self.does(f"reads the result of {number}", lambda: read(self.world, number, self.id_of(number)))

    def decide(self) -> None:
        """Somebody decides about parts of some items of a task, a few at once or one after the other."""
        if (meant := self._decidable()) is None:
            return
        number, wanted = meant
        calls = [wanted] if self.dice.random() < 0.5 else [[one] for one in wanted]

        def do() -> None:
            for call in calls:
                self._told(lambda: Deciding(self.world.store, self.world.pipelines, number, "person").decide(call))  # noqa: B023
                self.schedule.sleep(self.dice.choice((0.0, 0.0, 0.3, 2.0)))

        self.does(f"decides {len(wanted)} times about {number}", do)

    def _decidable(self) -> tuple[int, list[NewDecision]] | None:
        """A task, and decisions about items that it has now; each is known by a value of its own."""
        tasks = self.world.watch.now.tasks
        merged = [number for number in sorted(tasks) if tasks[number]["state"] == "completed"]
        number = self.dice.choice(merged if merged and self.dice.random() < 0.5 else sorted(tasks)) if tasks else 0
        is_each = (
            {stage.name: stage.kind is Kind.EACH for stage in self.world.watch.plan(number).stages} if tasks else {}
        )
        found = [item for item in self.world.watch.now.of(number) if is_each.get(item["stage"])]
        if not found:
            return None
        wanted = []
        for _ in range(self.dice.choice((1, 1, 2, 7))):
            item, verdict = (
                self.dice.choice(found),
                self.dice.choice(("accept", "reject", "replace", "replace", "undo")),
            )
            self.decisions += 1
            value = self.decisions if verdict == "replace" else None
            key, part = item["key"] or str(item["seq"]), self.dice.choice("xy")
            wanted.append(NewDecision(key, part, verdict, value, item["stage"]))
        return number, wanted

    def id_of(self, number: int) -> str:
        """The id of a task, as people know it; empty when it is gone."""
        with self.world.store.database.undisturbed() as connection:
            found = sa.select(tables.tasks.c.id).where(tables.tasks.c.number == number)
            return connection.execute(found).scalar() or ""

    def _external(self) -> None:
        """Somebody decides about external jobs, which may be under way."""
        tasks = self.world.watch.now.tasks
        if tasks and self.world.features.external:
            number, verb = self.dice.choice(sorted(tasks)), self.dice.choice(EXTERNAL_COMMANDS)
            self.does(f"says {verb} of the jobs of {number}", lambda: self._says(number, verb))

    def _wake(self) -> None:
        """The service says up to three times that a job has changed, whatever became of it; or somebody guesses."""
        known = self.world.witness.service.tokens
        token = self.dice.choice((*known, "guessed"))
        for _ in range(self.dice.choice((1, 1, 3))):
            self.does("wakes an item", partial(wake, self.world.store, token))

    def _says(self, number: int, verb: str) -> None:
        task_id = self.id_of(number)
        service = self.world.witness.service
        if verb in ("resend", "lost"):
            getattr(service, {"resend": "resent"}.get(verb, verb))[task_id] += 1
        deciding.decide(self.world.store, number, deciding.Wish(verb), "person")

    def decides(self, number: int) -> None:
        """An item waits for a person: about its job, or because it does not fit into a tick."""
        held = self.world.watch.now.held(number)
        try:
            self._says(number, self.dice.choice(("lost", "resend")))
        except FanfoldError as error:
            self.schedule.note(f"is told: {error}")
            steering = commands.Commands(self.world.store, self.world.pipelines)
            stage, keys = held[0]["stage"], [item["key"] or str(item["seq"]) for item in held]
            is_each = self.world.watch.plan(number).stage(stage).kind is Kind.EACH
            steering.retry(number, keys, stage) if is_each else steering.retry(number)

    def _series(self) -> None:
        """One person does several things to one task, one after the other: cancel and delete, retry and cancel …"""
        if not self.world.watch.now.tasks:
            return
        number = self.dice.choice(sorted(self.world.watch.now.tasks))
        verbs = self.dice.choice(
            (
                ("cancel", "delete"),
                ("cancel", "retry", "cancel"),
                ("retry", "cancel"),
                ("merge", "retry", "merge"),
                ("cancel", "rerun", "pause", "resume"),
                ("pause", "cancel", "delete"),
                ("rerun", "rerun"),
            )
        )

        def do() -> None:
            for verb in verbs:
                self._told(self._steering(number, verb))
                self.schedule.sleep(self.dice.choice((0.0, 0.0, 0.5, 5.0)))

        self.does(f"will {', '.join(verbs)} {number}", do)

    def _steering(self, number: int, verb: str) -> Callable[[], object]:
        """One command on a task."""
        steering = commands.Commands(self.world.store, self.world.pipelines)
        if verb == "retry" and self.dice.random() < 0.6 and (some := self._redoable(number)):
            keys, stage = [item["key"] or str(item["seq"]) for item in some], some[0]["stage"]
            note = self.dice.choice((None, None, None, "other", "spoiled"))
            options = None if note is None else {"note": note}
            self.schedule.note(f"*** retry of {', '.join(keys)} in {stage} of {number} with {options}", "-")
            if note == SPOILED:
                self.world.mark(number, spoiled=True)
            return lambda: steering.retry(number, keys, stage, options)
        if verb == "retry" and self.dice.random() < 0.2:
            return lambda: steering.retry(number, degraded=True)
        if verb == "merge":
            self.world.mark(number, merged_by_hand=True)
        if verb == "resume" and self.world.features.answers:
            return lambda: steering.resume(number, answer_for(self.world, number, self.dice))
        if not self.world.features.subtasks:
            return lambda: getattr(steering, verb)(number)
        if verb == "cancel":
            steered_alone(self.world, number)

        def steer() -> None:
            getattr(steering, verb)(number)
            follow_parents(self.world.store, self.world.pipelines, "person", number)

        return steer

    def _redoable(self, number: int) -> list[Row]:
        """One item that is settled, or several of its stage."""
        settled = [item for item in self.world.watch.now.of(number) if item["state"] in ("done", "failed")]
        if not settled:
            return []
        one = self.dice.choice(settled)
        others = [item for item in settled if item["stage"] == one["stage"] and item is not one]
        return [one, *(item for item in others if self.dice.random() < 0.3)]

    def living(self) -> list[Crew]:
        """The workers that run."""
        return [crew for crew in self.world.crews if not crew.process.dead and not crew.ended]

    def _hire(self) -> None:
        if len(self.living()) < MOST_WORKERS:
            self.world.hire()

    def _kill(self) -> None:
        if living := self.living():
            self.schedule.kill(self.dice.choice(living).process)

    def _stop(self) -> None:
        """Somebody sends SIGTERM, perhaps twice."""
        if living := [crew for crew in self.living() if crew.worker is not None]:
            self.stop([self.dice.choice(living)] * self.dice.choice((1, 1, 2)))

    def stop(self, crews: list[Crew]) -> None:
        """Tell workers to stop; those that have only begun do not hear it."""
        for crew in crews:
            if crew.worker is not None:
                self.schedule.note(f"*** {crew.process.name} is told to stop", "-")
                crew.worker.stop()

    def _tick(self) -> None:
        """One tick, or two that overlap; the budget may be too small for anything."""
        for _ in range(self.dice.choice((1, 1, 2))):
            budget = self.dice.choice(BUDGETS)
            self.does(f"ticks for {budget:g} s", lambda budget=budget: self._ticks(budget))  # type: ignore[misc]

    def tick_on(self) -> None:
        """One tick after the other, as a scheduler starts them; each with the same budget."""
        budget = self.dice.choice(BUDGETS[:-1])
        for _ in range(TICKS):
            self._told(lambda: self._ticks(budget))
            self.schedule.sleep(1.0)

    def _ticks(self, budget: float) -> None:
        tick.tick(self.world.store, self.world.pipelines.values(), seconds=budget, concurrency=2)

    def _sweep(self) -> None:
        self.does("sweeps", lambda: sweep.sweep(self.world.store, self.world.pipelines, force=True))

    def _probe(self) -> None:
        if self.world.watch.now.tasks:
            number = self.dice.choice(sorted(self.world.watch.now.tasks))
            self.does(
                f"probes {number}", lambda: copying.move_on(self.world.store, self.world.pipelines, number, "anyone")
            )

    def _twice(self) -> None:
        """Two people submit under one key: the same work, or different work, which must be refused for one of them."""
        key, owner = self.dice.choice(("mine", "yours")), self.dice.choice(OWNERS)
        name, options = self.world.drawn()
        for _ in range(2):
            self.does(f"submits {key}", partial(self.world.submit, name, options, key=key, owner=owner))
            if self.dice.random() < 0.5:
                name, options = self.world.drawn()

    def _redeliver(self) -> None:
        """What a worker has settled before, or could never write, arrives once more: late, and perhaps twice."""
        if not self.deliveries:
            return
        claimer, name, settled = self.dice.choice(self.deliveries[-20:])
        room = Room(0)
        self.does(
            f"delivers again what {name} had",
            lambda: turn.take_turn(
                self.world.store, claimer, self.world.pipelines, name, settled, room, in_flight=set(), hinted=False
            ),
        )

    def _late(self) -> None:
        """A process whose lease on an item is over settles it in every way, and writes to it: nothing changes."""
        over = [item for item in self.world.watch.now.items.values() if item["lease"] > (item["state"] == "running")]
        if not over:
            return
        item = self.dice.choice(over)
        lease, key = item["lease"] - (item["state"] == "running"), item["key"] or str(item["seq"])
        claimed = Claimed(
            item["id"], lease, item["task"], item["stage"], item["seq"], key, 1, 0, 0, None, None, None, 0.0
        )

        def come() -> None:
            for ending in Ending:
                with self.world.store.write() as tx:
                    late = Settlement(claimed, ending, error_code="late", error_message="simulated: too late")
                    late = late._replace(added=(AddedItem("late", None),))
                    moved = settle(tx, [late], "late", self.world.store.settings.crash_limit)
                    require(not moved, f"{ending} under a lease that is over: {item}")
                    require(not tx.settling.holds(claimed.id, lease), f"a lease that is over is held: {item}")

        self.does(f"comes too late with {key} of {item['task']}", come)

    def note_turn(
        self, store: Any, claimer: Any, pipelines: Any, name: str, settled: Any, room: Any, **rest: Any
    ) -> Any:
        """A turn of a worker, whose settlements may be delivered again some day; splits only while their file is there."""
        kept = [one for one in settled if one.new_items is None]
        if kept:
            self.deliveries.append((claimer, name, kept))
        return turn.take_turn(store, claimer, pipelines, name, settled, room, **rest)
