"""All locks are taken in one order."""

import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.errors import DatabaseProblem
from fanfold.model.endings import Ending
from fanfold.store.database import Database
from fanfold.store.schema.tables import limits
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation
from tests.waiting import eventually

on_postgres = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)


def two_limited_stages() -> list[ff.Pipeline]:
    """Two pipelines of one stage each, both limited across all workers."""
    made = []
    for name in ("beta", "alpha"):
        pipeline = ff.Pipeline(name)

        @pipeline.each(limit=4)
        async def work(item: Any) -> int:
            return int(item.input)

        made.append(pipeline)
    return made


def deadlocks(url: str) -> int:
    """How many deadlocks the server has ended in this database; counted when the connections have told it, so at their end."""
    database = Database(url)
    with database.read() as connection:
        counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        found: int = connection.exec_driver_sql(counted).scalar_one()
    database.close()
    return found


@on_postgres
def test_stages_with_limits_never_deadlock(database_url: str, tmp_path: Path) -> None:
    live = Live(database_url, tmp_path)
    beta, alpha = two_limited_stages()
    live.know(beta, alpha)
    tasks = [live.client.submit(one, items=list(range(600))) for one in (alpha, beta)]
    with ExitStack() as workers:
        for order in ((alpha, beta), (beta, alpha), (alpha, beta)):
            workers.enter_context(live.working(*order, concurrency=6))
        for task in tasks:
            live.until(task, "completed", 120)
    live.store.close()
    assert deadlocks(database_url) == 0


@on_postgres
def test_limits_are_locked_by_name(installation: Installation) -> None:
    sizes = {"beta": 4, "alpha": 4}
    with installation.store.write() as tx:
        tx.workers.free_places({"beta": 4})
    with installation.store.write() as tx:
        tx.workers.free_places({"alpha": 4})
    claim = Claim(installation, sizes)
    with installation.store.write() as tx:
        tx.connection.execute(locking("alpha"))
        claim.begin()
        # A session that waits for the first must not hold the second.
        with installation.store.write() as other:
            other.connection.execute(locking("beta"))
    claim.end()


@on_postgres
def test_a_limit_that_is_new_is_locked_in_its_turn(installation: Installation) -> None:
    """A claim that waits for a later limit holds the earlier one, which it created: others queue behind it."""
    with installation.store.write() as tx:
        tx.workers.free_places({"beta": 4})
    claim = Claim(installation, {"beta": 4, "alpha": 4})
    with installation.store.write() as tx:
        tx.connection.execute(locking("beta"))
        claim.begin()
        with pytest.raises(DatabaseProblem, match="lock timeout"):
            take_soon(installation, {"alpha": 4})
    claim.end()


def take_soon(installation: Installation, sizes: dict[str, int]) -> None:
    """Take limits, and wait for nobody."""
    with installation.store.write() as tx:
        tx.connection.exec_driver_sql("SET LOCAL lock_timeout = '300ms'")
        tx.workers.free_places(sizes)


def locking(name: str) -> sa.Select[Any]:
    return sa.select(limits.c.size).where(limits.c.name == name).with_for_update(nowait=True)


class Claim:
    """Somebody who takes limits meanwhile, and waits for one of them."""

    def __init__(self, installation: Installation, sizes: dict[str, int]) -> None:
        self.installation = installation
        self.thread = threading.Thread(target=self.take, args=(sizes,))

    def take(self, sizes: dict[str, int]) -> None:
        with self.installation.store.write() as tx:
            tx.workers.free_places(sizes)

    def begin(self) -> None:
        """Start, and return when it waits."""
        self.thread.start()
        eventually(lambda: is_waiting(self.installation), 60)

    def end(self) -> None:
        """Wait until it is over."""
        self.thread.join(60)
        assert not self.thread.is_alive()


def is_waiting(installation: Installation) -> bool:
    """Whether somebody waits for a lock."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with installation.store.read() as tx:
        return tx.connection.exec_driver_sql(waiting).first() is not None


def locked_items(installation: Installation) -> list[int]:
    """The ids of the items that somebody holds locked."""
    with installation.store.read() as tx:
        free = set(tx.connection.exec_driver_sql("SELECT id FROM items FOR UPDATE SKIP LOCKED").scalars())
        return [
            id_
            for id_ in tx.connection.exec_driver_sql("SELECT id FROM items ORDER BY id").scalars()
            if id_ not in free
        ]


@on_postgres
def test_items_are_settled_by_id_whatever_became_of_them(installation: Installation) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=list("abcd"))
    worker = installation.worker()
    first, *others = worker.claim()
    endings = [Settlement(one, Ending.FINISH) for one in reversed(others)] + [
        Settlement(first, Ending.FAIL, error_code="broken")
    ]
    settling = threading.Thread(target=worker.settle, args=endings)
    with installation.store.write() as tx:
        tx.settling.lock([first.id])
        settling.start()
        eventually(lambda: is_waiting(installation), 60)
        assert locked_items(installation) == [first.id]
    settling.join(60)
    assert installation.states(task) == "failed done done done"


@on_postgres
def test_the_sweep_waits_for_nobody(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=list("abc"))
    worker = installation.worker()
    first, *_ = worker.claim()
    clock.advance(installation.settings.lease_seconds + 1)
    with installation.store.write() as tx:
        tx.settling.lock([first.id])
        sweeping = threading.Thread(target=installation.sweep)
        sweeping.start()
        sweeping.join(60)
        assert not sweeping.is_alive()
        assert installation.states(task) == "running pending pending"
    installation.sweep()
    assert installation.states(task) == "pending pending pending"
