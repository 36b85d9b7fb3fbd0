"""Streamed output is read in order while it is made, and only from the current attempt."""

import threading
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.queries.web_queries import WebQueries
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch, one_step
from tests.installation import Installation


def pieces(installation: Installation, task: ff.Task) -> list[tuple[str, Any]]:
    return list(installation.client.stream(task.id, follow=False))


def test_pieces_come_in_the_order_of_items_and_of_each_item(installation: Installation) -> None:
    def handler(item: Any) -> None:
        for number in range(3):
            item.emit({"n": number, "of": item.input})

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a", "b"])
    installation.completed(task)
    assert pieces(installation, task) == [
        (key, {"n": number, "of": text}) for key, text in (("1", "a"), ("2", "b")) for number in range(3)
    ]


def test_more_pieces_than_one_page_are_read_to_the_end(installation: Installation) -> None:
    def handler(item: Any) -> None:
        for number in range(700):
            item.emit(number)

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a", "b"])
    installation.completed(task)
    assert [value for _, value in pieces(installation, task)] == [*range(700), *range(700)]
    assert len(list(installation.client.stream(task.id))) == 1_400


def test_pieces_of_a_lost_attempt_do_not_count(installation: Installation) -> None:
    def handler(item: Any) -> None:
        item.emit(f"attempt {item.attempt}")
        item.flush()
        if item.attempt == 1:
            raise ff.Temporary("again", after=0)

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    installation.completed(task)
    assert pieces(installation, task) == [("1", "attempt 2")]
    assert len(installation.sql("SELECT * FROM emissions")) == 1


def test_what_a_failed_attempt_has_emitted_is_not_shown_once_the_next_one_runs(installation: Installation) -> None:
    def handler(item: Any) -> None:
        item.emit("of the first")
        item.flush()
        raise ff.Temporary("again", after=0)

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    assert pieces(installation, task) == [("1", "of the first")]
    assert worker.claim()
    assert pieces(installation, task) == []


def test_a_stale_attempt_cannot_emit(installation: Installation) -> None:
    stale = []

    def handler(item: Any) -> None:
        item.emit("first")
        with installation.store.write() as tx:
            tx.settling.release([{"id": item._claimed.id, "lease": item._claimed.lease}])
        item._streamed.written_at = 0
        item.emit("second")
        stale.append("got here")

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    worker = installation.worker()
    [(row, one)] = worker.turn().claimed
    ending = worker.call(row, one)
    assert ending.error_code == "lease_lost"
    assert stale == []
    assert pieces(installation, task) == [("1", "first")]


@pytest.mark.parametrize("value", [float("nan"), object(), "\ud800", "x" * 1_100_000])
def test_a_piece_that_cannot_be_kept_fails_its_item(installation: Installation, value: Any) -> None:
    task = installation.client.submit(installation.know(batch(handler=lambda item: item.emit(value))), items=["a"])
    installation.work()
    assert (installation.client.items(task.id)[0].error_message or "").startswith("A streamed piece")


@pytest.mark.parametrize("stop", ["pause", "cancel", "fail"])
def test_following_a_stopped_task_ends_though_an_earlier_item_is_open(installation: Installation, stop: str) -> None:
    def handler(item: Any) -> None:
        item.emit(f"of {item.key}")

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a", "b"])
    worker = installation.worker()
    first, second = sorted(worker.turn().claimed, key=lambda pair: pair[1].seq)
    worker.settle(worker.call(*second))
    emitted = WebQueries(installation.client.lookup).emitted(task.id)
    assert (emitted.next(), emitted.over) == ([], False)
    if stop == "fail":
        installation.sql("UPDATE tasks SET state = 'failed', finished_at = created_at")
    else:
        getattr(installation.client, stop)(task.id)
    assert (emitted.next(), emitted.over) == ([("2", "of 2")], False)
    assert (emitted.next(), emitted.over) == ([], True)
    assert first[1].seq == 1


def test_a_reader_follows_while_it_runs(live: Live) -> None:
    switch = Switch()

    def handler(task: Any) -> str:
        task.emit("one")
        task.flush()
        switch.wait()
        task.emit("two")
        return "done"

    task = live.client.submit(live.know(one_step(handler)))
    seen: list[Any] = []
    first = threading.Event()

    def read() -> None:
        for _, value in live.client.stream(task.id, poll=0.01):
            seen.append(value)
            first.set()

    reader = threading.Thread(target=read)
    reader.start()
    with live.working():
        switch.check()
        assert first.wait(60)
        assert seen == ["one"]
        switch.free.set()
        reader.join(60)
    assert seen == ["one", "two"]


def test_who_follows_is_told_that_an_item_began_again(installation: Installation) -> None:
    """Pieces of two attempts are never read as one text."""

    def handler(item: Any) -> None:
        for number in range(3 if item.attempt == 1 else 5):
            item.emit(f"{item.attempt}.{number}")
        item.flush()
        if item.attempt == 1:
            raise ff.Temporary("again", after=0)

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    worker = installation.worker()
    emitted = WebQueries(installation.client.lookup).emitted(task.id)
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    assert emitted.next() == [("1", "1.0"), ("1", "1.1"), ("1", "1.2")]
    installation.work()
    assert emitted.next() == [("1", ff.BEGAN_AGAIN), *(("1", f"2.{number}") for number in range(5))]
    assert emitted.next() == []
    assert emitted.over


def test_an_attempt_that_emits_nothing_takes_back_what_the_one_before_it_said(installation: Installation) -> None:
    def handler(item: Any) -> None:
        if item.attempt == 1:
            item.emit("half")
            item.flush()
            raise ff.Temporary("again", after=0)

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    worker = installation.worker()
    emitted = WebQueries(installation.client.lookup).emitted(task.id)
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    assert emitted.next() == [("1", "half")]
    installation.work()
    assert emitted.next() == [("1", ff.BEGAN_AGAIN)]
    assert emitted.over
