"""A worker that a test drives step by step: the engine's own turn and call, without threads, heartbeat or waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.caller import AnyCall, Ended
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import Turn, take_turn
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskRow
from fanfold.providers.question_asker import QuestionAsker, make_askers
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.store import Store, Transaction
from fanfold.testing.answers import TEST_PROVIDER, Script, scripted_providers
from fanfold.testing.clock import Clock, TurnedLoop
from fanfold.testing.points import WorkerCrashed


class WorkerStore(Store):
    """The store as one worker sees it: unreachable once the worker has crashed."""

    crashed = False

    def __init__(self, settings: Settings, database: Database) -> None:
        super().__init__(settings, database=database)

    @contextmanager
    def write(self) -> Iterator[Transaction]:
        """A write transaction; WorkerCrashed after the crash."""
        self._refuse_crashed()
        with super().write() as tx:
            yield tx

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        """A read transaction; WorkerCrashed after the crash."""
        self._refuse_crashed()
        with super().read() as tx:
            yield tx

    def _refuse_crashed(self) -> None:
        if self.crashed:
            raise WorkerCrashed


class SteppedClaimer(Claimer):
    """Polls for work when it knows of none or when the clock has moved, so a test always polls at the same steps."""

    def __init__(self, store: Store, pipelines: dict[str, Pipeline], clock: Clock) -> None:
        super().__init__(store, pipelines)
        self.candidates.hurry()
        self._clock = clock
        self._looked_at: datetime | None = None
        self.has_looked = False
        """Whether it has polled since this was last set to False."""

    def look(self, hinted: bool, *, now: bool = False, room: Room | None = None) -> None:
        """Poll, unless work is known and nothing else can have become due."""
        if now or not self.can_claim or self._looked_at != self._clock.now:
            super().look(hinted, now=True, room=room)
            self._looked_at = self._clock.now
            self.has_looked = True

    def look_again(self) -> None:
        """Poll at the next step: there may be new work."""
        self._looked_at = None


class SteppedWorker:
    """Claims one item (or one batch) at a time, in order, calls its handler in this thread, and settles it."""

    def __init__(
        self, store: WorkerStore, name: str, pipelines: dict[str, Pipeline], clock: Clock, script: Script
    ) -> None:
        self.store = store
        self.name = name
        self.pipelines = pipelines
        self.claimer = SteppedClaimer(store, pipelines, clock)
        self.crashed_at = 0.0
        self._clock = clock
        make_askers(store, lambda store: QuestionAsker(store, scripted_providers(), TEST_PROVIDER, script.connect))
        self._loop: TurnedLoop | None = None
        self._unsettled: list[Settlement] = []
        self.beat()

    def beat(self) -> None:
        """Send a heartbeat."""
        with self.store.write() as tx:
            tx.workers.register(self.name, "test", 1, list(self.claimer.served.pairs), 1)

    def claim(self) -> tuple[TaskRow, list[Claimed]] | None:
        """The next item that is due, or the next batch, if any. Unsettled results are settled first."""
        while True:
            self.claimer.has_looked = False
            turn = self._turn(Room(1))
            if turn.claimed:
                return turn.claimed[0][0], [claimed for _, claimed in turn.claimed]
            # Settling may have made new work, and what was known before may be out of date, so poll again.
            if self.claimer.has_looked and not turn.again and not turn.settled:
                return None
            self.claimer.look_again()

    def settle(self, settled: list[Settlement], *, at_once: bool) -> None:
        """Write how attempts ended, and advance their task: now, or in one transaction with the next claim."""
        self._unsettled = settled
        if at_once:
            self._turn(Room(0))

    def _turn(self, room: Room) -> Turn:
        settled, self._unsettled = self._unsettled, []
        return take_turn(
            self.store, self.claimer, self.pipelines, self.name, settled, room, in_flight=set(), hinted=True
        )

    def call(self, row: TaskRow, claimed: list[Claimed]) -> list[Settlement]:
        """Run one handler in this thread, in an event loop on the test's clock."""
        pipeline = self.pipelines[row.pipeline]
        stage = pipeline.find(claimed[0].stage)
        assert stage is not None, "only items of served stages are claimed"
        first = Call(self.store, pipeline, stage, row, claimed[0])
        call: AnyCall = first if stage.batch is None else BatchCall(first, claimed[1:])
        ended = self.loop.run_until_complete(_within_time(call)) if stage.runs_in_loop else call.run_sync()
        return ended if isinstance(ended, list) else [ended]

    @property
    def loop(self) -> TurnedLoop:
        """The event loop of this worker."""
        if self._loop is None:
            self._loop = TurnedLoop(self._clock)
        return self._loop

    def holds_items(self, store: Store) -> bool:
        """Whether the database still shows items as running on this worker."""
        with store.read() as tx:
            return bool(tx.workers.held(self.name))

    def end(self) -> None:
        """Settle what is left, unless the worker has crashed, and close its loop."""
        if self._unsettled and not self.store.crashed:
            self._turn(Room(0))
        if self._loop is not None:
            self._loop.end()
            self._loop = None


async def _within_time(call: AnyCall) -> Ended:
    """One attempt, ended when its stage's timeout is over."""
    try:
        async with asyncio.timeout(call.stage.timeout):
            return await call.run_async()
    except TimeoutError:
        return call.time_out()
