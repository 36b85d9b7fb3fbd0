"""A worker claims items ahead of its slots if their handlers are fast. Until they begin, nothing is counted against them."""

import asyncio
import threading
import time
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt import attempts as attempts_room
from fanfold.engine.worker.attempt import waiting_items
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.ahead import MOST_AHEAD, HandlerTimes, may_claim_ahead, room_ahead
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed, Item
from fanfold.model.task import Task
from tests.engine.live import Live
from tests.engine.pipelines import batch, one_step
from tests.installation import HandClock, HandWorker, Installation
from tests.waiting import eventually

PAIR = ("batch", "convert")


@pytest.fixture
def task(installation: Installation) -> Task:
    return installation.client.submit(installation.know(batch(timeout=None)), items=["a", "b", "c", "d"])


def claim(worker: HandWorker, slots: int, ahead: int) -> list[Claimed]:
    """Claim as a worker does that has free slots and may claim ahead."""
    room = Room(slots, ahead={PAIR: ahead})
    turn = take_turn(
        worker.store, worker.claimer, worker.pipelines, worker.name, [], room, in_flight=set(), hinted=True
    )
    return [one for _, one in turn.claimed]


def items(installation: Installation, task: Task) -> list[Item]:
    return list(installation.client.items(task.id))


def counters(installation: Installation, task: Task) -> list[tuple[str, int, int]]:
    return [(one.state.value, one.attempts, one.crashes) for one in items(installation, task)]


def test_what_never_began_is_no_crash_and_what_is_lost_again_is_one(
    installation: Installation, clock: HandClock, task: Task
) -> None:
    claimed = claim(installation.worker(), slots=1, ahead=2)
    assert [one.ahead for one in claimed] == [False, True, True]
    assert [one.started_at is None for one in items(installation, task)] == [False, True, True, True]
    clock.advance(20)
    installation.sweep()
    assert counters(installation, task) == [
        ("pending", 1, 1),
        ("pending", 1, 0),
        ("pending", 1, 0),
        ("pending", 0, 0),
    ]
    told = [event.reason or "" for event in installation.client.events(task.id) if event.verb == "reclaim"]
    assert ["no crash is counted" in reason for reason in told] == [False, True, True]

    # What was lost once waits for a slot in the database, where the next loss counts.
    again = claim(installation.worker(), slots=2, ahead=5)
    assert [(one.key, one.ahead) for one in again] == [("1", False), ("2", False), ("4", True)]
    clock.advance(20)
    installation.sweep()
    assert [one.crashes for one in items(installation, task)] == [2, 1, 0, 0]


def test_an_item_that_kills_its_worker_is_poison_although_it_was_claimed_ahead(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch(timeout=None)), items=["a"])
    assert [one.ahead for one in claim(installation.worker(), slots=0, ahead=5)] == [True]
    for _ in range(3):
        clock.advance(20)
        installation.sweep()
        assert claim(installation.worker(), slots=0, ahead=5) == [], "it is not claimed ahead again"
        assert len(claim(installation.worker(), slots=1, ahead=5)) == 1
    clock.advance(20)
    installation.sweep()
    assert counters(installation, task) == [("failed", 4, 3)]


def test_an_item_handed_back_before_it_began_shows_no_trace(installation: Installation, task: Task) -> None:
    worker = installation.worker()
    first, second, third = claim(worker, slots=1, ahead=2)
    begun = second._replace(begun_at=time.monotonic() - 2)
    worker.settle(*(Settlement(one, Ending.RELEASE) for one in (first, begun, third)))
    found = items(installation, task)
    assert [one.attempts for one in found] == [1, 1, 0, 0]
    assert [one.started_at is None for one in found] == [False, False, True, True]
    assert [one.key for one in claim(installation.worker(), slots=0, ahead=9)] == ["3", "4"]


def test_the_start_of_an_item_is_when_its_handler_began(
    installation: Installation, clock: HandClock, task: Task
) -> None:
    worker = installation.worker()
    now, ahead, long = claim(worker, slots=1, ahead=2)
    claimed_at = clock.now
    clock.advance(5)
    with installation.store.write() as tx:
        tx.settling.note_begun([{"id": long.id, "lease": long.lease, "began": 1.5}])
        tx.settling.note_begun([{"id": now.id, "lease": now.lease, "began": 1.5}])
        tx.settling.note_begun([{"id": ahead.id, "lease": ahead.lease + 1, "began": 1.5}])
    assert [one.started_at is None for one in items(installation, task)] == [False, True, False, True]
    worker.finish(now, ahead._replace(begun_at=time.monotonic() - 2), long._replace(begun_at=time.monotonic() - 3))
    waited = [(one.started_at - claimed_at).total_seconds() for one in items(installation, task) if one.started_at]
    assert waited[0] == 0
    assert waited[1:] == pytest.approx([3.0, 3.5], abs=0.9)


def test_work_that_is_noted_as_begun_counts_as_a_crash(
    installation: Installation, clock: HandClock, task: Task
) -> None:
    worker = installation.worker()
    [one, _] = claim(worker, slots=0, ahead=2)
    row = {"id": one.id, "lease": one.lease, "began": 1.0}
    turn = take_turn(
        worker.store, worker.claimer, worker.pipelines, worker.name, [], Room(0), in_flight=set(), hinted=False,
        begun=[row],
    )  # fmt: skip
    assert not turn.claimed
    clock.advance(20)
    installation.sweep()
    assert [one.crashes for one in items(installation, task)] == [1, 0, 0, 0]


def test_the_sweep_hands_back_what_waits_for_a_paused_task(
    installation: Installation, clock: HandClock, task: Task
) -> None:
    worker = installation.worker()
    claim(worker, slots=0, ahead=2)
    clock.advance(10)
    installation.client.pause(task.id)
    installation.sweep()
    assert installation.states(task) == "running running pending pending", "its worker may do it itself"
    clock.advance(10)
    worker.store.transact(lambda tx: tx.workers.register(worker.name, "elsewhere", 1, [], 1))
    installation.sweep()
    assert counters(installation, task)[:2] == [("pending", 1, 0), ("pending", 1, 0)]


def running_in(live: Live) -> int:
    """How many items the database shows as running."""
    [(count,)] = live.sql("SELECT count(*) FROM items WHERE state = 'running'")
    return int(count)


def made(**rules: Any) -> tuple[ff.Pipeline, Any]:
    pipeline = ff.Pipeline("p")

    @pipeline.each(name="s", **rules)
    async def work(item: Any) -> int:
        return 1

    [stage] = pipeline.all_stages()
    return pipeline, stage


def test_how_many_are_claimed_ahead_follows_the_time_that_handlers_take() -> None:
    served, times = [made()], HandlerTimes()
    assert room_ahead(served, 8, times, {}) == {}, "before the first call nothing is known"
    times.add(("p", "s"), 0.001)
    assert room_ahead(served, 8, times, {}) == {("p", "s"): 400}
    assert room_ahead(served, 8, times, {("p", "s"): 100}) == {("p", "s"): 300}
    assert room_ahead([made(concurrency=2)], 8, times, {}) == {("p", "s"): 100}
    times.add(("p", "s"), 2.0)
    assert room_ahead(served, 8, times, {}) == {}, "one slow call counts at once"
    for _ in range(500):
        times.add(("p", "s"), 1e-9)
    assert room_ahead(served, 8, times, {}) == {("p", "s"): MOST_AHEAD}


def test_nothing_is_claimed_ahead_that_holds_a_permit_or_a_process() -> None:
    assert may_claim_ahead(made()[1], "")
    assert not may_claim_ahead(made(limit=100)[1], "")
    pipeline = ff.Pipeline("p")
    pipeline.merge(name="m")(lambda task, results: 1)
    assert not any(may_claim_ahead(stage, "") for stage in pipeline.all_stages())


@pytest.fixture
def always_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers count as fast, however long they take on a busy machine."""
    monkeypatch.setattr(HandlerTimes, "of", lambda _times, _pair: 0.001)
    monkeypatch.setattr(waiting_items, "LONGEST_WAIT_SECONDS", 60.0)


class Crowd:
    """Counts how many handlers run at the same time."""

    def __init__(self, hold: bool = False) -> None:
        self.lock, self.now, self.most, self.begun = threading.Lock(), 0, 0, 0
        self.free = threading.Event()
        if not hold:
            self.free.set()

    def __enter__(self) -> None:
        with self.lock:
            self.now, self.begun = self.now + 1, self.begun + 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.now -= 1


def crowded(crowd: Crowd, *, in_loop: bool, **rules: Any) -> ff.Pipeline:
    pipeline = ff.Pipeline("crowded")

    async def looped(item: Any) -> Any:
        with crowd:
            await asyncio.sleep(0)
            while not crowd.free.is_set():
                await asyncio.sleep(0.01)
            return item.input

    def threaded(item: Any) -> Any:
        with crowd:
            while not crowd.free.wait(0.01):
                item.check()
            return item.input

    pipeline.each(name="work", timeout=None, **rules)(looped if in_loop else threaded)

    @pipeline.merge
    def total(task: Any, results: Any) -> int:
        return sum(result.output for result in results)

    return pipeline


@pytest.mark.usefixtures("always_ahead")
@pytest.mark.parametrize("in_loop", [True, False])
@pytest.mark.parametrize("at_once", [None, 2])
def test_slots_and_concurrency_hold_for_what_was_claimed_ahead(live: Live, in_loop: bool, at_once: int | None) -> None:
    crowd = Crowd()
    rules = {} if at_once is None else {"concurrency": at_once}
    pipeline = live.know(crowded(crowd, in_loop=in_loop, **rules))
    task = live.client.submit(pipeline, items=range(300))
    with live.working(concurrency=4):
        live.until(task, "completed")
    assert live.client.result(task.id) == sum(range(300))
    assert crowd.begun == 300
    assert crowd.most <= (at_once or 4)


@pytest.mark.usefixtures("always_ahead")
@pytest.mark.parametrize("how", ["pause", "cancel", "stop"])
def test_waiting_items_are_handed_back_untouched(live: Live, how: str) -> None:
    crowd = Crowd(hold=True)
    pipeline = live.know(crowded(crowd, in_loop=True))
    task = live.client.submit(pipeline, items=range(50))
    with live.working(concurrency=2) as worker:
        eventually(lambda: running_in(live) > 2, 100)
        if how == "stop":
            worker.stop()
        else:
            getattr(live.client, how)(task.id)
        eventually(lambda: [one.attempts for one in live.client.items(task.id, limit=50)].count(0) == 48, 100)
    assert crowd.begun == 2
    assert {one.state.value for one in live.client.items(task.id, limit=50)} == {"pending"}
    assert not [event for event in live.client.events(task.id) if event.verb in ("reclaim", "fail")]
    if how != "cancel":
        crowd.free.set()
        if how == "pause":
            live.client.resume(task.id)
        with live.working(concurrency=2):
            live.until(task, "completed")
        assert crowd.begun == 52


def test_items_that_wait_too_long_go_to_another_worker(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first calls are fast, then they are not: what was claimed ahead is handed back, and not claimed ahead again."""
    crowd, pipeline, slow = Crowd(), ff.Pipeline("turns"), threading.Event()
    monkeypatch.setattr(attempts_room, "NOTE_SECONDS", 0.2)

    @pipeline.each(name="work", timeout=None)
    async def work(item: Any) -> Any:
        with crowd:
            while item.input >= 40 and not slow.is_set():
                await asyncio.sleep(0.01)
            return item.input

    live.know(pipeline)
    task = live.client.submit(pipeline, items=range(200))
    with live.working(concurrency=2):
        eventually(lambda: live.client.get(task.id).done >= 40 and running_in(live) == 2)
        unknown = "SELECT count(*) FROM items WHERE state = 'running' AND started_at IS NULL"
        eventually(lambda: live.sql(unknown) == [(0,)])
        assert sum(one.attempts for one in live.client.items(task.id, limit=200)) == 42
        slow.set()
        live.until(task, "completed")
    assert crowd.begun == 200


@pytest.mark.usefixtures("always_ahead")
def test_stages_that_are_not_claimed_ahead_find_a_slot_beside_those_that_are(live: Live) -> None:
    """Each slot that becomes free has a waiting item, so without an offer the step would run after all of them."""
    slow = ff.Pipeline("slow")

    @slow.each(name="work", timeout=None)
    async def work(item: Any) -> None:
        await asyncio.sleep(0.02)

    live.know(slow)
    beside = live.know(one_step(lambda task: "done", name="beside"))
    crowd = live.client.submit(slow, items=range(3_000))
    with live.working(concurrency=1):
        eventually(lambda: live.client.get(crowd.id).done > 5)
        live.until(live.client.submit(beside), "completed")
        assert live.client.get(crowd.id).state == "active"
        live.client.cancel(crowd.id)


def test_items_that_cost_something_are_not_claimed_ahead() -> None:
    times = HandlerTimes()
    times.add(("p", "s"), 0.001)
    times.add(("p", "s"), 0.001, is_paid=True)
    times.add(("p", "s"), 0.001)
    assert room_ahead([made()], 8, times, {}) == {}
