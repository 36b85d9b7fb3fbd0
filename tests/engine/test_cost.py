"""The cost of an item, counted in statements, commits, rows and calls, which are the same on a busy machine.

The numbers are what was counted when they were written down, with a little room. Who makes one larger decides to.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.tasks.recovery.sweep import recover_if_due
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.attempts import Attempts
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.caller import Caller
from fanfold.engine.worker.claiming.ahead import HandlerTimes
from fanfold.engine.worker.claiming.handler_batches import calls_of as calls_of_batch
from fanfold.model.endings import Ending
from fanfold.store.items.claim import claim_statement
from fanfold.store.items.settle import move_statement
from fanfold.store.schema import tables
from fanfold.store.schema.statements import _prepare
from tests.engine.live import Live
from tests.installation import HandWorker, Installation

ITEMS = 1_000
AT_ONCE = 100
MOST_STATEMENTS = {"look": 3, "settle and claim": 5}
"""In a turn that settles a hundred items and claims the next hundred; some turns also poll."""
MOST_AT_DEFAULTS = {"statements": 0.3, "commits": 0.08}
"""For each of a thousand items, where a worker has its eight slots. Counted: 0.1 and 0.03."""
MOST_LOG_BYTES = {"claim": 660, "settle": 470}
"""Written to PostgreSQL's log for each item, without images of whole pages. Counted: 567 to 628, and 423."""
MOST_IDLE = 18
"""Statements of a sweep that finds nothing."""
MOST_CALLS = {"turn": 10, "loop": 90}
"""Calls of Python functions for each item: to claim and settle it, and to run it. Counted: 1 to 8, and 65 to 86: spans
add 16 once a test has turned telemetry on."""
MOST_CALLS_IN_BATCH = 38
"""The same, to run it in a batch handler. Counted: 22, and as many more for spans."""


def nothing() -> ff.Pipeline:
    """A pipeline whose handler does nothing."""
    pipeline = ff.Pipeline("nothing")

    @pipeline.each
    async def idle(item: ff.ItemWork) -> int:
        return 1

    return pipeline


class Meter:
    """Counts statements, commits and rows."""

    def __init__(self, installation: Installation) -> None:
        self.statements: list[str] = []
        self.commits = self.writes = 0
        engine = installation.store.database.engine
        sa.event.listen(engine, "before_cursor_execute", self._note)
        sa.event.listen(engine, "commit", self._commit)

    def _note(self, _connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        self.statements.append(statement)

    def _commit(self, connection: sa.Connection) -> None:
        self.commits += 1
        self.writes += not connection.get_execution_options().get("fanfold_read", False)


def calls_of(act: Callable[[], Any]) -> int:
    """How many Python functions this thread called meanwhile."""
    counted: Counter[str] = Counter()
    sys.setprofile(lambda _frame, happening, _argument: counted.update((happening,)))
    try:
        act()
    finally:
        sys.setprofile(None)
    return counted["call"]


def submitted(installation: Installation) -> HandWorker:
    """A worker for a task with a thousand items."""
    installation.client.submit(installation.know(nothing()), items=range(ITEMS))
    return installation.worker()


def test_a_thousand_items_take_few_statements_and_commits(installation: Installation) -> None:
    worker = submitted(installation)
    settled = [Settlement(one, Ending.FINISH, output="1") for one in worker.claim(AT_ONCE)]
    meter = Meter(installation)
    while settled:
        found = worker.turn(settled, free=AT_ONCE).claimed
        settled = [Settlement(one, Ending.FINISH, output="1") for _, one in found]
    asked = [one for one in meter.statements if not one.startswith("BEGIN")]
    writes = [one for one in asked if not one.startswith("SELECT")]
    turns = ITEMS // AT_ONCE
    assert len(asked) <= turns * sum(MOST_STATEMENTS.values()) + 20, asked
    assert len(writes) <= turns * 3 + 6, writes
    assert meter.commits <= turns * 2 + 8


@pytest.mark.usefixtures("always_fast")
def test_a_worker_with_default_settings_takes_few_statements_and_commits(live: Live) -> None:
    task = live.client.submit(live.know(nothing()), items=range(ITEMS))
    meter = Meter(live)
    with live.working() as worker:
        live.until(task, "completed")
    assert worker.concurrency == 8
    each = {"statements": len(meter.statements) / ITEMS, "commits": meter.writes / ITEMS}
    assert all(each[part] <= most for part, most in MOST_AT_DEFAULTS.items()), each


@pytest.fixture
def always_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers count as fast, also on a busy machine; nothing else in the worker comes between."""
    monkeypatch.setattr(HandlerTimes, "of", lambda _times, _pair: 0.001)


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_few_bytes_are_written_to_the_log_for_an_item(installation: Installation) -> None:
    worker = submitted(installation)
    worker.claim(AT_ONCE)
    worker.claimer.look(hinted=True)
    [ready] = worker.claimer.candidates.stages["nothing", "idle"].fresh.values()
    clock = installation.store.database.clock
    with installation.store.write() as tx:
        values = {"wanted": ready.task, "at_stage": ready.stage, "by": "w", "count": AT_ONCE, "seconds": 60.0}
        claim = log_bytes(tx.connection, claim_statement(clock, timed=False, ahead=True), values | {"cursor": 0})
        found = sa.select(tables.items.c.id).where(tables.items.c.worker == "w")
        ids = list(tx.connection.execute(found).scalars())
        assert len(ids) == AT_ONCE
        sent = {"id": ids, "lease": [1] * AT_ONCE, "began": [0.1] * AT_ONCE}
        settle = log_bytes(tx.connection, move_statement(clock, Ending.FINISH), sent)
    each = {"claim": claim / AT_ONCE, "settle": settle / AT_ONCE}
    assert all(0 < each[part] <= most for part, most in MOST_LOG_BYTES.items()), each


def log_bytes(connection: sa.Connection, statement: sa.Executable, values: dict[str, Any]) -> float:
    """Bytes that a statement writes to PostgreSQL's log, without the images of pages that follow a checkpoint."""
    prepared = _prepare(statement, connection.dialect)
    asked = "EXPLAIN (ANALYZE, WAL, FORMAT JSON) " + prepared.text
    [(found,)] = connection.exec_driver_sql(asked, prepared.parameters(values))
    plan = found[0]["Plan"]
    return float(plan["WAL Bytes"] - 8_192 * plan["WAL FPI"])


def test_few_functions_are_called_for_an_item(installation: Installation) -> None:
    worker = submitted(installation)
    first = worker.claim(AT_ONCE)
    settled = [Settlement(one, Ending.FINISH, output="1") for one in first]
    worker.turn(settled, free=AT_ONCE)  # One-time work is done now.
    turns = []
    for _ in range(3):  # Some turns do extra work; the minimum is what every turn does.
        found = worker.turn(free=AT_ONCE).claimed
        settled = [Settlement(one, Ending.FINISH, output="1") for _, one in found]
        turns.append(calls_of(lambda: worker.turn(settled, free=AT_ONCE)))  # noqa: B023 - called at once
    fixed = calls_of(lambda: worker.turn(free=1))
    loops = []
    for _ in range(3):  # A slow machine gives the loop more rounds.
        caller = Caller(installation.store, "worker")  # It looks once how much memory there is.
        loops.append(calls_of(lambda: asyncio.run(run_all(caller, installation, worker, found))))  # noqa: B023
    each = {"turn": (min(turns) - fixed) / AT_ONCE, "loop": min(loops) / AT_ONCE}
    assert all(each[part] <= most for part, most in MOST_CALLS.items()), each


def test_few_functions_are_called_for_an_item_of_a_batch(installation: Installation) -> None:
    pipeline = ff.Pipeline("batches")

    @pipeline.each(batch=AT_ONCE)
    async def idle(items: list[ff.ItemWork]) -> list[int]:
        return [1 for _ in items]

    installation.client.submit(installation.know(pipeline), items=range(2 * AT_ONCE))
    worker = installation.worker()
    found = worker.turn(free=2).claimed

    async def run() -> None:
        over = asyncio.Event()
        attempts = Attempts(Caller(installation.store, "worker"), lambda: worker.name, over.set)
        [(row, stage, items), *_] = calls_of_batch(found, worker.pipelines)
        call = Call(installation.store, pipeline, stage, row, items[0])
        attempts.start(BatchCall(call, items[1:]))
        await over.wait()
        assert len(attempts.take_settled()) == AT_ONCE

    each = min(calls_of(lambda: asyncio.run(run())) for _ in range(3)) / AT_ONCE
    assert each <= MOST_CALLS_IN_BATCH, each


async def run_all(caller: Caller, installation: Installation, worker: HandWorker, found: list[Any]) -> None:
    """Run the handlers as a worker's loop does."""
    over = asyncio.Event()
    attempts = Attempts(caller, lambda: worker.name, lambda: None if attempts else over.set())
    pipeline = worker.pipelines["nothing"]
    for row, claimed in found:
        attempts.start(Call(installation.store, pipeline, pipeline.stages["idle"], row, claimed))
    await over.wait()
    assert {one.ending for one in attempts.take_settled()} == {"finish"}
    caller.close()


def test_an_idle_worker_asks_little(installation: Installation) -> None:
    worker = submitted(installation)
    worker.claim(1)
    installation.sweep()
    with installation.statements() as busy:
        recover_if_due(installation.store, worker.pipelines, "sweep", force=True)
    installation.client.cancel(installation.client.list()[0].id)
    installation.sql("UPDATE items SET state = 'pending', worker = NULL WHERE state = 'running'")
    with installation.statements() as idle:
        recover_if_due(installation.store, worker.pipelines, "sweep", force=True)
    assert len(idle) < len(busy)
    assert len([one for one in idle if not one.startswith("BEGIN")]) <= MOST_IDLE, idle


@pytest.mark.parametrize("before", [0, 900], ids=["at the start", "near the end"])
def test_a_claim_touches_what_it_claims_and_nothing_else(installation: Installation, before: int) -> None:
    if installation.store.database.dialect.name != "postgresql":
        pytest.skip("SQLite does not count rows; its plans are tested")
    worker = submitted(installation)
    while before:
        worker.turn(free=AT_ONCE)
        before -= AT_ONCE
    installation.sql("ANALYZE items")  # The server does this by itself within a minute, and Fanfold for larger tasks.
    worker.claimer.look(hinted=True)
    [ready] = worker.claimer.candidates.stages["nothing", "idle"].fresh.values()
    touched = sa.text(
        "SELECT idx_tup_fetch, seq_tup_read, n_tup_upd FROM pg_stat_xact_user_tables WHERE relname = 'items'"
    )
    with installation.store.write() as tx:
        cursor = worker.claimer._cursors.get(ready.task, 0)
        so_far = tx.connection.execute(touched).one()
        assert len(tx.claiming.claim(ready, "w", 10, cursor=cursor)) == 10
        fetched, read, updated = (
            now - then for now, then in zip(tx.connection.execute(touched).one(), so_far, strict=True)
        )
    assert updated == 10
    assert fetched + read <= 40
