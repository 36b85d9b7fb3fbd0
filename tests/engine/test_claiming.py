"""Work is chosen by priority, then fairly, and never above a limit."""

import threading
from collections import Counter
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming import claim as claiming
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.model.endings import Ending
from tests.engine.pipelines import batch, book
from tests.installation import HandClock, HandWorker, Installation


def per_task(claimed: list[Any]) -> dict[int, int]:
    return dict(Counter(one.task for one in claimed))


def test_a_higher_priority_goes_first(installation: Installation) -> None:
    pipeline = installation.know(batch())
    for priority in (0, 5, 1):
        installation.client.submit(pipeline, items=range(3), priority=priority)
    worker = installation.worker()
    assert [worker.claim(1)[0].task for _ in range(9)] == [2, 2, 2, 3, 3, 3, 1, 1, 1]


def test_tasks_of_the_same_priority_share_the_places(installation: Installation) -> None:
    pipeline = installation.know(batch())
    for size in (100, 100, 2, 100):
        installation.client.submit(pipeline, items=range(size))
    assert per_task(installation.worker().claim(20)) == {1: 6, 2: 6, 3: 2, 4: 6}


def test_a_small_task_behind_a_huge_one_is_not_kept_waiting(installation: Installation) -> None:
    pipeline = installation.know(batch())
    installation.client.submit(pipeline, items=range(1_000))
    installation.client.submit(pipeline, items=[1])
    worker = installation.worker()
    seen = [one.task for _ in range(3) for _, one in worker.turn(free=1).claimed]
    assert 2 in seen


def test_a_newcomer_shares_with_a_huge_task_from_its_first_moment(installation: Installation) -> None:
    pipeline = installation.know(batch())
    installation.client.submit(pipeline, items=range(1_000))
    worker = installation.worker()
    worker.turn(free=100)
    installation.client.submit(pipeline, items=range(1_000))
    worker.claimer.look(hinted=True, now=True)
    shares = [per_task([one for _, one in worker.turn(free=8).claimed]) for _ in range(3)]
    assert shares == [{1: 4, 2: 4}] * 3 or shares == [{1: 3, 2: 5}, {1: 4, 2: 4}, {1: 4, 2: 4}]


def test_a_task_that_moves_on_does_not_wait_behind_a_huge_one(installation: Installation) -> None:
    def bind(task: ff.TaskWork, results: ff.Results) -> int:
        return 1

    pipeline = installation.know(batch())
    pipeline.merge(bind)
    huge = installation.client.submit(pipeline, items=range(1_000))
    small = installation.client.submit(pipeline, items=[1])
    worker = installation.worker()
    claimed = worker.turn(free=4).claimed
    assert {row.id for row, _ in claimed} == {huge.id, small.id}
    turn = worker.turn([Settlement(one, Ending.FINISH, output="1") for _, one in claimed], free=1)
    assert [(row.id, one.stage) for row, one in turn.claimed] == [(small.id, "bind")]


def test_no_more_is_claimed_than_there_is_room_for(installation: Installation) -> None:
    pipeline = installation.know(batch())
    for _ in range(5):
        installation.client.submit(pipeline, items=range(7))
    worker = installation.worker()
    assert [len(worker.claim(free)) for free in (1, 3, 16, 100)] == [1, 3, 16, 15]


def test_a_task_whose_items_are_all_in_flight_does_not_block_the_next(installation: Installation) -> None:
    pipeline = installation.know(batch())
    installation.client.submit(pipeline, items=range(3), priority=9)
    installation.client.submit(pipeline, items=range(3))
    assert len(installation.worker().claim(3)) == 3
    assert per_task(installation.worker().claim(3)) == {2: 3}


def test_a_stage_has_its_own_limit_in_each_worker(installation: Installation) -> None:
    pipeline = installation.know(batch(concurrency=2))
    installation.client.submit(pipeline, items=range(10))
    installation.client.submit(pipeline, items=range(10))
    assert len(installation.worker().claim(8)) == 2
    assert len(installation.worker().claim(8)) == 2


def test_a_limit_across_all_workers_is_never_exceeded(installation: Installation) -> None:
    pipeline = installation.know(batch(limit=3))
    for _ in range(3):
        installation.client.submit(pipeline, items=range(10))
    first, second = installation.worker(), installation.worker()
    held = first.claim(2)
    assert [len(second.claim(8)), len(first.claim(8))] == [1, 0]
    first.finish(held[0])
    assert len(second.claim(8)) == 1


def test_a_limit_holds_against_many_who_claim_at_once(installation: Installation) -> None:
    pipeline = installation.know(batch(limit=4))
    installation.client.submit(pipeline, items=range(60))
    workers = [installation.worker() for _ in range(4)]
    start = threading.Barrier(4)
    most: list[int] = []
    done: list[int] = []

    def work(worker: HandWorker) -> None:
        start.wait()
        for _ in range(8):
            held = worker.claim(3)
            [count] = installation.sql("SELECT count(*) AS running FROM items WHERE state = 'running'")
            most.append(count.running)
            done.extend(one.id for one in held)
            worker.finish(*held)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < max(most) <= 4
    assert len(done) == len(set(done)) > 4
    assert installation.sql("SELECT * FROM permits") == []


def test_a_crash_frees_the_permits_of_its_worker(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(limit=2))
    installation.client.submit(pipeline, items=range(4))
    installation.worker("doomed").claim(2)
    survivor = installation.worker()
    assert survivor.claim(2) == []
    clock.advance(60)
    with installation.store.write() as tx:
        tx.workers.leave("doomed")
    installation.sweep()
    assert len(survivor.claim(2)) == 2


def test_a_limited_merge_that_begins_again_while_it_runs_can_be_claimed_again(installation: Installation) -> None:
    pipeline = ff.Pipeline("limited")
    pipeline.each(name="convert")(lambda item: item.input)
    pipeline.merge(name="bind", limit=2)(lambda task, results: [result.output for result in results])
    installation.know(pipeline)
    task = installation.client.submit(pipeline, items=["a"])
    worker = installation.worker()
    worker.finish(worker.claim()[0], output='"A"')
    [merge] = worker.claim()
    assert merge.stage == "bind"
    installation.client.retry(task.id, ["1"])
    worker.finish(worker.claim()[0], output='"B"')
    assert installation.completed(task) == ["B"]
    worker.finish(merge, output='"stale"')
    assert installation.client.result(task.id) == ["B"]


def test_a_worker_may_serve_some_stages_only(installation: Installation) -> None:
    pipeline = installation.know(book())
    installation.client.submit(pipeline, options={"texts": ["a"]})
    known = {"book": pipeline}
    assert Claimer(installation.store, known, ["convert", "book.bind"]).served.pairs == (
        ("book", "bind"),
        ("book", "convert"),
    )
    converter = installation.worker()
    converter.claimer = Claimer(installation.store, known, ["convert"])
    assert converter.turn().claimed == []


def test_an_unknown_stage_is_refused_with_the_known_ones(installation: Installation) -> None:
    with pytest.raises(ff.BadPipeline, match=r"Unknown stage merge\. Use one of: book\.cut, book\.convert, book\.bind"):
        Claimer(installation.store, {"book": book()}, ["convert", "merge"])


def test_what_is_due_again_is_claimed_before_what_is_new(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=3, first=1, jitter=0)))
    installation.client.submit(pipeline, items=["flaky", "b", "c"])
    worker = installation.worker()
    turn = worker.turn(free=1)
    worker.settle(*(worker.call(row, one) for row, one in turn.claimed))
    clock.advance(1)
    assert [one.seq for one in worker.claim(2)] == [1, 2]


def test_what_was_handed_back_does_not_wait_for_the_end_of_a_long_task(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.client.submit(installation.know(batch()), items=range(100))
    worker = installation.worker()
    first = [one for _, one in worker.turn(free=3).claimed]
    worker.settle(Settlement(first[0], Ending.RELEASE))
    assert [one.seq for _, one in worker.turn(free=1).claimed] == [4], "the cursor spares the walk from the start"
    monkeypatch.setattr(claiming, "REWIND_SECONDS", 0.0)
    assert [one.seq for _, one in worker.turn(free=1).claimed] == [1]
