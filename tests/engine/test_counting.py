"""Nothing is decided on counts that are out of date."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.moving import advance as advancing
from fanfold.engine.tasks.moving import copy_items as copying
from fanfold.engine.tasks.moving import split as splitting
from fanfold.engine.tasks.moving.advance import advance
from fanfold.engine.tasks.moving.counts import OutOfDate, count_ahead
from fanfold.store.items import reset as resetting
from tests.engine.pipelines import batch, book, one_step
from tests.installation import HandClock, HandWorker, Installation, number_of


def meanwhile(installation: Installation, monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> list[str]:
    """Run this after the items were counted and before the lock is taken; reports how often it ran."""
    transact, happened = installation.store.transact, []

    def first(decide: Any) -> Any:
        monkeypatch.setattr(installation.store, "transact", transact)
        happened.append("it did")
        act()
        return transact(decide)

    monkeypatch.setattr(installation.store, "transact", first)
    return happened


def settled(installation: Installation, worker: HandWorker, **ends: str) -> None:
    """Claim all and settle them, by key, without advancing the task."""
    claimed = {one.key: one for one in worker.claim()}
    with installation.store.write() as tx:
        for key, one in claimed.items():
            end = tx.settling.fail if ends.get(f"k{key}") == "failed" else tx.settling.finish
            end([{"id": one.id, "lease": one.lease}])


@pytest.mark.parametrize("clock_stands", [True, False])
def test_an_advance_counts_again_when_items_were_put_back_since(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch, clock_stands: bool
) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a", "b", "c"])
    worker = installation.worker()
    settled(installation, worker, k2="failed")

    def redo() -> None:
        clock.advance(0 if clock_stands else 1)
        installation.client.retry(task.id)
        settled(installation, worker)

    happened = meanwhile(installation, monkeypatch, redo)
    assert advance(installation.store, {"batch": pipeline}, number_of(installation, task), "someone") == "completed"
    assert happened
    assert installation.client.get(task.id).missing == 0


def test_a_stage_with_an_open_item_is_not_left_whatever_was_counted_before(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a move opens a settled item; if anything else did, its result must not be lost."""
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a", "b"])
    settled(installation, installation.worker())
    happened = meanwhile(
        installation,
        monkeypatch,
        lambda: installation.sql("UPDATE items SET state = 'pending', finished_at = NULL WHERE seq = 2"),
    )
    assert advance(installation.store, {"batch": pipeline}, number_of(installation, task), "someone") is None
    assert happened
    assert installation.client.get(task.id).state == "active"


def test_counts_do_not_hold_after_a_move_whose_event_has_a_lower_number(
    installation: Installation, clock: HandClock
) -> None:
    """PostgreSQL numbers events before they are committed: an item's event may be visible before a move's."""
    task = installation.client.submit(installation.know(batch()), items=["a"])
    number = number_of(installation, task)
    with installation.store.read() as tx:
        row = tx.tasks.get(number)
        assert row is not None
        ahead = replace(count_ahead(tx, row), event=10**9)
    clock.advance(1)
    installation.client.pause(task.id)
    installation.client.resume(task.id)
    with installation.store.write() as tx:
        row = tx.tasks.lock(number)
        assert row is not None
        assert not ahead.still_holds(tx, row)


def test_counts_hold_while_items_of_a_task_fail(installation: Installation) -> None:
    """A stage that fails fast is decided while other items fail: that must not postpone the decision forever."""
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c"])
    number = number_of(installation, task)
    worker = installation.worker()
    one, *_ = worker.claim()
    with installation.store.read() as tx:
        row = tx.tasks.get(number)
        assert row is not None
        ahead = count_ahead(tx, row)
    worker.fail(one)
    with installation.store.write() as tx:
        row = tx.tasks.lock(number)
        assert row is not None
        assert tx.events.last(number) > ahead.event
        assert ahead.still_holds(tx, row)


def test_a_task_that_is_steered_all_the_time_is_left_to_the_next_look(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a"])
    number = number_of(installation, task)
    settled(installation, installation.worker())
    decide = advancing.decide

    def steered(*arguments: Any) -> Any:
        tx = arguments[-1]
        tx.events.add([{"task": number, "actor": "person", "verb": "pause"}])
        return decide(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(advancing, "decide", steered)
        with pytest.raises(OutOfDate):
            advance(installation.store, {"batch": pipeline}, number, "someone")
        assert copying.move_on(installation.store, {"batch": pipeline}, number, "someone") is None
    installation.sweep()
    assert installation.client.get(task.id).state == "completed"


def test_a_merge_counts_again_when_what_failed_was_redone_since(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options={"texts": ["a", "bad", "bad"]})
    installation.work()
    assert installation.client.get(task.id).state == "partial"

    def redo() -> None:
        installation.client.retry(task.id, ["p2"], options={"instead": "b"})
        installation.work()
        assert installation.client.get(task.id).state == "partial"

    happened = meanwhile(installation, monkeypatch, redo)
    installation.client.merge(task.id)
    assert happened
    assert installation.completed(task) == {"pages": ["A", "B"], "missing": ["p3"]}
    assert installation.client.get(task.id).missing == 1


def two_phases() -> ff.Pipeline:
    """A split, its items and a merge, twice; one item of the first phase may fail."""
    made = ff.Pipeline("phases")
    made.split(name="cut")(lambda task: ["a", "bad", "c"])

    @made.each(name="convert", retry=ff.Retry(limit=0), tolerate=1)
    def convert(item: Any) -> Any:
        if item.input == "bad":
            raise ff.Permanent("bad")
        return item.input

    made.merge(name="gather")(lambda task, results: [result.output for result in results])
    made.split(name="again")(lambda task: task.previous)
    made.each(name="polish")(lambda item: item.input.upper())
    made.merge(name="bind")(lambda task, results: [result.output for result in results])
    return made


@pytest.mark.parametrize("times", [1, 9])
def test_a_split_counts_again_when_its_task_was_steered_since(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    pipeline = installation.know(two_phases())
    task = installation.client.submit(pipeline)
    worker = installation.worker()
    while True:
        [(row, claimed), *others] = worker.turn().claimed
        calls = [worker.call(row, claimed), *(worker.call(*other) for other in others)]
        if claimed.stage == "again":
            break
        worker.settle(*calls)
    count = splitting._count_phases
    counted: list[Any] = []

    def steered(*arguments: Any) -> Any:
        counted.append(count(*arguments))
        if len(counted) <= times:
            installation.client.pause(task.id)
            installation.client.resume(task.id)
        return counted[-1]

    monkeypatch.setattr(splitting, "_count_phases", steered)
    worker.settle(*calls)
    assert counted[0] is not None
    assert installation.client.get(task.id).missing == 1
    assert installation.completed(task) == ["A", "C"]


@pytest.mark.parametrize("chunk", [4, 1_000])
def test_a_gate_that_was_passed_is_not_asked_again_after_a_redo_before_it(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    """Even if there are enough items that they are copied ahead."""
    monkeypatch.setattr(advancing, "COPY_CHUNK", chunk)
    monkeypatch.setattr(copying, "COPY_CHUNK", chunk)
    made = ff.Pipeline("gated")
    made.each(name="first")(lambda item: f"{item.options.get('say', 'a')}{item.input}")
    made.each(name="second", gate=True)(lambda item: item.input.upper())
    task = installation.client.submit(installation.know(made), items=range(10))
    installation.work()
    assert installation.client.get(task.id).state == "waiting"
    installation.client.resume(task.id)
    installation.work()
    installation.client.retry(task.id, ["3"], stage="first", options={"say": "b"})
    installation.work()
    assert installation.client.get(task.id).state == "completed"
    assert installation.sql("SELECT output FROM item_data WHERE output LIKE '%B2%'")


@pytest.mark.parametrize("count", [3, 10])
def test_a_rerun_of_items_that_were_never_begun_stops_at_the_gate_again(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(resetting, "AT_ONCE", 4)
    task = installation.client.submit(installation.know(batch(gate=True)), items=["a"] * count)
    installation.client.cancel(task.id)
    installation.client.rerun(task.id)
    assert installation.client.get(task.id).state == "waiting"
    installation.client.resume(task.id)
    installation.work()
    installation.client.rerun(task.id)
    assert installation.client.get(task.id).state == "active"


class Refunds:
    """A step that fails, and a ledger of what was paid back."""

    def __init__(self, installation: Installation) -> None:
        self.paid: list[str] = []
        self.pipeline = one_step(self.work)
        self.pipeline.on_failed(lambda task: self.paid.append("failed"))
        self.pipeline.on_cancelled(lambda task: self.paid.append("cancelled"))
        installation.know(self.pipeline)

    def work(self, task: Any) -> None:
        raise ff.Permanent("no")


def refunded(installation: Installation, clock: HandClock) -> tuple[Refunds, ff.Task]:
    """A task that was compensated and retried."""
    refunds = Refunds(installation)
    task = installation.client.submit(refunds.pipeline)
    installation.work()
    assert refunds.paid == ["failed"]
    clock.advance(1)
    installation.client.retry(task.id)
    clock.advance(1)
    return refunds, task


def test_a_cancel_makes_up_for_what_was_begun_after_it_looked(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    refunds, task = refunded(installation, clock)
    happened = meanwhile(installation, monkeypatch, lambda: installation.worker().claim())
    installation.client.cancel(task.id)
    assert happened
    installation.work()
    assert refunds.paid == ["failed", "cancelled"]


def test_a_cancel_makes_up_for_nothing_that_was_made_up_for_after_it_looked(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    refunds, task = refunded(installation, clock)
    installation.worker("begins").claim()

    def fail_and_retry() -> None:
        clock.advance(60)
        installation.sweep()
        installation.work()
        assert refunds.paid == ["failed", "failed"]
        clock.advance(1)
        installation.client.retry(task.id)

    happened = meanwhile(installation, monkeypatch, fail_and_retry)
    assert installation.client.cancel(task.id).state == "cancelled"
    assert happened
    installation.work()
    assert refunds.paid == ["failed", "failed"]
