"""Many items are copied into the next `each` stage in short transactions, once, and valid results are kept."""

import threading
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.moving import advance
from fanfold.engine.tasks.moving import copy_items as copying
from fanfold.engine.tasks.moving.advance import LargeCopy
from fanfold.engine.tasks.moving.copy_items import copy_ahead, move_on
from fanfold.store.items.large.copy import COPY_CHUNK
from fanfold.store.items.large.drafts import STALE_SECONDS
from tests.engine.live import Live
from tests.installation import HandClock, Installation, number_of
from tests.rows import rows_counted

NOW = "(SELECT created_at FROM tasks WHERE number = 1)"


class PulledPlug(Exception):
    """The process died here."""


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow few items per transaction, so that ten are many."""
    monkeypatch.setattr(advance, "COPY_CHUNK", 4)
    monkeypatch.setattr(copying, "COPY_CHUNK", 4)


class Paid:
    """Counts what the second stage was called for."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pipeline(self) -> ff.Pipeline:
        """Two stages of many items and a merge."""
        made = ff.Pipeline("paid")

        @made.each(tolerate=0.5)
        def first(item: Any) -> Any:
            if item.input == "bad":
                raise ff.Permanent("bad")
            return f"{item.options.get('say', 'a')}{item.input}"

        @made.each
        def second(item: Any) -> Any:
            self.calls.append(item.input)
            return item.input.upper()

        @made.merge
        def bind(task: Any, results: Any) -> Any:
            return [result.output for result in results]

        return made


def begun(installation: Installation, paid: Paid, count: int) -> ff.Task:
    """A task whose first stage is done, and which nobody has advanced."""
    task = installation.client.submit(installation.know(paid.pipeline()), items=range(count))
    with installation.store.write() as tx:
        tx.connection.exec_driver_sql("UPDATE items SET state = 'running', worker = 'w', lease = 1, attempts = 1")
        tx.connection.exec_driver_sql(f"UPDATE items SET state = 'done', worker = NULL, finished_at = {NOW}")
        tx.connection.exec_driver_sql("UPDATE item_data SET output = '\"a\"'")
    return task


def without_third(problem: Exception) -> ff.Pipeline:
    """Two stages of many items and a merge; the item with the input 3 comes to this end in the first."""
    made = ff.Pipeline("gaps")

    @made.each
    def first(item: Any) -> Any:
        if item.input == 3:
            raise problem
        return item.input

    @made.each
    def second(item: Any) -> Any:
        return item.input * 10

    @made.merge
    def bind(task: Any, results: Any) -> Any:
        return [result.output for result in results]

    return made


def due(installation: Installation, number: int) -> LargeCopy:
    """The copy that the task needs before it can move on."""
    with pytest.raises(LargeCopy) as found:
        advance.advance(installation.store, installation.client.pipelines, number, "somebody")
    return found.value


def test_no_transaction_of_a_large_copy_writes_more_than_a_bounded_number_of_rows(installation: Installation) -> None:
    task = begun(installation, Paid(), 20_000)
    with rows_counted(installation.store) as meter:
        installation.sweep()
    found = installation.client.get(task.id)
    assert meter.most <= 4 * COPY_CHUNK
    assert (found.total, found.open) == (20_000, 20_000)
    assert len(installation.sql("SELECT id FROM items WHERE stage = 'second'")) == 20_000
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("redo", [False, True])
@pytest.mark.parametrize("commit", range(8))
def test_a_copy_that_dies_between_chunks_shows_nothing_and_is_done_again_without_paying_twice(
    installation: Installation, clock: HandClock, commit: int, redo: bool
) -> None:
    paid = Paid()
    task = installation.client.submit(installation.know(paid.pipeline()), items=range(10))
    if redo:
        installation.work()
        paid.calls.clear()
        installation.client.retry(task.id, ["3", "9"], stage="first", options={"say": "b"})
    worker = installation.worker("dies")
    settled = [worker.call(row, claimed) for row, claimed in worker.turn().claimed]
    worker.settle(*settled[:-1])

    def die(number: int) -> None:
        if number == commit:
            raise PulledPlug

    with rows_counted(installation.store) as meter:
        meter.before_commit = die
        try:
            worker.settle(settled[-1])
        except PulledPlug:
            if commit > 1:
                assert installation.client.items(task.id, stage="second") == []
    clock.advance(STALE_SECONDS + 60)
    installation.sweep()
    expected = [f"{'B' if redo and n in (2, 8) else 'A'}{n}" for n in range(10)]
    assert installation.completed(task) == expected
    assert sorted(paid.calls) == sorted(["b2", "b8"] if redo else [f"a{n}" for n in range(10)])
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
def test_a_copy_that_somebody_makes_just_now_is_left_to_them(installation: Installation, clock: HandClock) -> None:
    task = begun(installation, Paid(), 10)
    number = number_of(installation, task)
    with installation.store.write() as tx:
        tx.drafts.begin(number, "second", "copy", "somebody")
    pipelines = installation.client.pipelines
    assert move_on(installation.store, pipelines, number, "me") is None
    assert installation.client.get(task.id).stage == "first"
    clock.advance(STALE_SECONDS + 1)
    assert move_on(installation.store, pipelines, number, "me") == "active"
    assert installation.client.get(task.id).stage == "second"


@pytest.mark.usefixtures("small_chunks")
def test_what_is_redone_while_its_stage_is_copied_is_copied_anew(installation: Installation) -> None:
    """A person retries an item between two chunks, and it is done before the copy ends."""
    paid = Paid()
    task = begun(installation, paid, 10)
    number = number_of(installation, task)
    large = due(installation, number)
    copy = copying.Copy(large, "mine", lambda: False)
    assert installation.store.transact(copy.begin)
    assert installation.store.transact(copy.some)
    installation.client.retry(task.id, ["1"], stage="first", options={"say": "c"})
    assert not installation.store.transact(copy.some)
    with installation.store.write() as tx:
        tx.drafts.let_go(number, "second", "mine")
    installation.work()
    assert installation.client.result(task.id)[0] == "C0"


@pytest.mark.usefixtures("small_chunks")
def test_a_complete_copy_is_made_again_when_the_task_was_steered_since(installation: Installation) -> None:
    task = begun(installation, Paid(), 10)
    assert copy_ahead(installation.store, due(installation, number_of(installation, task)))
    installation.client.retry(task.id, ["1"], stage="first", options={"say": "c"})
    assert installation.completed(task)[0] == "C0"


@pytest.mark.usefixtures("small_chunks")
def test_a_merge_without_what_failed_copies_in_short_transactions_too(installation: Installation) -> None:
    task = installation.client.submit(installation.know(without_third(ff.Permanent("bad"))), items=range(10))
    installation.work()
    assert installation.client.get(task.id).state == "partial"
    installation.client.merge(task.id)
    assert installation.completed(task) == [n * 10 for n in range(10) if n != 3]
    assert installation.client.get(task.id).missing == 1
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
def test_a_stopped_copy_is_taken_over_at_once(installation: Installation) -> None:
    task = begun(installation, Paid(), 10)
    number = number_of(installation, task)
    answers = iter([False, True])
    large = due(installation, number)
    assert not copy_ahead(installation.store, large, lambda: next(answers, True))
    assert installation.client.items(task.id, stage="second") == []
    assert move_on(installation.store, installation.client.pipelines, number, "me") == "active"


@pytest.mark.usefixtures("small_chunks")
def test_a_large_copy_does_not_hold_up_its_own_worker(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    large, small = Paid().pipeline(), ff.Pipeline("small")
    small.each(name="only")(lambda item: item.input)
    plain, at_work, go_on = copy_ahead, threading.Event(), threading.Event()

    def waits(*arguments: Any) -> bool:
        at_work.set()
        assert go_on.wait(60)
        return plain(*arguments)

    monkeypatch.setattr(copying, "copy_ahead", waits)
    live.know(large, small)
    with live.working(large, small):
        first = live.client.submit(large, items=range(10))
        assert at_work.wait(60)
        live.until(live.client.submit(small, items=[1]), "completed")
        assert live.client.get(first.id).stage == "first"
        go_on.set()
        live.until(first, "completed")
    assert live.client.result(first.id) == [f"A{n}" for n in range(10)]


@pytest.mark.usefixtures("small_chunks")
def test_a_copy_that_begins_after_the_task_moved_on_does_not_hide_its_items(installation: Installation) -> None:
    """Two workers see that a copy is due; the other has copied, and the task has advanced, before the slow one begins."""
    paid = Paid()
    task = begun(installation, paid, 10)
    number, pipelines = number_of(installation, task), installation.client.pipelines
    slow = due(installation, number)
    assert move_on(installation.store, pipelines, number, "quick") == "active"
    assert copy_ahead(installation.store, slow)
    assert move_on(installation.store, pipelines, number, "slow") is None
    assert installation.client.get(task.id).stage == "second"
    assert len(installation.client.items(task.id, stage="second")) == 10
    assert installation.completed(task) == ["A"] * 10
    assert len(paid.calls) == 10


@pytest.mark.usefixtures("small_chunks")
def test_a_merge_without_held_items_copies_many_into_the_next_stage(installation: Installation) -> None:
    task = installation.client.submit(installation.know(without_third(ff.HoldItem("was it paid?"))), items=range(10))
    installation.work()
    installation.client.merge(task.id)
    assert installation.completed(task) == [n * 10 for n in range(10) if n != 3]
