"""Drives the engine by hand: with a clock that stands still, and turns of a worker taken one by one."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery.sweep import sweep
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.handler_batches import calls_of
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import Turn, take_turn
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline, Stage, Target, as_pipeline
from fanfold.model.task import Task, TaskRow
from fanfold.settings import Settings
from fanfold.store.schema import tables
from fanfold.store.store import Store, Transaction

Rows = dict[str, list[tuple[Any, ...]]]


BEGINNING = datetime(2030, 1, 1, tzinfo=UTC)


class HandClock:
    """A clock that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = BEGINNING

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += timedelta(seconds=seconds)


HAND_CLOCK = HandClock()
"""One for all tests of a process, because statements with the time are compiled for each clock."""


def set_clock() -> HandClock:
    """The clock, as it stands when a test begins."""
    HAND_CLOCK.now = BEGINNING
    return HAND_CLOCK


class HandWorker:
    """A worker without threads or a loop: it claims, and settles what it is told to."""

    def __init__(self, store: Store, pipelines: Sequence[Pipeline], name: str) -> None:
        self.store = store
        self.name = name
        self.pipelines = {pipeline.name: pipeline for pipeline in pipelines}
        self.claimer = self._new_claimer()
        with store.write() as tx:
            tx.workers.register(name, "elsewhere", 1, list(self.claimer.served.pairs), 100)

    def _new_claimer(self) -> Claimer:
        """A claimer that polls whenever asked, without pauses."""
        claimer = Claimer(self.store, self.pipelines)
        claimer.candidates.hurry()
        return claimer

    def turn(self, settled: Sequence[Settlement] = (), free: int = 100) -> Turn:
        """Settle and claim, as one turn of a real worker does."""
        return take_turn(
            self.store, self.claimer, self.pipelines, self.name, settled, Room(free), in_flight=set(), hinted=True
        )

    def claim(self, free: int = 100) -> list[Claimed]:
        """Claim up to ``free`` items after a new poll."""
        self.claimer = self._new_claimer()
        return [claimed for _, claimed in self.turn(free=free).claimed]

    def settle(self, *settled: Settlement) -> Turn:
        """Settle without claiming anything."""
        return self.turn(settled, free=0)

    def finish(self, *claimed: Claimed, output: str = '"done"') -> Turn:
        """Settle items as done."""
        return self.settle(*(Settlement(one, Ending.FINISH, output=output) for one in claimed))

    def fail(self, *claimed: Claimed, message: str = "broken") -> Turn:
        """Settle items as failed for good."""
        return self.settle(
            *(Settlement(one, Ending.FAIL, error_code="broken", error_message=message) for one in claimed)
        )

    def run(self, free: int = 100, turns: int = 1_000) -> None:
        """Claim, call the handlers and settle until there is nothing due."""
        settled: list[Settlement] = []
        for _ in range(turns):
            turn = self.turn(settled, free)
            idle = not settled and not turn.claimed and not turn.again
            settled = [
                one
                for row, stage, claimed in calls_of(turn.claimed, self.pipelines)
                for one in self.call_many(row, stage, claimed)
            ]
            if idle:
                return
        raise AssertionError(f"not at rest after {turns} turns")

    def call(self, row: TaskRow, claimed: Claimed) -> Settlement:
        """Run the handler of one item here and now."""
        stage = self.pipelines[row.pipeline].find(claimed.stage)
        assert stage is not None
        [settlement] = self.call_many(row, stage, [claimed])
        return settlement

    def call_many(self, row: TaskRow, stage: Stage, claimed: list[Claimed]) -> list[Settlement]:
        """Run one handler here and now."""
        first = Call(self.store, self.pipelines[row.pipeline], stage, row, claimed[0])
        call: Any = first if stage.batch is None else BatchCall(first, claimed[1:])
        ended = asyncio.run(call.run_async()) if stage.runs_in_loop else call.run_sync()
        return ended if isinstance(ended, list) else [ended]


class Installation:
    """A database, a data folder, a manual clock, and ways to use them."""

    def __init__(self, url: str, folder: Path, clock: Callable[[], datetime] | None, **settings: Any) -> None:
        self.settings = Settings(**{"database": url, "data": str(folder), "sqlite_synchronous": "NORMAL", **settings})
        self.store = Store.open(self.settings, read_clock=clock)
        self.pipelines: list[Pipeline] = []
        self.client = Client(store=self.store)
        self._workers = 0

    def know(self, *pipelines: Target) -> Pipeline:
        """Make pipelines known to the client and to every worker made from now on; returns the first.

        A pipeline takes the place of an earlier one of the same name, as when its code has changed.
        """
        new = [as_pipeline(pipeline) for pipeline in pipelines]
        names = {pipeline.name for pipeline in new}
        self.pipelines = [*(known for known in self.pipelines if known.name not in names), *new]
        self.client.pipelines.update({pipeline.name: pipeline for pipeline in self.pipelines})
        return self.pipelines[-len(pipelines)]

    def worker(self, name: str = "", pipelines: Sequence[Pipeline] | None = None) -> HandWorker:
        """A new worker for what is known."""
        self._workers += 1
        return HandWorker(self.store, pipelines or self.pipelines, name or f"hand-{self._workers}")

    def work(self) -> None:
        """Let a new worker do everything that is due."""
        self.worker().run()

    def sweep(self) -> bool:
        """Recover and clean now."""
        return sweep(self.store, {pipeline.name: pipeline for pipeline in self.pipelines}, force=True)

    def completed(self, task: Task) -> Any:
        """Do all the work there is and return the result of the task, which must be completed."""
        self.work()
        now = self.client.get(task.id)
        assert now.state == "completed", now.error_message
        return self.client.result(task.id)

    def rows(self, *besides: str) -> Rows:
        """All rows of all tables but those named, to compare before and after."""
        with self.store.read() as tx:
            return {
                table.name: sorted((tuple(row) for row in tx.connection.execute(sa.select(table))), key=repr)
                for table in tables.metadata.sorted_tables
                if table.name not in besides
            }

    def sql(self, statement: str, **values: Any) -> list[Any]:
        """Run a statement of the test's own."""
        with self.store.write() as tx:
            result = tx.connection.execute(sa.text(statement), values)
            return list(result) if result.returns_rows else []

    def blobs(self) -> list[str]:
        """The keys of all blobs on disk."""
        folder = self.settings.data_folder / "blobs"
        return sorted(path.relative_to(folder).as_posix() for path in folder.glob("*/*"))

    def states(self, task: Task, stage: str | None = None) -> str:
        """The states of a task's items in order, each by its first letters."""
        return " ".join(item.state for item in self.client.items(task.id, stage=stage, limit=1000))

    @contextmanager
    def statements(self) -> Iterator[list[str]]:
        """Every statement that is sent meanwhile."""
        sent: list[str] = []

        def note(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            sent.append(statement)

        sa.event.listen(self.store.database.engine, "before_cursor_execute", note)
        try:
            yield sent
        finally:
            sa.event.remove(self.store.database.engine, "before_cursor_execute", note)


def number_of(installation: Installation, task: Task) -> int:
    """The number of a task in the database."""
    with installation.store.read() as tx:
        return tx.tasks.resolve(task.id).number


def one_item(tx: Transaction, task: int, stage: str) -> Any:
    """The first item of a stage, as kept."""
    return tx.reading.page(task, stage=stage, limit=1)[0]
