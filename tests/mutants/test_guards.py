"""Tests for guards whose removal no other test, and hardly any seed, would notice."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.tasks.moving import split as splitting
from fanfold.engine.tasks.steering.delete import prune
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.attempts import Attempts
from fanfold.engine.worker.attempt.threads import Threads
from fanfold.engine.worker.attempt.time_limit import TimeLimit
from fanfold.engine.worker.beside.heartbeat import Heartbeat
from fanfold.errors import DatabaseProblem, IllegalMove
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.store.items.find_work import Ready
from fanfold.store.rows.workers import Report, Workers
from fanfold.store.store import Store, Transaction
from tests.engine.live import Live
from tests.engine.pipelines import batch, book
from tests.installation import HandClock, HandWorker, Installation, number_of
from tests.rows import rows_counted
from tests.waiting import eventually

only_postgresql = pytest.mark.parametrize("databases", ["postgresql"], indirect=True)


def lease_of(one: Claimed) -> dict[str, Any]:
    return {"id": one.id, "lease": one.lease}


def be_impatient(tx: Transaction, *settings: str) -> None:
    """On PostgreSQL: fail where this transaction would wait for another one."""
    for setting in ("lock_timeout = '300ms'", *settings):
        tx.connection.execute(sa.text(f"SET LOCAL {setting}"))


def test_what_was_handed_back_cannot_be_written_to_by_its_old_holder(installation: Installation) -> None:
    """Progress and pieces belong to a running attempt; only its memory outlives it."""
    installation.client.submit(installation.know(batch()), items=["a"])
    [one] = installation.worker().claim()
    with installation.store.write() as tx:
        tx.settling.release([lease_of(one)])
    before = installation.rows()
    with installation.store.write() as tx:
        assert not tx.settling.note_progress(one.id, one.lease, 0.5, "half")
        assert not tx.settling.holds(one.id, one.lease)
    assert installation.rows() == before


@only_postgresql
def test_nobody_takes_an_item_away_while_it_is_written_to(installation: Installation) -> None:
    installation.client.submit(installation.know(batch()), items=["a"])
    [one] = installation.worker().claim()
    with installation.store.write() as writer:
        assert writer.settling.holds(one.id, one.lease)
        with installation.store.database.read() as connection:
            taken = "SELECT 1 FROM items WHERE id = :id FOR UPDATE SKIP LOCKED"
            assert connection.execute(sa.text(taken), {"id": one.id}).first() is None


@only_postgresql
def test_a_claim_never_takes_more_than_asked_whatever_the_plan(installation: Installation) -> None:
    """A subquery with LIMIT that is joined to the table may be evaluated for each row, so each row finds its own matches."""
    task = installation.client.submit(installation.know(batch()), items=range(20))
    ready = Ready(number_of(installation, task), "batch", "convert", 0)
    worst = (
        "hashjoin",
        "mergejoin",
        "hashagg",
        "sort",
        "material",
        "indexscan",
        "indexonlyscan",
        "bitmapscan",
        "memoize",
    )
    with installation.store.write() as tx:
        be_impatient(tx, *(f"enable_{way} = off" for way in worst))
        assert len(tx.claiming.claim(ready, "w", 2)) == 2


@only_postgresql
def test_a_claim_does_not_wait_for_another_one(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    ready = Ready(number_of(installation, task), "batch", "convert", 0)
    with installation.store.write() as first, installation.store.write() as second:
        be_impatient(second)
        assert len(first.claiming.claim(ready, "first", 1)) == 1
        assert len(second.claiming.claim(ready, "second", 1)) == 1


def test_an_item_that_is_not_the_last_one_locks_no_task(installation: Installation) -> None:
    installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker()
    first, last = worker.claim()
    for one, locks in ((first, False), (last, True)):
        with installation.statements() as sent:
            worker.finish(one)
        writes = [statement for statement in sent if "BEGIN IMMEDIATE" in statement or "FOR NO KEY UPDATE" in statement]
        assert (len(writes) > (installation.store.database.dialect.name == "sqlite")) == locks


class PulledPlug(Exception):
    """The process died here."""


def split(installation: Installation) -> tuple[ff.Task, HandWorker, Settlement]:
    """A task whose split has ended and is not settled yet."""
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "b"]})
    worker = installation.worker("splits")
    [(row, claimed)] = worker.turn().claimed
    return task, worker, worker.call(row, claimed)


def test_a_split_that_is_cut_off_leaves_nothing(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    task, worker, settlement = split(installation)
    before = installation.rows()

    def die(*_arguments: Any, **_named: Any) -> None:
        raise PulledPlug

    with monkeypatch.context() as patched:
        patched.setattr(splitting, "advance_locked", die)
        with pytest.raises(PulledPlug):
            worker.settle(settlement)
    assert installation.rows() == before
    worker.settle(settlement)
    assert installation.completed(task) == {"pages": ["A", "B"], "missing": []}


def test_a_split_that_comes_too_late_moves_nothing(installation: Installation, clock: HandClock) -> None:
    task, late, settlement = split(installation)
    clock.advance(60)
    installation.sweep()
    assert installation.completed(task) == {"pages": ["A", "B"], "missing": []}
    before = installation.rows()
    late.settle(settlement)
    assert installation.rows() == before


def while_locked(installation: Installation, number: int, act: Callable[[], object]) -> list[Exception]:
    """Pause a task, and let somebody else act on it between the move and its commit; returns how they failed."""
    failed: list[Exception] = []

    def try_it() -> None:
        try:
            act()
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=try_it)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with installation.store.write() as tx:
        assert tx.tasks.lock(number) is not None
        tx.tasks.move(number, state="paused")
        thread.start()
        eventually(lambda: installation.sql(waiting)[0][0] > 0)
    thread.join(60)
    assert not thread.is_alive()
    return failed


@only_postgresql
def test_a_command_waits_for_the_move_before_it_and_then_looks_where_the_task_is(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    number = number_of(installation, task)
    [error] = while_locked(installation, number, lambda: installation.client.pause(task.id))
    assert isinstance(error, IllegalMove)
    assert [event.verb for event in installation.client.events(task.id)] == ["submit"]


@only_postgresql
def test_a_split_that_ends_while_its_task_is_being_paused_moves_nothing(installation: Installation) -> None:
    task, worker, settlement = split(installation)
    assert while_locked(installation, number_of(installation, task), lambda: worker.settle(settlement)) == []
    assert installation.client.get(task.id).state == "paused"
    assert installation.client.items(task.id, stage="convert") == []


def test_what_is_done_stays_done_whatever_its_task_wants(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker()
    worker.finish(worker.claim()[0])
    installation.client.pause(task.id)
    clock.advance(6)
    with installation.store.write() as tx:
        assert tx.workers.beat(worker.name, Report(), 15)
    installation.sweep()
    assert installation.states(task) == "done pending"


def test_a_worker_seen_in_the_future_is_not_waited_for(installation: Installation, clock: HandClock) -> None:
    """The clock was set back since, and no sweep had run before."""
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.worker().claim()
    clock.advance(-3_600)
    installation.sweep()
    assert installation.states(task) == "running"
    clock.advance(16)
    installation.sweep()
    assert installation.states(task) == "pending"


def test_only_an_active_task_whose_stage_is_over_is_left_to_be_closed(installation: Installation) -> None:
    pipeline = installation.know(batch())
    over, paused, _open = (installation.client.submit(pipeline, items=["a"]) for _ in range(3))
    with installation.store.write() as tx:
        for task in (over, paused):
            [item] = tx.claiming.claim(Ready(tx.tasks.resolve(task.id).number, "batch", "convert", 0), "w", 1)
            tx.settling.finish([{"id": item.id, "lease": 1}])
    installation.client.pause(paused.id)
    with installation.store.read() as tx:
        assert tx.recovery.unclosed(10) == [tx.tasks.resolve(over.id).number]


def test_a_task_that_is_begun_again_while_it_is_to_be_pruned_stays(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.completed(task)
    clock.advance(40 * 86_400)
    write = installation.store.write

    def meanwhile() -> Any:
        monkeypatch.setattr(installation.store, "write", write)
        installation.client.rerun(task.id)
        return write()

    monkeypatch.setattr(installation.store, "write", meanwhile)
    assert prune(installation.store, {"batch": installation.pipelines[0]}, "sweep") == 0
    assert installation.completed(task) == ["A"]


def test_a_permit_that_nobody_holds_is_dropped(installation: Installation) -> None:
    installation.client.submit(installation.know(batch(limit=9)), items=["a", "b"])
    kept, stale = installation.worker().claim()
    installation.sql("UPDATE permits SET lease = 0 WHERE item = :item", item=stale.id)
    installation.sql("INSERT INTO permits (item, lease, name) VALUES (999, 1, 'batch.convert')")
    installation.sweep()
    assert [tuple(row) for row in installation.sql("SELECT item, lease FROM permits")] == [(kept.id, kept.lease)]


def test_a_limit_is_written_only_when_it_is_new(installation: Installation) -> None:
    written = []
    for size in (3, 3, 4):
        with rows_counted(installation.store) as meter, installation.store.write() as tx:
            assert tx.workers.free_places({"book.pages": size}) == {"book.pages": size}
        written.append(meter.most)
    assert written == [1, 0, 1]


def test_a_worker_may_register_twice(installation: Installation) -> None:
    for _ in range(2):
        with installation.store.write() as tx:
            tx.workers.register("w", "here", 1, [], 4)
    assert [worker.id for worker in installation.client.workers()] == ["w"]


def test_what_is_answered_is_not_asked_again_however_long_ago_it_was_asked(
    installation: Installation, clock: HandClock
) -> None:
    with installation.store.write() as tx:
        assert tx.answers.begin("k", "one", 60)
        tx.answers.keep("k", "paid")
    clock.advance(100)
    with installation.store.write() as tx:
        assert not tx.answers.begin("k", "other", 60)


def pulse_of(installation: Installation, lost: list[str]) -> Heartbeat:
    def lose() -> None:
        lost.append("all")

    return Heartbeat(
        installation.store, "w", [], 4, report=Report, on_held=lambda *_: None, on_lost=lose, on_misfit=lambda _: None
    )


def test_a_worker_whose_heartbeat_came_too_late_drops_what_runs_and_starts_anew(
    installation: Installation, clock: HandClock
) -> None:
    lost: list[str] = []
    pulse = pulse_of(installation, lost)
    pulse._register()
    before = pulse.worker
    clock.advance(10)
    pulse._beat()
    assert (pulse.worker, lost) == (before, [])
    clock.advance(16)
    pulse._beat()
    assert lost == ["all"]
    assert pulse.worker != before
    assert [worker.id for worker in installation.client.workers()] == [pulse.worker]


def test_a_worker_that_leaves_gives_back_what_it_never_heard_that_it_holds(installation: Installation) -> None:
    """If the answer to a claim is lost and the worker stops before it notices, this does not count as a crash of the item."""
    task = installation.client.submit(installation.know(batch(limit=1)), items=["a"])
    pulse = pulse_of(installation, [])
    pulse.start()
    assert len(installation.worker(pulse.worker).claim()) == 1
    assert len(installation.rows()["permits"]) == 1
    pulse.stop()
    [item] = installation.client.items(task.id)
    assert (item.state, item.crashes) == ("pending", 0)
    assert installation.rows()["permits"] == []
    installation.sweep()
    assert installation.client.items(task.id)[0].crashes == 0


def unreachable(*_arguments: Any) -> None:
    """The outcome of every heartbeat while the database is away."""
    raise DatabaseProblem("The database cannot be reached.", code="unreachable")


def test_a_worker_that_cannot_beat_within_its_lease_drops_what_runs(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[str] = []
    pulse = pulse_of(live, lost)
    pulse.start()
    try:
        beaten_at = eventually(live.client.workers)[0].seen_at
        eventually(lambda: live.client.workers()[0].seen_at > beaten_at)
        assert lost == []
        monkeypatch.setattr(Workers, "beat", unreachable)
        eventually(lambda: lost == ["all"])
    finally:
        pulse.stop()


def test_a_worker_whose_lease_was_not_renewed_in_time_claims_nothing(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = live.know(batch())
    # A worker that hears nothing of the database ends the connections of its own store; this one is not among them.
    with live.working() as worker, closing(Store(live.store.settings)) as other:
        client = ff.Client(store=other, pipelines=[pipeline])
        live.until(live.client.submit(pipeline, items=["a"]), "completed")
        with monkeypatch.context() as patched:
            patched.setattr(Workers, "beat", unreachable)
            eventually(lambda: not worker._heartbeat.fresh)
            # A turn that began before may still claim: its lease is not over yet.
            eventually(lambda: not worker._turning)
            task = client.submit(pipeline, items=["b"])
            time.sleep(1)
            assert [item.attempts for item in client.items(task.id)] == [0]
        eventually(lambda: client.get(task.id).state == "completed")


def test_a_job_cancelled_before_its_thread_took_it_does_not_end_the_thread() -> None:
    threads, inbox = Threads("w"), SimpleQueue[Any]()
    cancelled, wanted = Future[Any](), Future[Any]()
    assert cancelled.cancel()
    for job in ((lambda: "never", cancelled), (lambda: "done", wanted), None):
        inbox.put(job)
    threads._serve(inbox)
    assert wanted.result(0) == "done"


def test_an_attempt_cancelled_before_its_first_step_is_over() -> None:
    class Endless:
        def runs_in_loop(self, _call: Any) -> bool:
            return False

        unstopped = SimpleNamespace(clear=lambda _call: None)

        async def run(self, _call: Any) -> Any:
            await asyncio.sleep(3_600)

    async def scene() -> tuple[int, list[str]]:
        caller: Any = Endless()
        attempts = Attempts(caller, lambda: "worker", lambda: None)
        claimed: Any = SimpleNamespace(id=1, lease=5, task=1, key="1", crashes=0, attempts=1, ahead=False)
        row = SimpleNamespace(id="t", pipeline="p")
        call: Any = SimpleNamespace(claimed=claimed, row=row, stage=batch().stages["convert"], time=TimeLimit(None))
        call.release = partial(Settlement, claimed, Ending.RELEASE)
        call.parts, call.name, call.lease_of, call.work = [call], "1", lambda _item: 5, SimpleNamespace(usage=None)
        attempts.start(call)
        attempts.compare({1: (5, False)}, time.monotonic() + 1, turning=False)
        for _ in range(5):
            await asyncio.sleep(0)
        return len(attempts), [one.ending for one in attempts.take_settled()]

    assert asyncio.run(scene()) == (0, ["release"])
