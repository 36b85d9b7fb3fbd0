"""A real worker runs what it should, and ends when it should."""

import asyncio
import gc
import threading
import time
from functools import partial
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.errors import DatabaseProblem
from fanfold.model.endings import Ending
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch, book, one_step
from tests.waiting import eventually


def test_plain_and_async_handlers_run_side_by_side(live: Live) -> None:
    pipeline = ff.Pipeline("mixed")
    threads = set()

    @pipeline.split
    async def cut(_task: Any) -> Any:
        return [ff.NewItem(str(number), number) for number in range(20)]

    @pipeline.each
    async def double(item: Any) -> Any:
        threads.add(threading.current_thread().name)
        await asyncio.sleep(0)
        return item.input * 2

    @pipeline.each
    def add(item: Any) -> Any:
        threads.add(threading.current_thread().name)
        return item.input + 1

    @pipeline.merge
    async def total(_task: Any, results: Any) -> int:
        return sum(result.output for result in results)

    task = live.client.submit(live.know(pipeline))
    with live.working():
        live.until(task, "completed")
    assert live.client.result(task.id) == sum(number * 2 + 1 for number in range(20))
    assert len(threads) > 1


def test_an_async_generator_may_split(live: Live) -> None:
    pipeline = ff.Pipeline("streaming")

    @pipeline.split
    async def cut(_task: Any) -> Any:
        for number in range(3):
            await asyncio.sleep(0)
            yield ff.NewItem(input=number)

    pipeline.each(name="same")(lambda item: item.input)
    task = live.client.submit(live.know(pipeline))
    with live.working():
        live.until(task, "completed")
    assert live.client.result(task.id) == [0, 1, 2]


def test_a_large_worker_fills_its_places_in_halves_and_fills_all_of_them(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No item ends before all run, so an empty slot would make the test time out."""
    places, sizes = 300, []
    running, full = [0], asyncio.Event()
    pipeline = ff.Pipeline("wide")

    @pipeline.each
    async def stay(_item: Any) -> None:
        running[0] += 1
        if running[0] == places:
            full.set()
        await full.wait()

    claim = Claimer.claim

    def counted(*arguments: Any, **named: Any) -> Any:
        found = claim(*arguments, **named)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(Claimer, "claim", counted)
    task = live.client.submit(live.know(pipeline), items=range(places))
    with live.working(concurrency=places):
        live.until(task, "completed")
    assert running[0] == places
    assert sizes[:2] == [places / 2, places / 2]


def test_no_more_runs_at_once_than_allowed(live: Live) -> None:
    running, most = [0], [0]
    lock = threading.Lock()

    def handler(item: Any) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        eventually(lambda: most[0] == 3 or item.seq > 3)
        with lock:
            running[0] -= 1

    task = live.client.submit(live.know(batch(handler=handler)), items=range(12))
    with live.working(concurrency=3):
        live.until(task, "completed")
    assert most == [3]


@pytest.mark.parametrize("colour", ["def", "async"])
def test_a_handler_that_never_returns_is_timed_out_and_the_others_go_on(live: Live, colour: str) -> None:
    switch = Switch()

    def hang(item: Any) -> str:
        if item.input == "hang":
            switch.wait()
        return "done"

    async def hang_in_loop(item: Any) -> str:
        if item.input == "hang":
            await asyncio.sleep(3_600)
        return "done"

    handler = hang if colour == "def" else hang_in_loop
    task = live.client.submit(live.know(batch(handler=handler, timeout=2)), items=["hang", "fine"])
    with live.working():
        live.until(task, "partial")
        item = live.client.items(task.id)[0]
        assert (item.error_code, item.error_message) == ("timeout", "It took longer than its time limit of 2 s.")
        switch.free.set()
        if colour == "def":
            assert switch.left.wait(60)
        again = live.client.submit(live.pipelines[0], items=["fine"])
        live.until(again, "completed")
    assert live.states(task) == "failed done", "what came too late is discarded"


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_an_async_handler_is_stopped(live: Live, command: str) -> None:
    switch = Switch()
    stopped = threading.Event()

    async def handler(_item: Any) -> None:
        switch.entered.set()
        try:
            await asyncio.sleep(3_600)
        finally:
            stopped.set()

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working():
        switch.check()
        getattr(live.client, command)(task.id)
        live.item_is(task, "pending")
        assert stopped.is_set(), "its place is not free before it has ended"
    [item] = live.client.items(task.id)
    assert (item.attempts, item.failures, item.crashes) == (1, 0, 0)


def test_a_plain_handler_is_told_and_its_result_is_fenced(live: Live) -> None:
    switch = Switch()
    told = threading.Event()

    def handler(item: Any) -> str:
        switch.entered.set()
        eventually(lambda: item.cancelled)
        told.set()
        switch.free.wait(60)
        return "too late"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working():
        switch.check()
        live.client.cancel(task.id)
        live.item_is(task, "pending")
        assert told.wait(60)
        switch.free.set()
    assert live.client.get(task.id).state == "cancelled"
    assert live.states(task) == "pending"
    assert live.sql("SELECT output FROM item_data WHERE output IS NOT NULL") == []


def test_a_plain_handler_may_ask_whether_it_should_go_on(live: Live) -> None:
    switch = Switch()

    def handler(item: Any) -> None:
        switch.entered.set()
        while True:
            item.check()
            time.sleep(0.001)

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working() as worker:
        switch.check()
        live.client.pause(task.id)
        live.item_is(task, "pending")
    assert live.client.items(task.id)[0].failures == 0
    assert worker.endings[Ending.FAIL] == worker.endings[Ending.BACK_OFF] == 0


def test_a_paused_task_gives_back_what_runs_and_goes_on_when_resumed(live: Live) -> None:
    switch = Switch()

    async def handler(item: Any) -> str:
        if item.attempt == 1 and item.seq == 1:
            switch.entered.set()
            await asyncio.sleep(3_600)
        return f"attempt {item.attempt}"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working():
        switch.check()
        live.client.pause(task.id)
        live.item_is(task, "pending")
        live.client.resume(task.id)
        live.until(task, "completed")
    assert live.client.result(task.id) == ["attempt 2"]


def test_a_stop_lets_what_runs_come_to_its_end(live: Live) -> None:
    switch = Switch()

    def handler(_item: Any) -> str:
        switch.wait()
        return "finished in time"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a", "b"])
    with live.working(concurrency=1) as worker:
        switch.check()
        worker.stop()
        switch.free.set()
        eventually(lambda: live.states(task).startswith("done"))
    assert live.states(task) == "done pending", "nothing new is begun"


def test_a_stop_hands_back_what_does_not_end_in_time(database_url: str, tmp_path: Any) -> None:
    live = Live(database_url, tmp_path, grace_seconds=0.2)
    switch = Switch()

    async def handler(_item: Any) -> None:
        switch.entered.set()
        await asyncio.sleep(3_600)

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working() as worker:
        switch.check()
        worker.stop()
        live.item_is(task, "pending")
    [item] = live.client.items(task.id)
    assert (item.attempts, item.failures, item.crashes) == (1, 0, 0)
    assert live.client.workers() == [], "it has left in peace"
    live.store.close()


def test_a_second_stop_does_not_wait(database_url: str, tmp_path: Any) -> None:
    live = Live(database_url, tmp_path, grace_seconds=600.0)
    switch = Switch()

    def handler(_item: Any) -> None:
        switch.wait()

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working() as worker:
        switch.check()
        worker.stop()
        worker.stop()
        live.item_is(task, "pending")
        assert not switch.left.is_set()
    switch.free.set()
    live.store.close()


def test_a_worker_drains_what_there_is_and_ends(live: Live) -> None:
    tasks = [live.client.submit(live.know(book()), options={"texts": ["a", "b"]}) for _ in range(2)]
    ff.Worker(live.pipelines[:1], store=live.store).run(drain=True)
    assert [live.client.get(task.id).state for task in tasks] == ["completed", "completed"]


def test_a_worker_ends_when_it_is_told_what_it_works_for(live: Live) -> None:
    task = live.client.submit(live.know(batch()), items=["a"])
    ff.Worker(live.pipelines, store=live.store).run(until=lambda: live.client.get(task.id).finished)
    assert live.client.get(task.id).state == "completed"


def test_progress_and_message_are_seen_while_it_runs(live: Live) -> None:
    switch = Switch()

    def handler(task: Any) -> str:
        task.progress(0.25, "a quarter")
        switch.wait()
        return "done"

    task = live.client.submit(live.know(one_step(handler)))
    with live.working():
        switch.check()
        now = live.client.get(task.id)
        assert (now.progress, now.message, now.status) == (25.0, "a quarter", "only")
        switch.free.set()
        live.until(task, "completed")


def test_a_message_with_odd_characters_does_not_fail_the_item(live: Live) -> None:
    def handler(task: Any) -> str:
        task.progress(0.5, "a\0b \ud800")
        return "done"

    task = live.client.submit(live.know(one_step(handler)))
    with live.working():
        live.until(task, "completed")


def test_two_workers_share_a_task(live: Live) -> None:
    task = live.client.submit(live.know(batch(handler=lambda item: item.input)), items=range(200))
    with live.working(concurrency=4), live.working(concurrency=4):
        live.until(task, "completed")
    assert live.client.result(task.id) == list(range(200))
    assert {row.lease for row in live.sql("SELECT lease FROM items")} == {1}


def test_many_waiting_items_hold_no_worker(live: Live) -> None:
    waiting = live.client.submit(live.know(batch("jobs", handler=lambda item: ff.later(3_600))), items=range(50))
    with live.working(concurrency=2):
        eventually(lambda: set(live.states(waiting).split()) == {"waiting"})
        other = live.client.submit(live.know(batch("other")), items=["a"])
        with live.working(live.pipelines[-1]):
            live.until(other, "completed")
    assert live.client.get(waiting.id).wait_reason is not None


def test_a_worker_is_listed_while_it_works(live: Live) -> None:
    with live.working(live.know(batch()), name="converter") as worker:
        [row] = eventually(live.client.workers)
        assert row.id.startswith("converter-")
        assert row.id == worker.id
        assert (row.serves, row.alive) == ((("batch", "convert"),), True)
    assert live.client.workers() == []


def test_a_worker_that_leaves_tries_again_to_write_its_last_results(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection lost at the last moment must not cost what was paid for."""
    began = threading.Event()

    async def pay(item: Any) -> None:
        item.used(cost=1.0)
        began.set()
        await asyncio.sleep(3_600)

    task = live.client.submit(live.know(batch(handler=pay)), items=["a"])
    with live.working() as worker:
        assert began.wait(60)
        real, failures = worker._database.run, [1, 1]

        async def fails_twice(function: Any) -> Any:
            if isinstance(function, partial) and failures:
                failures.pop()
                raise DatabaseProblem("The connection is lost.", code="unreachable")
            return await real(function)

        monkeypatch.setattr(worker._database, "run", fails_twice)
    assert not failures
    assert live.states(task) == "pending"
    assert live.client.get(task.id).spending.cost == 1.0


def test_a_worker_survives_a_database_that_is_lost_while_it_starts(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its registration and its first claim it looks after the place of its files, which needs the database."""
    real, failures = live.store.check_files, [1, 1]

    def fails_twice() -> None:
        if failures:
            failures.pop()
            raise DatabaseProblem("The connection is lost.", code="unreachable")
        real()

    monkeypatch.setattr(live.store, "check_files", fails_twice)
    task = live.client.submit(live.know(batch()), items=["a"])
    with live.working():
        eventually(lambda: live.client.get(task.id).state == "completed")
    assert not failures


@pytest.mark.parametrize("is_frozen", [False, True])
def test_a_worker_freezes_its_modules_while_it_runs_unless_the_program_has_frozen_its_own(
    sqlite_live: Live, is_frozen: bool
) -> None:
    pipeline = ff.Pipeline("counting")
    pipeline.each(name="count")(lambda _item: gc.get_freeze_count())
    task = sqlite_live.client.submit(sqlite_live.know(pipeline), items=[None])
    gc.unfreeze()
    try:
        if is_frozen:
            gc.freeze()
        before = gc.get_freeze_count()
        ff.Worker(sqlite_live.pipelines, store=sqlite_live.store).run(drain=True)
        after = gc.get_freeze_count()
    finally:
        gc.freeze()  # As tests/conftest.py does.
    [during] = sqlite_live.client.result(task.id)
    assert (before > 0) is is_frozen
    assert (after > 0) is is_frozen, "what the program has frozen stays, and nothing else does"
    assert during > 1_000
    assert not is_frozen or during <= before, "nothing of the program's is frozen in addition"
