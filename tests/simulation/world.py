"""One run: workers, people and trouble as chosen by a seed; then calm, and the final checks."""

from __future__ import annotations

import json
import logging
import random
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

from fanfold.engine.handlers import external_call, streamed_output, work
from fanfold.engine.handlers import external_job as external
from fanfold.engine.handlers.files import file_records, kept_files
from fanfold.engine.tasks.many_items import leftovers
from fanfold.engine.tasks.many_items import new_items as split_items
from fanfold.engine.tasks.many_items import reset_items as resets
from fanfold.engine.tasks.moving import advance
from fanfold.engine.tasks.moving import copy_items as copying
from fanfold.engine.tasks.recovery import abandoned, sweep, tick
from fanfold.engine.tasks.steering import commands
from fanfold.engine.tasks.steering import decide as deciding
from fanfold.engine.tasks.steering import delete as removal
from fanfold.engine.tasks.submitting import submission, submit
from fanfold.engine.webhooks import deliveries
from fanfold.engine.worker import database_thread, large_moves, shortages, stop_times, turn
from fanfold.engine.worker import log_throttle as repeats
from fanfold.engine.worker import loop as worker
from fanfold.engine.worker import worker_stats as tally
from fanfold.engine.worker.attempt import attempts, call, settle_batch, threads, unstopped, waiting_items
from fanfold.engine.worker.attempt import time_limit as timing
from fanfold.engine.worker.beside import heartbeat as pulse
from fanfold.engine.worker.beside import restart as restarting
from fanfold.engine.worker.beside import service_threads as services
from fanfold.engine.worker.claiming import ahead, candidates
from fanfold.engine.worker.claiming import claim as claiming
from fanfold.errors import DatabaseProblem, FanfoldError, IllegalMove
from fanfold.model import retry, schedule
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.providers.batches import batch_round, deliver, question_lane
from fanfold.providers.costs import call_budget, measured_costs
from fanfold.providers.limits import blocks
from fanfold.providers.limits import shared as shared_limit
from fanfold.settings import Settings
from fanfold.store import store as store_room
from fanfold.store.files import file_store
from fanfold.store.files import folder as blobs
from fanfold.store.items import recover as recovering
from fanfold.store.items import reset as resetting
from fanfold.store.items.large import drafts
from fanfold.store.items.large import reset_queue as stored_resets
from fanfold.store.rows import removal as stored_removal
from fanfold.store.upgrade.migrate import ensure
from tests.simulation import limited
from tests.simulation.batched import AGAIN_SECONDS, PROVIDER, InOneThread, Lane, are_over, carry_in_the_run
from tests.simulation.below import ASKED, CHILD, SubtaskWatch, answer_for, child_of, is_over
from tests.simulation.credited import accounts_add_up, give_plenty, open_accounts
from tests.simulation.database import SimulatedStore
from tests.simulation.faults import BEGINNING, Faults, Odds
from tests.simulation.features import Features
from tests.simulation.handlers import LARGE, Witness, new_items
from tests.simulation.hooked import DELAYS, HookWatch, Receiver, add_webhooks, deliveries_of
from tests.simulation.leftovers import move_in
from tests.simulation.limited import LimitedService
from tests.simulation.parts import STAGE, Asyncio, Executor, LocksInTurn, NoWatchdog, Queue, Recorders, Threading, Time
from tests.simulation.people import OWNERS, People
from tests.simulation.pipelines import Habits, Shape, Together, made, plain_item
from tests.simulation.purse import Purse, is_stopped_by_budget, raise_budget
from tests.simulation.quiet import idle_workers_are_quiet
from tests.simulation.reckoning import reckon
from tests.simulation.schedule import Process, Schedule, Violation
from tests.simulation.scheduled import add_schedules, pause_schedules
from tests.simulation.watch import Picture, Watch, require

SETTLE_AND_CLAIM = turn._settle_and_claim
OPENED = blobs._opened
LOOK_SECONDS = 0.2
"""A hint is never heard sooner than this."""
CHUNK = 3
"""Rows that one transaction writes or removes at most, instead of thousands: so a few items need several."""
MANY = 30
"""Items of a large task, which would show in the size of a transaction."""
CRASHES = 3
"""The limit of crashes where it counts."""
NARROW = {"PAGE": 2, "PAGES": 2, "MOST_KNOWN": 3, "TIMED_PAGE": 2}
"""How many tasks a look sees where there is a crowd: so a dozen is like thousands."""
CROWD = 7
NEVER_SECONDS = 1e6
"""When an item looks at its subtasks by itself: never, so that a lost wake-up shows."""
AHEAD_WAITS = (0.5, 3.0, 20.0)
"""How long an item that was claimed ahead may wait for a slot, where many are."""
AHEAD_ITEMS = (4, 6, 9)
PATIENCE = 600.0
"""Seconds of calm after which every task must be finished: leases, back-offs and slow handlers included."""


@dataclass(frozen=True)
class Size:
    """How much happens in a run, as choices for the dice."""

    tasks: tuple[int, ...]
    items: tuple[int, ...]
    workers: tuple[int, ...]
    acts: tuple[int, ...]


SMALL = Size(tasks=(1,), items=(1, 2, 3), workers=(1, 2), acts=(1, 2, 3, 4))
LARGE_RUN = Size(tasks=(1, 2, 3), items=(1, 2, 3, 5), workers=(1, 2, 3), acts=(3, 6, 9, 12))
BUSY = Size(tasks=(1, 2), items=(2, 3, 5), workers=(2, 3), acts=(2, 4, 6))
"""Several processes with many calls, which a shared limit needs."""
SIZES = (*[SMALL] * 7, LARGE_RUN)
"""Most runs are small: most races need two workers and two items, and there are more runs for the time."""


class Luck:
    """Stands for the modules `random`, `secrets` and `uuid`: what they give does not matter, but it must be the same."""

    dice: random.Random

    def random(self) -> float:
        """For the jitter of retries."""
        return self.dice.random()

    def uniform(self, low: float, high: float) -> float:
        """For pauses before a transaction is repeated."""
        return low + (high - low) * self.dice.random()

    def choice(self, values: Any) -> Any:
        """For the ids of tasks."""
        return self.dice.choice(values)

    def token_hex(self, size: int) -> str:
        """For the ids of workers and the names of blobs."""
        return f"{self.dice.getrandbits(size * 8):0{size * 2}x}"

    def token_urlsafe(self, size: int) -> str:
        """For the tokens that wake items."""
        return self.token_hex(size)

    def uuid4(self) -> Any:
        """For marks of freshness."""
        return type("Mark", (), {"hex": self.token_hex(16)})


LUCK = Luck()
CLOCKED = (
    *(
        worker,
        database_thread,
        large_moves,
        stop_times,
        pulse,
        services,
        restarting,
        candidates,
        claiming,
        attempts,
        settle_batch,
        waiting_items,
        tally,
        repeats,
        threads,
        unstopped,
        streamed_output,
        work,
        tick,
    ),
    *(removal, store_room, timing, external, shortages, call_budget, measured_costs),
)


@dataclass
class Told:
    """A task as it was submitted."""

    number: int
    pipeline: str
    options: dict[str, Any]
    merged_by_hand: bool = False
    spoiled: bool = False
    """Whether a retry was given an option that made items fail."""


@dataclass(eq=False)
class Crew:
    """A worker's process with the worker in it."""

    process: Process
    worker: worker.Worker | None = None
    ended: bool = False


class Hints:
    """Stands for the store's hints: they come late, twice, or not at all."""

    world: World

    def __init__(self, database: Any) -> None:
        self.database = database
        self.seen = -1

    def wait(self, stop: Any, seconds: float) -> bool:
        """Wait for a commit of anyone; polling has to do when the hint gets lost."""
        heard = STAGE.schedule.pause("a hint", lambda: self.database.changes > self.seen, max(seconds, 1.0))
        STAGE.schedule.sleep(LOOK_SECONDS)
        self.seen = self.database.changes
        return heard and not self.world.faults.hint_is_lost()

    def interrupt(self) -> None:
        """The schedule ends it."""

    def close(self) -> None:
        """Nothing to close."""


class ThisProcess:
    """Stands for `os` where the engine asks who it is."""

    @staticmethod
    def getpid() -> int:
        """The process that runs now."""
        return STAGE.schedule.current.process.pid


class Moments:
    """Stands for `datetime` where the engine says in its log since when something lasts."""

    @staticmethod
    def now(_zone: Any) -> datetime:
        """The schedule's clock."""
        return BEGINNING + timedelta(seconds=STAGE.schedule.now)


class TraceHandler(logging.Handler):
    """What the engine logs becomes part of the trace."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        STAGE.schedule.note(f"says: {record.getMessage()}")


@dataclass
class World:
    """One run on an empty database."""

    store: SimulatedStore
    seed: int
    crews: list[Crew] = field(default_factory=list)
    told: list[Told] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        LUCK.dice = random.Random(self.seed ^ 0x5EED)
        stickiness, leaps = self.dice.choice((0.0, 0.5, 0.8, 0.95)), self.dice.choice((0.0, 0.0, 0.002, 0.01))
        self.schedule = Schedule(self.dice, stickiness=stickiness, leaps=leaps)
        STAGE.schedule = self.schedule
        self.features = Features.drawn(self.dice, self.seed)
        self.faults = Faults(self.schedule, Odds.drawn(self.dice))
        if self.features.refusals:
            self.faults.odds.refused = self.dice.choice((0.004, 0.012))
        if self.features.shortages:
            self.faults.odds.short = self.dice.choice((0.1, 0.4))
        if self.features.stalls:
            self.faults.odds.stall = self.dice.choice((0.03, 0.15))
        if self.features.external or self.features.batches or self.features.limits:
            self.faults.odds.clock_step = self.schedule.leaps = 0.0
        self.witness = Witness(self.faults)
        self.witness.lane, self.witness.purse = Lane(self.store), Purse(self.store)
        limits = random.Random(self.seed ^ 0x11317)
        self.witness.limited = LimitedService(
            self.store, self.faults, limits.choice(limited.RATES), limits.choice(limited.IN_FLIGHT)
        )
        if self.features.decides:
            self.witness.merge_seconds = self.dice.choice((0.0, 1.0, 4.0))
        self.size = self.dice.choice(SIZES)
        if self.features.limits:
            self.size = BUSY
        elif self.features.ahead:
            self.size = replace(self.size, items=AHEAD_ITEMS)
        self.habits = Habits.drawn(self.dice, self.features)
        self.same_machine = self.dice.random() < 0.5
        shapes = [Shape.drawn(self.dice, self.features) for _ in range(self.dice.choice((1, 1, 2)))]
        asked = ASKED if self.features.answers else None
        together = Together.drawn(random.Random(self.seed ^ 0x70632), self.features)
        self.pipelines: dict[str, Pipeline] = {
            f"p{place}": made(f"p{place}", shape, self.witness, asked, together) for place, shape in enumerate(shapes)
        }
        if self.features.subtasks:
            self.witness.child = self.pipelines[CHILD] = child_of(self.seed, self.witness)
        self.drawable = sorted(self.pipelines)
        """The pipelines of which people submit tasks."""
        self.receiver, self.hooks = Receiver(self.seed, self.witness), HookWatch()
        if self.features.hooks:
            self.pipelines[deliveries.NAME] = deliveries_of(self.witness)
        self.fail_fast = any(shape.fail_fast for shape in shapes)
        self.sizes: dict[int, int] = {}
        self.cannot_merge: set[int] = set()
        self.cut_short: set[str] = set()
        """Processes that have left, or were told of an error, before all was written."""
        self.idle: list[float] = []
        """Statements per second of workers that had nothing to do."""
        self.below = SubtaskWatch()
        self._stood: tuple[Picture | None, list[str]] = (None, [])
        self.people = People(self)
        self.credit_dice = random.Random(self.seed ^ 0xC4ED17)
        Hints.world = self

    def run(self) -> None:
        """From the first submission to the reckoning; raises Violation."""
        database = self.store.database
        database.reset()
        shutil.rmtree(self.store.settings.data_folder, ignore_errors=True)
        self.store.forget()
        if self.features.shared:
            move_in(self.store.settings.data_folder)
        database.faults = self.faults
        database.every_commit_is_heard = self.features.heard
        self.witness.in_transaction = database.in_transaction
        self.watch = Watch(database, self.pipelines, self.witness, self.sizes)
        self.witness.service.redone = self.watch.redone
        self.witness.service.was_cancelled = self.watch.was_cancelled
        database.on_commit, database.seen = self._look, lambda: self.watch.now
        self.schedule.blocked = database.judge_again if database.dialect.name == "postgresql" else None
        settings = self.store.settings
        try:
            with ExitStack() as stack:
                if self.features.poison:
                    self.store.settings = replace(settings, crash_limit=CRASHES)
                if self.features.credits:
                    self.store.settings = replace(self.store.settings, credits="on")
                    open_accounts(self)
                for module in (advance, copying) if self.features.stalls else ():
                    stack.enter_context(patch.object(module, "COPY_CHUNK", 1))
                if self.features.ahead:
                    wait = random.Random(self.seed ^ 0xA4EAD).choice(AHEAD_WAITS)
                    stack.enter_context(patch.object(waiting_items, "LONGEST_WAIT_SECONDS", wait))
                    stack.enter_context(patch.object(ahead.HandlerTimes, "of", lambda _times, _pair: 0.01))
                for name, size in NARROW.items() if self.features.crowd else ():
                    stack.enter_context(patch.object(candidates, name, size))
                self._trouble()
                self._calm()
                self._aftermath()
                if self.features.batches:
                    self._let_batches_end()
                if self.features.idle:
                    idle_workers_are_quiet(self)
                reckon(self)
        finally:
            self.store.settings = settings
            database.on_commit = None
            self.schedule.end()
            database.faults = None
            external._left_behind.clear()

    def _look(self, seen: Picture) -> None:
        before = self.watch.now
        try:
            self.watch.look(seen)
            if self.features.hooks:
                self.hooks.look(self, before)
            if self.features.credits:
                accounts_add_up(self)
            self.below.look(self.watch.now.subtasks)
        except Violation as violation:
            self.schedule.fail(violation)

    def _trouble(self) -> None:
        """Everything at once, with faults."""
        if self.features.hooks:
            add_webhooks(self)
        for _ in range(self.dice.choice(self.size.tasks)):
            self.people.does("submits", self.submit_drawn)
        if self.features.crowd:
            self.people.does("submits many", self._submit_crowd)
        if self.features.schedules:
            self.people.does("adds schedules", lambda: add_schedules(self))
        if self.features.cron:
            self.people.does("ticks every few seconds", self.people.tick_on)
        for _ in range(0 if self.features.cron else self.dice.choice(self.size.workers)):
            self.hire()
        self.faults.on = True
        acts = self.people.acts()
        for _ in range(self.dice.choice(self.size.acts)):
            self.schedule.sleep(self.dice.choice((0.1, 0.5, 2.0, 6.0, 17.0)))
            self.dice.choice(acts)()
        self.schedule.sleep(1.0)

    def _calm(self) -> None:
        """No more faults: every task ends by itself, once nobody stops it."""
        self.faults.on, self.schedule.leaps = False, 0.0
        self.schedule.note("*** calm", "-")
        for actor in self.schedule.actors:
            actor.process.frozen_until = min(actor.process.frozen_until, self.schedule.now)
            actor.stalled_until = min(actor.stalled_until, self.schedule.now)
        if self.features.credits:
            give_plenty(self)
        if self.features.alone:
            self.people.stop(self.people.living())
        self.hire(at_risk=False)
        if not self.schedule.pause("the people", self.people.are_gone, PATIENCE):
            raise Violation(f"people wait forever: {self.schedule.standing()}")
        if self.features.schedules:
            pause_schedules(self)
        self.let_all_finish()

    def _aftermath(self) -> None:
        """Everything is finished, and people are not content: they merge with gaps, redo items, cancel and begin again."""
        for _ in range(self.dice.choice((1, 1, 2)) if self.features.comes_back else 0):
            self.people.comes_back()
            self._until_all_is_over()
        if self.features.decides:
            self._review()

    def _let_batches_end(self) -> None:
        """Questions of failed and deleted tasks come to their end as well."""
        end = self.schedule.now + PATIENCE
        while not are_over(self):
            if self.schedule.now > end:
                raise Violation("questions or batches stay open")
            self.schedule.sleep(5.0)

    def _review(self) -> None:
        """People decide about what is finished, several at a time, with trouble as before; then calm comes again."""
        self.faults.on = True
        for _ in range(self.dice.choice((1, 2, 3))):
            self.people.decide()
            self.schedule.sleep(self.dice.choice((0.0, 0.3, 1.0, 4.0)))
        self.faults.on = False
        self._until_all_is_over()

    def _until_all_is_over(self) -> None:
        if not self.schedule.pause("the people", self.people.are_gone, PATIENCE):
            raise Violation(f"people wait forever: {self.schedule.standing()}")
        self.let_all_finish()

    def let_all_finish(self) -> None:
        """Wait until every task is finished, which takes a bounded time.

        Slow items one after the other, each tried three times, may take longer than the patience that one of them needs. So it
        begins again whenever more items are settled than ever before, as long as the task is not repeated endlessly.
        """
        began, most = self.schedule.now, 0
        end = began + PATIENCE + self.faults.set_back
        steering = commands.Commands(self.store, self.pipelines, "director")
        while open_tasks := self._let_go(steering):
            settled = sum(item["state"] in ("done", "failed") for item in self.watch.now.items.values())
            if settled > most:
                most, end = settled, min(self.schedule.now, began + 5 * PATIENCE) + PATIENCE + self.faults.set_back
            if self.schedule.now > end:
                raise Violation(f"stuck: {open_tasks} with {[self.watch.now.of(number) for number in open_tasks]}")
            seen = self._standing()
            self.schedule.pause("the tasks", lambda: self._standing() != seen, 30.0)  # noqa: B023

    def _standing(self) -> list[str]:
        """The states of all tasks."""
        if self._stood[0] is not self.watch.now:
            self._stood = (self.watch.now, [task["state"] for task in self.watch.now.tasks.values()])
        return self._stood[1]

    def _let_go(self, steering: commands.Commands) -> list[int]:
        """Resume what waits for a person; returns what is not finished."""
        merged = {told.number for told in self.told if told.merged_by_hand} - self.cannot_merge
        unfinished = []
        for number, task in list(self.watch.now.tasks.items()):
            try:
                if task["state"] == "paused" and self.features.budgets and is_stopped_by_budget(self, number):
                    raise_budget(self, number)
                elif is_over(self, number):
                    continue
                elif task["state"] in ("paused", "waiting"):
                    steering.resume(number, answer_for(self, number, self.dice))
                elif task["state"] == "partial" and number in merged:
                    self.merge(steering, number)
                elif task["state"] == "active" and self.watch.now.held(number):
                    self.people.decides(number)
                elif task["state"] == "cancelled":
                    steering.retry(number) if self._has_failed(number) else steering.rerun(number)
            except FanfoldError as error:
                self.schedule.note(f"is told: {error}")
            ended = task["state"] in ("completed", "failed") or (task["state"] == "partial" and number not in merged)
            if not ended:
                unfinished.append(number)
        return unfinished

    def merge(self, steering: commands.Commands, number: int) -> None:
        """Merge a task as it is; some have nothing to merge."""
        try:
            steering.merge(number)
        except IllegalMove as refused:
            self.schedule.note(f"is told: {refused}")
            self.cannot_merge.add(number)

    def _has_failed(self, number: int) -> bool:
        return any(item["state"] == "failed" for item in self.watch.now.of(number))

    def hire(self, *, at_risk: bool = True) -> Crew:
        """A new worker, in a process of its own."""
        name = f"w{len(self.crews) + 1}"
        crew = Crew(self.schedule.process(name, at_risk=at_risk))
        self.crews.append(crew)
        concurrency = self.dice.choice((1, 2, 4))

        def live() -> None:
            crew.worker = worker.Worker(self.pipelines.values(), store=self.store, concurrency=concurrency, name=name)
            try:
                crew.worker.run()
            except DatabaseProblem as problem:
                # It may leave with an error, but only when it was told to leave and the database does not answer.
                if problem.code != "unreachable" or not crew.worker._stopping.asked:
                    raise
                self.cut_short.add(name)
                self.schedule.note(f"leaves: {problem}")
            crew.ended = True

        self.schedule.note(f"*** {name} starts", "-")
        self.schedule.spawn(name, live, crew.process)
        return crew

    def _submit_crowd(self) -> None:
        """Many tasks of one item each."""
        name = self.dice.choice(self.drawable)
        for number in range(CROWD):
            self.submit(name, {"items": [plain_item(number, 0.3)]}, owner=self.dice.choice(OWNERS))

    def submit_drawn(self) -> None:
        """A new task of any pipeline."""
        name, options = self.drawn()
        wanted: dict[str, Any] = {"owner": self.dice.choice(OWNERS), "priority": self.dice.choice((0, 0, 0, 1, 7))}
        if self.features.budgets:
            wanted["budget"] = self.witness.purse.wish()
        if self.features.samples:
            wanted["sample"] = self.dice.choice((0, 1, 1, 2))
        if self.features.schedules:
            wanted["delay"] = self.dice.choice((None, None, 3.0, 20.0))
        self.submit(name, options, **wanted)

    def drawn(self) -> tuple[str, dict[str, Any]]:
        """A pipeline, and the options of a new task of it."""
        name = self.dice.choice(self.drawable)
        plans = self.habits.items(self.dice, self.dice.choice(self.size.items))
        if self.dice.random() < 0.02:
            plans = [plain_item(number) for number in range(MANY)]
        return name, {"items": plans}

    def submit(self, name: str, options: dict[str, Any], **wanted: Any) -> Told:
        """A new task; it is remembered how it was submitted."""
        pipeline = self.pipelines[name]
        begins_with_items = pipeline.plan().stages[0].kind == "each"
        new = new_items(self.witness, options["items"], None) if begins_with_items else None
        row = submit.submit(self.store, pipeline, submission.Submission(items=new, options=options, **wanted))
        told = Told(row.number, row.pipeline, json.loads(row.options or "{}"))
        if begins_with_items:
            self.sizes[told.number] = len(told.options["items"])
        require(told.options == options, f"asked for {options}, and got the task of {told.options}")
        self.told.append(told)
        return told

    def mark(self, number: int, *, merged_by_hand: bool = False, spoiled: bool = False) -> None:
        """Remember that people did something to a task that an undisturbed run does not know of."""
        for told in self.told:
            if told.number == number:
                told.merged_by_hand = told.merged_by_hand or merged_by_hand
                told.spoiled = told.spoiled or spoiled

    def is_dead(self, _host: str, pid: int) -> bool:
        """Whether a process of this machine is gone, where all are on one machine."""
        if not self.same_machine:
            return False
        living = {actor.process.pid for actor in self.schedule.actors if not actor.process.dead}
        return pid not in living


def turn_of_the_run(*words: Any, **named: Any) -> Any:
    """A turn, in the world of the run that is under way."""
    return Hints.world.people.note_turn(*words, **named)


def settle_in_the_run(*words: Any) -> Any:
    """The one transaction that is as large as a worker has slots."""
    turning, me = Hints.world.store.database.turning, STAGE.schedule.current
    turning.add(me)
    try:
        return SETTLE_AND_CLAIM(*words)
    finally:
        turning.discard(me)


def opened_in_the_run(path: Path) -> Any:
    """A file to write a blob to, unless there are no files or there is no space."""
    Hints.world.faults.opening()
    return OPENED(path)


def spooled_in_the_run(*words: Any, **named: Any) -> Any:
    """A file for the items of a split, unless there are no files or there is no space."""
    Hints.world.faults.opening()
    return open(*words, **named)


def probed_in_the_run(_shortages: Any) -> str | None:
    """What a worker finds that looks for files and space."""
    return Hints.world.faults.lasting_shortage()


def beside_in_the_run(*words: str) -> Any:
    """A function beside a service, in the world of the run that is under way."""
    return carry_in_the_run(Hints.world)(*words)


def dead_in_the_run(host: str, pid: int) -> bool:
    """Whether a process is gone, in the world of the run that is under way."""
    return Hints.world.is_dead(host, pid)


def sent_in_the_run(*words: Any, **named: Any) -> Any:
    """A delivery to the receiver of the run that is under way."""
    return Hints.world.receiver.send(*words, **named)


@contextmanager
def on_stage() -> Iterator[None]:
    """The engine's modules, with everything that is not deterministic in the hand of the schedule."""
    replaced: list[tuple[Any, str, Any]] = [
        *((module, "time", Time) for module in CLOCKED),
        *((module, "threading", Threading) for module in (external_call, pulse, services, restarting, threads, tick)),
        (file_records, "threading", LocksInTurn),
        (kept_files, "recorder_of", Recorders()),
        (worker, "asyncio", Asyncio()),
        (database_thread, "datetime", Moments),
        (database_thread, "ThreadPoolExecutor", Executor),
        (worker, "Watchdog", NoWatchdog),
        (services, "Hints", Hints),
        (worker, "take_turn", turn_of_the_run),
        (turn, "_settle_and_claim", settle_in_the_run),
        (threads, "SimpleQueue", Queue),
        (pulse, "os", ThisProcess),
        *((module, "new_worker_id", lambda name: f"{name}-{LUCK.token_hex(2)}") for module in (pulse, tick)),
        (sweep, "is_dead", dead_in_the_run),
        (retry, "random", LUCK),
        (call, "LOOK_AGAIN_SECONDS", NEVER_SECONDS),
        (submit, "secrets", LUCK),
        (file_store, "secrets", LUCK),
        (resetting, "uuid", LUCK),
        *((module, "secrets", LUCK) for module in (abandoned, copying, leftovers, resets, batch_round, external)),
        *((module, "beside_service", beside_in_the_run) for module in (services, tick)),
        *((module, "asyncio", InOneThread) for module in (question_lane, call_budget)),
        (batch_round, "load", lambda: {PROVIDER.name: PROVIDER}),
        (batch_round, "AGAIN_SECONDS", AGAIN_SECONDS),
        (batch_round, "PAGE", CHUNK),
        (deliver, "AT_ONCE", CHUNK),
        *(
            (module, "CHUNK", CHUNK)
            for module in (drafts, abandoned, leftovers, resets, split_items, stored_resets, submit)
        ),
        *((module, "COPY_CHUNK", CHUNK) for module in (advance, copying)),
        (resetting, "AT_ONCE", CHUNK),
        (recovering, "AT_ONCE", 2 * CHUNK),
        (schedule, "MOST_CAUGHT_UP", 2),
        (deciding, "AT_ONCE", CHUNK),
        (sweep, "CLEAN_ROWS", CHUNK),
        (stored_removal, "CHUNK", 4 * CHUNK),
        (drafts.Drafts.remove_items, "__defaults__", (2 * CHUNK,)),
        *((module, "random", LUCK) for module in (store_room, call_budget, shared_limit, blocks)),
        (blobs, "_opened", opened_in_the_run),
        (deliveries, "send", sent_in_the_run),
        (deliveries, "secret_of", lambda _name: b"simulated"),
        (deliveries, "DELAYS", DELAYS),
        (shortages.Shortages, "probe", probed_in_the_run),
    ]
    with ExitStack() as stack:
        stack.enter_context(patch.object(split_items, "open", spooled_in_the_run, create=True))
        for module, name, stand_in in replaced:
            stack.enter_context(patch.object(module, name, stand_in))
        stack.enter_context(traced_log())
        yield


@contextmanager
def traced_log() -> Iterator[None]:
    """What the engine logs goes into the story of the run, and nowhere else."""
    log = logging.getLogger("fanfold")
    handler, level, propagate = TraceHandler(), log.level, log.propagate
    log.addHandler(handler)
    log.propagate = False
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagate


@contextmanager
def opened(url: str, folder: Path) -> Iterator[SimulatedStore]:
    """A store for many runs, one after the other."""
    settings = Settings(
        database=url,
        data=str(folder),
        crash_limit=1_000,
        inline_bytes=LARGE,
        retention_days=0,
        stale_hours=1e6,
        heartbeat_seconds=5.0,
        lease_seconds=16.0,
        look_seconds=2.5,
        sweep_seconds=9.0,
        poll_seconds=6.0,
        batch_quiet_seconds=2.0,
        batch_poll_seconds=3.0,
        batch_trial=0,
        public_url="https://fanfold.example.com",
    )
    store = SimulatedStore(settings)
    ensure(store.database)
    try:
        with on_stage():
            yield store
    finally:
        store.close()
