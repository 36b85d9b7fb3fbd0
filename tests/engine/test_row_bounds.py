"""Many items are recovered in transactions with a bounded number of rows."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.steering import external_decisions as deciding
from fanfold.engine.tasks.steering.external_decisions import Wish, decide
from fanfold.store.items import recover as recovery
from fanfold.store.streams import in_database as streams
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation, number_of
from tests.rows import rows_counted

MANY = 40
MOST_ROWS = 30


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow few items per transaction, so that forty are many."""
    monkeypatch.setattr(recovery, "AT_ONCE", 4)
    monkeypatch.setattr(deciding, "AT_ONCE", 4)
    monkeypatch.setattr(streams, "AT_ONCE", 10)


def running(installation: Installation) -> ff.Task:
    """A task whose many items a worker has."""
    task = installation.client.submit(installation.know(batch()), items=["a"] * MANY)
    installation.worker("dies").claim()
    return task


def test_many_items_of_a_dead_worker_are_taken_back_in_short_transactions(
    installation: Installation, clock: HandClock
) -> None:
    task = running(installation)
    clock.advance(1_000)
    with rows_counted(installation.store) as meter:
        installation.sweep()
    assert meter.most <= MOST_ROWS, meter.written
    assert installation.client.get(task.id).stages[0].counts == {"pending": MANY}


def test_many_items_that_nobody_wants_are_handed_back_in_short_transactions(
    installation: Installation, clock: HandClock
) -> None:
    task = running(installation)
    installation.client.pause(task.id)
    clock.advance(14)
    with rows_counted(installation.store) as meter:
        installation.sweep()
    assert meter.most <= MOST_ROWS, meter.written
    assert installation.client.get(task.id).stages[0].counts == {"pending": MANY}


def test_many_items_are_moved_back_with_the_clock_in_short_transactions(
    installation: Installation, clock: HandClock
) -> None:
    running(installation)
    installation.sweep()
    clock.advance(-3_600)
    with rows_counted(installation.store) as meter:
        installation.sweep()
    assert meter.most <= MOST_ROWS, meter.written
    with installation.store.read() as tx:
        assert tx.recovery.ahead_of_time() == []


def test_many_external_jobs_are_decided_in_short_transactions(installation: Installation) -> None:
    task = running(installation)
    with installation.store.write() as tx:
        for item, lease in installation_items(tx):
            assert tx.externals.intend(item, lease, "job", f"key-{item}")
            assert tx.externals.not_known(item, lease, "job", f"key-{item}")
    with rows_counted(installation.store) as meter:
        decide(installation.store, number_of(installation, task), Wish("resend"), "person")
    assert meter.most <= MOST_ROWS, meter.written
    assert {state for (state,) in installation.sql("SELECT state FROM externals")} == {"resend"}


def installation_items(tx: Any) -> list[tuple[int, int]]:
    """The items there are, with their leases."""
    return [(row.id, row.lease) for row in tx.connection.exec_driver_sql("SELECT id, lease FROM items")]


def test_pieces_of_an_earlier_attempt_are_dropped_a_few_at_a_time(installation: Installation) -> None:
    installation.client.submit(installation.know(batch()), items=["a"])
    [claimed] = installation.worker().claim()
    with installation.store.write() as tx:
        tx.streams.add(claimed.task, claimed.id, claimed.lease, 0, ['"x"'] * 25)
    dropped = []
    for _ in range(3):
        with rows_counted(installation.store) as meter, installation.store.write() as tx:
            dropped.append(tx.streams.drop_stale(claimed.id, claimed.lease + 1))
        assert meter.most <= 10
    assert dropped == [False, False, True]
    assert installation.rows()["emissions"] == []
