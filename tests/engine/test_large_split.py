"""The many items of a split are written in short transactions, all or none, beside the worker's other work."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items import new_items as spooling
from fanfold.engine.tasks.many_items.draft import write_items
from fanfold.engine.tasks.moving import split as splitting
from fanfold.engine.tasks.recovery.abandoned import remove_abandoned
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.store.items.large.drafts import CHUNK
from tests.engine.live import Live
from tests.engine.pipelines import book
from tests.installation import HandClock, HandWorker, Installation, number_of
from tests.rows import rows_counted
from tests.waiting import eventually

MOST_ROWS = 2 * CHUNK + 50


class PulledPlug(Exception):
    """The process died here."""


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow few items per transaction, so that ten are many."""
    monkeypatch.setattr(spooling, "CHUNK", 4)


def texts(count: int) -> dict[str, Any]:
    """Options for a book with this many pages."""
    return {"texts": [f"page {n}" for n in range(count)]}


def split(installation: Installation, worker: HandWorker) -> Settlement:
    """Claim the split and call its handler."""
    [(row, claimed)] = worker.turn().claimed
    return worker.call(row, claimed)


def outputs(count: int) -> dict[str, Any]:
    """The result of such a book."""
    return {"pages": [f"PAGE {n}" for n in range(count)], "missing": []}


def test_no_transaction_of_a_large_split_writes_more_than_a_bounded_number_of_rows(installation: Installation) -> None:
    pipeline = ff.Pipeline("many")

    @pipeline.split
    def cut(task: Any) -> Any:
        return ({"number": n} for n in range(20_000))

    pipeline.each(name="convert")(lambda item: None)
    installation.know(pipeline)
    task = installation.client.submit(pipeline)
    worker = installation.worker()
    settlement = split(installation, worker)
    with rows_counted(installation.store) as meter:
        worker.settle(settlement)
    assert meter.most <= MOST_ROWS
    assert installation.client.get(task.id).total == 20_000
    assert installation.rows()["drafts"] == []
    # Removed by another split, in equally small steps.
    installation.client.pause(task.id)
    installation.client.retry(task.id, ["1"], stage="cut")
    installation.client.resume(task.id)
    settlement = split(installation, installation.worker())
    with rows_counted(installation.store) as meter:
        installation.worker().settle(settlement)
    assert meter.most <= MOST_ROWS
    assert installation.client.get(task.id).total == 20_000
    assert len(installation.sql("SELECT id FROM items")) == 20_001


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("redo", [False, True])
@pytest.mark.parametrize("commit", range(12))
def test_a_split_that_dies_between_chunks_shows_nothing_and_the_next_gives_each_item_once(
    installation: Installation, clock: HandClock, commit: int, redo: bool
) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options=texts(10))
    if redo:
        installation.work()
        installation.client.retry(task.id, ["1"], stage="cut")
    worker = installation.worker("dies")
    settlement = split(installation, worker)

    def die(number: int) -> None:
        if number == commit:
            raise PulledPlug

    with rows_counted(installation.store) as meter:
        meter.before_commit = die
        try:
            worker.settle(settlement)
        except PulledPlug:
            died = True
        else:
            died = False
    if died and commit > 0:
        assert installation.client.items(task.id, stage="convert") == []
        assert installation.client.get(task.id).total == 1
    clock.advance(60)
    installation.sweep()
    assert installation.completed(task) == outputs(10)
    assert len(installation.client.items(task.id, stage="convert", limit=100)) == 10
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
def test_a_splitter_that_lost_its_lease_stops_at_its_next_chunk(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(shrinking(10, 5))
    task = installation.client.submit(pipeline)
    zombie = installation.worker("zombie")
    settlement = split(installation, zombie)
    plain = write_items
    calls: list[bool] = []

    def overtaken(*arguments: Any, **named: Any) -> bool:
        """After its first chunk the zombie sleeps, and another worker does everything."""
        if not calls:
            calls.append(True)
            chunks = settlement.new_items.chunks()  # type: ignore[union-attr]
            first = next(chunks)
            with installation.store.write() as tx:
                tx.items.add_some(arguments[1], arguments[2], *first)
            clock.advance(60)
            installation.sweep()
            assert installation.completed(task) == ["2.0", "2.1", "2.2", "2.3", "2.4"]
        return plain(*arguments, **named)

    monkeypatch.setattr(splitting, "write_items", overtaken)
    zombie.settle(settlement)
    assert installation.client.result(task.id) == ["2.0", "2.1", "2.2", "2.3", "2.4"]
    assert len(installation.sql("SELECT id FROM items")) == 7


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("counts", [(10, 6), (6, 10), (10, 2), (2, 10), (3, 2)])
def test_a_new_split_replaces_all_that_an_earlier_one_gave(installation: Installation, counts: tuple[int, int]) -> None:
    task = installation.client.submit(installation.know(shrinking(*counts)))
    assert installation.completed(task) == [f"1.{n}" for n in range(counts[0])]
    installation.client.retry(task.id, ["1"], stage="cut")
    assert installation.completed(task) == [f"2.{n}" for n in range(counts[1])]
    assert len(installation.sql("SELECT id FROM items")) == counts[1] + 2
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
def test_two_items_with_one_key_in_different_chunks_fail_the_split_and_nothing_is_seen(
    installation: Installation, clock: HandClock
) -> None:
    pipeline = ff.Pipeline("twice")

    @pipeline.split
    def cut(task: Any) -> Any:
        return [ff.NewItem(f"k{n % 8}", n) for n in range(10)]

    pipeline.each(name="convert")(lambda item: None)
    installation.know(pipeline)
    task = installation.client.submit(pipeline)
    installation.work()
    found = installation.client.get(task.id)
    assert (found.state, found.error_message) == (
        "failed",
        "cut failed: cut yields two items with the key 'k0'; keys must be unique, even when converted to text.",
    )
    assert installation.client.items(task.id, stage="convert") == []
    clock.advance(60)
    installation.sweep()
    assert len(installation.sql("SELECT id FROM items")) == 1
    assert installation.rows()["drafts"] == []


@pytest.mark.usefixtures("small_chunks")
def test_the_sweep_leaves_a_split_alone_whose_lease_is_held(
    installation: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options=texts(10))
    worker = installation.worker("slow")
    settlement = split(installation, worker)
    plain = write_items

    def slowly(*arguments: Any, **named: Any) -> bool:
        written = plain(*arguments, **named)
        clock.advance(3600)
        remove_abandoned(installation.store, "sweep")
        return written

    monkeypatch.setattr(splitting, "write_items", slowly)
    worker.settle(settlement)
    assert installation.client.get(task.id).total == 10


def test_a_draft_of_a_stage_that_an_older_worker_has_entered_is_only_dropped(
    installation: Installation, clock: HandClock
) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options=texts(3))
    worker = installation.worker()
    worker.settle(split(installation, worker))
    with installation.store.write() as tx:
        tx.drafts.begin(number_of(installation, task), "convert", "new", "somebody")
    clock.advance(60)
    installation.sweep()
    assert installation.completed(task) == outputs(3)


def shrinking(*counts: int) -> ff.Pipeline:
    """A split that gives another number of items each time."""
    made = ff.Pipeline("shrinking")
    calls: list[int] = []

    @made.split
    def cut(task: Any) -> Any:
        calls.append(counts[len(calls)])
        return [f"{len(calls)}.{n}" for n in range(calls[-1])]

    made.each(name="convert")(lambda item: item.input)

    @made.merge
    def bind(task: Any, results: Any) -> Any:
        return [result.output for result in results]

    return made


def slow_book(name: str, count: int, stopping: Callable[[], None] = lambda: None) -> ff.Pipeline:
    """A split of many items, and handlers that do next to nothing."""
    made = ff.Pipeline(name)

    @made.split
    def cut(task: Any) -> Any:
        return range(count)

    @made.each
    async def convert(item: Any) -> None:
        stopping()

    return made


def test_a_large_split_does_not_hold_up_its_own_worker(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """While its chunks are written, small tasks come and go."""
    monkeypatch.setattr(spooling, "CHUNK", 2)
    large, small = slow_book("large", 12), slow_book("small", 2)
    plain, at_work, go_on = write_items, threading.Event(), threading.Event()

    def waits(*arguments: Any, **named: Any) -> bool:
        at_work.set()
        assert go_on.wait(60)
        return plain(*arguments, **named)

    monkeypatch.setattr(splitting, "write_items", waits)
    live.know(large, small)
    with live.working(large, small):
        first = live.client.submit(large)
        assert at_work.wait(60)
        live.until(live.client.submit(small), "completed")
        assert live.client.get(first.id).state == "active"
        go_on.set()
        live.until(first, "completed")
    assert live.client.get(first.id).done == 12


def test_pause_stops_a_large_split_between_chunks_and_resume_does_it_again(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooling, "CHUNK", 2)
    large = slow_book("large", 12)
    at_work, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def waits(*arguments: Any, **named: Any) -> bool:
        at_work.set()
        assert go_on.wait(60)
        try:
            return write_items(*arguments, **named)
        finally:
            ended.set()

    monkeypatch.setattr(splitting, "write_items", waits)
    live.know(large)
    with live.working(large):
        task = live.client.submit(large)
        assert at_work.wait(60)
        live.client.pause(task.id)
        eventually(lambda: live.states(task, "cut") == "pending", 60)
        go_on.set()
        assert ended.wait(60)
        assert live.client.items(task.id, stage="convert") == []
        assert live.sql("SELECT id FROM items WHERE stage = 'convert'") == []
        live.client.resume(task.id)
        live.until(task, "completed")
    assert live.client.get(task.id).done == 12
