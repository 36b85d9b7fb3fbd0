"""The steps of a run: claim an item, call its handler, settle it, recover after a crash, advance the clock."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager

from fanfold.engine.tasks.recovery.sweep import begin_due, close, recover_if_due
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.store.store import Store
from fanfold.testing.answers import Script
from fanfold.testing.due_moments import DueMoments
from fanfold.testing.memory import DatabaseAndClock
from fanfold.testing.points import AFTER_SETTLE, BEFORE_HANDLER, BEFORE_SETTLE, Point, WorkerCrashed
from fanfold.testing.worker import SteppedWorker, WorkerStore

A_MOMENT = 0.001
"""Seconds by which the clock is advanced past a time that must be over."""
A_MICROSECOND = 1e-6
"""The least by which the clock can be advanced."""


class Steps:
    """Runs workers one after the other, step by step, until nothing is left to do."""

    def __init__(self, store: Store, memory: DatabaseAndClock) -> None:
        self.points: list[Point] = []
        self.script = Script(self.crash)
        self._store = store
        self._clock = memory.clock
        self._moments = DueMoments(store, memory.clock)
        self._ends_at = math.inf
        """The second of the test's clock up to which the clock may be advanced."""
        self._pipelines: dict[str, Pipeline] = {}
        self._names = (f"worker-{number}" for number in itertools.count(1))
        self._worker: SteppedWorker | None = None
        self._crashed: list[SteppedWorker] = []
        self._chance = random.Random(0).getstate()

    def know(self, pipeline: Pipeline) -> None:
        """Have workers serve a pipeline."""
        if self._pipelines.get(pipeline.name) is not pipeline:
            self._pipelines[pipeline.name] = pipeline
            self.end_worker()

    def crash(self) -> BaseException:
        """The worker is dead from now on. Returns the exception to raise where it dies."""
        worker = self._worker
        assert worker is not None, "a worker can only crash while it runs"
        worker.store.crashed = True
        return WorkerCrashed()

    def run(self, seconds: float, steps: int) -> bool:
        """Work until nothing is left to do, or nothing within these seconds; False if that takes more than ``steps`` steps.

        If ``seconds`` is finite, the clock is advanced to their end.
        """
        self._ends_at = self._clock.seconds + seconds
        if self._worker is not None:
            self._worker.claimer.look_again()
        with self._same_chance():
            for _ in range(steps):
                if not self._attempt() and not self._go_on():
                    return True
                if (problem := self.script.take_problem()) is not None:
                    raise problem
        return False

    @contextmanager
    def _same_chance(self) -> Iterator[None]:
        """Back-offs are random. The same random numbers each time make a test repeatable."""
        before = random.getstate()
        random.setstate(self._chance)
        try:
            yield
        finally:
            self._chance = random.getstate()
            random.setstate(before)

    def _attempt(self) -> bool:
        """Claim an item, call its handler and settle it; False when nothing is due."""
        worker = self._worker = self._worker or self._new_worker()
        try:
            claimed = worker.claim()
            if claimed is None:
                return False
            self._reach(BEFORE_HANDLER, *claimed)
            settled = worker.call(*claimed)
            self._moments.note(settled)
            if not worker.store.crashed:
                self._reach(BEFORE_SETTLE, *claimed)
                worker.settle(settled, at_once=any(point.moment == AFTER_SETTLE for point in self.points))
                self._reach(AFTER_SETTLE, *claimed)
        except WorkerCrashed:
            worker.store.crashed = True
        if worker.store.crashed:
            self._note_crash(worker)
        return True

    def _go_on(self) -> bool:
        """Recover lost items and begin what is due, as every worker does from time to time, and advance the clock.

        False if nothing is left.
        """
        worker = self._worker
        assert worker is not None, "nothing was due for a worker"
        if self._crashed and self._recover(worker):
            return True
        if begin_due(worker.store, self._pipelines, worker.name) > 0:
            return True
        return self._advance_clock(worker) or self._move_on(worker)

    def _move_on(self, worker: SteppedWorker) -> bool:
        """Advance tasks whose move on_move refused: at once, or as soon as the move may be tried again."""
        with self._store.read() as tx:
            is_stuck = bool(tx.recovery.unclosed(1))
        if not is_stuck or close(worker.store, self._pipelines, worker.name) > 0:
            return is_stuck
        return self._advance(self._store.settings.sweep_seconds)

    def _reach(self, moment: str, row: TaskRow, claimed: list[Claimed]) -> None:
        """Run the actions of this point, for each item of the call."""
        for point in self.points:
            for one in claimed:
                point.reach(moment, row, one)

    def _new_worker(self) -> SteppedWorker:
        store = WorkerStore(self._store.settings, self._store.database)
        return SteppedWorker(store, next(self._names), self._pipelines, self._clock, self.script)

    def _note_crash(self, worker: SteppedWorker) -> None:
        worker.end()
        worker.crashed_at = self._clock.seconds
        self._crashed.append(worker)
        self._worker = None

    def end_worker(self) -> None:
        """Stop the worker without a crash."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _recover(self, worker: SteppedWorker) -> bool:
        worker.beat()
        return recover_if_due(worker.store, self._pipelines, worker.name, force=True)

    def _advance_clock(self, worker: SteppedWorker) -> bool:
        """Advance the clock to the next time at which something happens; False if nothing will."""
        soonest = min(self._seconds_to_work(worker), default=math.inf)
        if math.isinf(soonest) and math.isinf(self._ends_at):
            return False  # Schedules never end, so they alone do not move the clock.
        schedule = self._moments.schedule()
        return self._advance(min(max(0.0, soonest) + A_MOMENT, math.inf if schedule is None else schedule))

    def _seconds_to_work(self, worker: SteppedWorker) -> Iterator[float]:
        """Seconds until items are due, tasks start, and the leases of crashed workers end."""
        if (item := self._moments.item(worker.claimer.seconds_to_next)) is not None:
            yield item
        if (start := self._moments.start()) is not None:
            # A start whose move on_move refused is tried again, as by the next sweep.
            yield start if start > 0 else self._store.settings.sweep_seconds
        self._crashed = [dead for dead in self._crashed if dead.holds_items(self._store)]
        for dead in self._crashed:
            yield dead.crashed_at + self._store.settings.lease_seconds - self._clock.seconds

    def _advance(self, seconds: float) -> bool:
        """Advance the clock, but not beyond the end of the run; False if that has come."""
        seconds = min(seconds, self._ends_at - self._clock.seconds)
        if seconds < A_MICROSECOND:
            return False
        self._clock.advance(seconds)
        return True
