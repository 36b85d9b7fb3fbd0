"""A task with a sample processes exactly that many items, with any number of workers, and continues when it is resumed."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.sweep import sweep
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.settle_batch import settle
from fanfold.model.endings import Ending
from fanfold.model.text.sentences import Sentence
from fanfold.store.items.find_work import Ready
from tests.engine.live import Live
from tests.engine.pipelines import batch


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


class Counting:
    """A handler that counts its calls by item; some items fail at their first call."""

    def __init__(self, failing: tuple[int, ...] = ()) -> None:
        self.calls: Counter[int] = Counter()
        self.failing = failing
        self._lock = threading.Lock()

    def __call__(self, item: Any) -> int:
        with self._lock:
            self.calls[item.input] += 1
        if item.input in self.failing and self.calls[item.input] == 1:
            raise ff.Temporary("try again", after=0.01)
        return int(item.input)


def counting(handler: Counting, **rules: Any) -> ff.Pipeline:
    def process(item: Any) -> int:
        return handler(item)

    return batch("counting", handler=process, **rules)


def why_of(task: ff.Task) -> dict[str, Any]:
    """Why a task is paused, as code and parameters."""
    assert isinstance(task.wait_reason, Sentence)
    why = task.wait_reason.parameters["why"]
    return {"code": why["code"], **why["parameters"]}


def test_two_workers_process_exactly_the_sample_and_everything_after_a_resume(live: Live) -> None:
    handler = Counting(failing=(1,))
    task = live.client.submit(live.know(counting(handler, retry=ff.Retry(limit=2))), items=list(range(40)), sample=5)
    with live.working(concurrency=8), live.working(concurrency=8):
        paused = live.until(task, "paused")
        assert sorted(handler.calls) == [0, 1, 2, 3, 4]
        assert handler.calls[1] == 2, "an item of the sample that must be tried again belongs to it"
        assert why_of(paused) == {"code": "sampled", "count": 5, "total": 40}
        assert (paused.done, paused.open) == (5, 35)
        live.client.resume(task.id)
        done = live.until(task, "completed")
    assert done.done == 40
    assert len(handler.calls) == 40
    assert handler.calls.total() == 41, "no item of the sample was done again"


def test_a_task_that_is_paused_and_resumed_within_its_sample_keeps_to_it(live: Live) -> None:
    handler = Counting()
    task = live.client.submit(live.know(counting(handler)), items=list(range(10)), sample=2)
    live.client.pause(task.id)
    live.client.resume(task.id)
    with live.working(concurrency=8):
        live.until(task, "paused")
    assert sorted(handler.calls) == [0, 1]


def test_a_sample_that_is_the_whole_stage_does_not_pause(live: Live) -> None:
    handler = Counting()
    task = live.client.submit(live.know(counting(handler)), items=[1, 2, 3], sample=3)
    with live.working(concurrency=2):
        live.until(task, "completed")
    assert "pause" not in [event.verb for event in live.client.events(task.id)]


def test_each_stage_is_sampled_after_a_split(live: Live) -> None:
    p = ff.Pipeline("splitting")
    calls: Counter[str] = Counter()

    @p.split
    def parts(task: Any) -> list[int]:
        calls["split"] += 1
        return list(range(20))

    @p.each
    def first(item: Any) -> int:
        calls["first"] += 1
        return int(item.input)

    @p.merge
    def merge(task: Any, results: Any) -> int:
        return sum(result.output for result in results)

    task = live.client.submit(live.know(p), sample=4)
    with live.working(concurrency=8):
        paused = live.until(task, "paused")
        assert (calls["split"], calls["first"]) == (1, 4)
        assert why_of(paused)["total"] == 20
        live.client.resume(task.id)
        live.until(task, "completed")
    assert live.client.result(task.id) == sum(range(20))


def test_the_sweep_ends_the_sample_of_a_worker_that_died_before_it_could(live: Live) -> None:
    task = live.client.submit(live.know(counting(Counting())), items=list(range(10)), sample=2)
    number = live.client.lookup.row(task.id).number
    with live.store.write() as tx:
        ready = Ready(number, "counting", task.stage, 0)
        claimed = tx.claiming.claim(ready, "died", 10, sampled=True)
        assert [one.seq for one in claimed] == [1, 2]
        settle(tx, [Settlement(one, Ending.FINISH, output="1") for one in claimed], "died", 3)
    assert live.client.get(task.id).state == "active"
    sweep(live.store, {one.name: one for one in live.pipelines}, force=True)
    assert why_of(live.client.get(task.id))["code"] == "sampled"
    sweep(live.store, {one.name: one for one in live.pipelines}, force=True)
    assert live.client.get(task.id).done == 2


@pytest.mark.parametrize("count", [-1, True, "3", 2.0, 2**31])
def test_a_sample_that_is_no_number_is_refused(live: Live, count: Any) -> None:
    with pytest.raises(ff.BadInput, match="not a number of items for a sample"):
        live.client.submit(live.know(counting(Counting())), items=[1], sample=count)
