"""A task advances at once, exactly once, and to the right stage."""

import threading
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.moving.advance import advance
from tests.engine.pipelines import batch, book, one_step
from tests.installation import HandClock, Installation, number_of


def submit(installation: Installation, *texts: str, **rules: Any) -> ff.Task:
    pipeline = installation.know(book(**rules))
    return installation.client.submit(pipeline, options={"texts": texts})


def advances(installation: Installation, task: ff.Task) -> list[tuple[str | None, str | None]]:
    return [(event.stage, event.target) for event in installation.client.events(task.id) if event.verb == "advance"]


def test_a_task_is_split_worked_on_and_merged_in_order(installation: Installation) -> None:
    task = submit(installation, "a", "b", "c")
    assert installation.completed(task) == {"pages": ["A", "B", "C"], "missing": []}
    assert advances(installation, task) == [("convert", "active"), ("bind", "active"), ("bind", "completed")]
    done = installation.client.get(task.id)
    assert (done.progress, done.missing, done.status, done.error_code) == (100, 0, "completed", None)
    assert done.started_at is not None
    assert done.finished_at is not None


def test_the_last_item_moves_the_task_at_once(installation: Installation) -> None:
    task = submit(installation, "a", "b")
    worker = installation.worker()
    split = worker.turn().claimed
    worker.settle(*(worker.call(row, one) for row, one in split))
    first, second = worker.claim()
    worker.finish(first)
    assert installation.client.get(task.id).stage == "convert"
    worker.finish(second)
    assert installation.client.get(task.id).stage == "bind"


def test_two_workers_that_finish_the_last_items_move_the_task_once(installation: Installation) -> None:
    pipeline = installation.know(batch(), book())
    tasks = [installation.client.submit(pipeline, items=[1, 2]) for _ in range(8)]
    workers = [installation.worker(), installation.worker()]
    held = [workers[0].claim(8), workers[1].claim(8)]
    start = threading.Barrier(2)

    def finish(number: int) -> None:
        for one in held[number]:
            start.wait()
            workers[number].finish(one)

    threads = [threading.Thread(target=finish, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for task in tasks:
        assert advances(installation, task) == [("convert", "completed")]


def test_many_who_advance_the_same_task_move_it_once(installation: Installation) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options={"texts": ["a"]})
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    number = number_of(installation, task)
    for one in worker.claim():
        with installation.store.write() as tx:
            tx.settling.finish([{"id": one.id, "lease": one.lease}])
    start = threading.Barrier(5)
    moved: list[str | None] = []

    def push() -> None:
        start.wait()
        moved.append(advance(installation.store, {"book": pipeline}, number, "someone"))

    threads = [threading.Thread(target=push) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found for found in moved if found] == ["active"]
    assert len(installation.client.items(task.id, stage="bind")) == 1


@pytest.mark.parametrize("command", ["pause", "cancel", "delete"])
def test_a_command_between_the_probe_and_the_lock_is_obeyed(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a"])
    number = number_of(installation, task)
    [one] = installation.worker().claim()
    with installation.store.write() as tx:
        tx.settling.finish([{"id": one.id, "lease": one.lease}])
    write = installation.store.write

    def meanwhile() -> Any:
        monkeypatch.setattr(installation.store, "write", write)
        if command == "delete":
            installation.client.pause(task.id)
        getattr(installation.client, command)(task.id)
        return write()

    monkeypatch.setattr(installation.store, "write", meanwhile)
    assert advance(installation.store, {"batch": pipeline}, number, "someone") is None
    assert [found.state for found in installation.client.list()] == {"pause": ["paused"], "cancel": ["cancelled"]}.get(
        command, []
    )


def test_a_split_of_nothing_merges_an_empty_result(installation: Installation) -> None:
    task = submit(installation)
    assert installation.completed(task) == {"pages": [], "missing": []}


def test_some_failed_items_stop_the_task_as_partial_and_keep_the_rest(installation: Installation) -> None:
    task = submit(installation, "a", "bad", "c")
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.error_code, now.done, now.failed) == ("partial", "partial", 2, 1)
    assert now.error_message == "1 of 3 items of convert failed"
    assert now.wait_reason == "1 failed: retry it, or merge without it"
    assert [gap.key for gap in installation.client.missing(task.id)] == ["p2"]
    with pytest.raises(ff.TaskStopped, match="has no result"):
        installation.client.result(task.id)


def test_a_partial_task_can_be_merged_and_says_what_is_missing(installation: Installation) -> None:
    task = submit(installation, "a", "bad", "c")
    installation.work()
    installation.client.merge(task.id)
    assert installation.completed(task) == {"pages": ["A", "C"], "missing": ["p2"]}
    assert installation.client.get(task.id).missing == 1
    assert [(gap.key, gap.error_code) for gap in installation.client.missing(task.id)] == [("p2", "bad_page")]


def test_an_item_that_succeeds_later_is_merged_in_its_place(installation: Installation) -> None:
    task = submit(installation, "a", "bad", "c")
    installation.work()
    installation.client.merge(task.id)
    installation.work()
    installation.client.retry(task.id, options={"instead": "b"})
    assert installation.completed(task) == {"pages": ["A", "B", "C"], "missing": []}
    assert installation.client.get(task.id).missing == 0


@pytest.mark.parametrize(
    ("tolerate", "state"), [(1, "completed"), (0.34, "completed"), (0.33, "partial"), (0, "partial")]
)
def test_a_tolerated_number_or_share_of_failures_lets_the_task_go_on(
    installation: Installation, tolerate: float, state: str
) -> None:
    task = submit(installation, "a", "bad", "c", tolerate=tolerate)
    installation.work()
    now = installation.client.get(task.id)
    assert now.state == state
    if state == "completed":
        assert now.missing == 1
        assert installation.client.result(task.id) == {"pages": ["A", "C"], "missing": ["p2"]}


def test_a_task_that_ends_with_its_items_counts_what_is_missing(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch(tolerate=1)), items=["a", "bad"])
    assert installation.completed(task) == ["A"]
    assert installation.client.get(task.id).missing == 1


def test_a_task_whose_items_have_all_failed_has_failed(installation: Installation) -> None:
    task = submit(installation, "bad", "bad")
    installation.work()
    now = installation.client.get(task.id)
    assert now.state == "failed"
    assert now.error_message == "2 items of convert failed, for example: this page is bad"


def test_failing_fast_does_not_wait_for_the_others(installation: Installation) -> None:
    pipeline = installation.know(batch(fail_fast=True))
    task = installation.client.submit(pipeline, items=["a", "bad", "c", "d"])
    worker = installation.worker()
    first, second, third = worker.claim(3)
    worker.finish(first)
    worker.fail(second)
    assert installation.client.get(task.id).state == "failed"
    worker.finish(third)
    assert installation.states(task) == "done failed pending pending"


def test_a_failed_split_fails_the_task_with_its_reason(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), retry_limit=0)
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.stage) == ("failed", "cut")
    assert now.error_message == "cut failed: 'texts'"


def test_a_gate_waits_for_a_person(installation: Installation) -> None:
    pipeline = book()
    pipeline.step(name="publish", gate=True)(lambda task: task.previous["pages"])
    installation.know(pipeline)
    task = installation.client.submit(pipeline, options={"texts": ["a"]})
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.stage, now.wait_reason) == ("waiting", "publish", "waits for you before publish")
    installation.work()
    assert installation.client.get(task.id).state == "waiting"
    installation.client.resume(task.id)
    assert installation.completed(task) == ["A"]


def test_straight_through_passes_all_gates(installation: Installation) -> None:
    pipeline = book(gate=True)
    task = installation.client.submit(installation.know(pipeline), options={"texts": ["a"]}, straight_through=True)
    assert installation.completed(task)["pages"] == ["A"]


def test_a_gate_before_the_first_stage_holds_the_task_from_the_start(installation: Installation) -> None:
    task = installation.client.submit(installation.know(one_step(lambda task: 1, gate=True)))
    assert task.state == "waiting"
    installation.work()
    assert installation.client.get(task.id).state == "waiting"
    installation.client.resume(task.id)
    assert installation.completed(task) == 1


def chain(installation: Installation, **rules: Any) -> ff.Pipeline:
    pipeline = ff.Pipeline("chain")

    @pipeline.each(**{"retry": ff.Retry(limit=0), **rules})
    def first(item: Any) -> str:
        wish = item.options.get("instead", item.input)
        if wish == "bad":
            raise ff.Permanent("bad")
        return f"{wish}1"

    @pipeline.each(retry=ff.Retry(limit=0))
    def second(item: Any) -> str:
        return f"{item.input}2"

    @pipeline.merge
    def bind(task: Any, results: Any) -> dict[str, list[str]]:
        return {"got": [result.output for result in results], "missing": [gap.key for gap in results.missing()]}

    return installation.know(pipeline)


def test_items_flow_from_one_stage_of_many_to_the_next(installation: Installation) -> None:
    pipeline = chain(installation)
    task = installation.client.submit(pipeline, items=[ff.NewItem("x", "a"), ff.NewItem("y", "b")])
    assert installation.completed(task)["got"] == ["a12", "b12"]
    assert [item.key for item in installation.client.items(task.id, stage="second")] == ["x", "y"]


def test_redoing_one_item_redoes_only_what_follows_from_it(installation: Installation, clock: HandClock) -> None:
    pipeline = chain(installation)
    task = installation.client.submit(pipeline, items=["a", "b", "c"])
    installation.completed(task)
    clock.advance(1)
    installation.client.retry(task.id, ["2"], stage="first", options={"instead": "B"})
    assert installation.completed(task)["got"] == ["a12", "B12", "c12"]
    leases = installation.sql("SELECT stage, seq, lease FROM items WHERE stage <> 'bind' ORDER BY stage, seq")
    assert [tuple(row) for row in leases] == [
        ("first", 1, 1), ("first", 2, 2), ("first", 3, 1), ("second", 1, 1), ("second", 2, 2), ("second", 3, 1),
    ]  # fmt: skip


def test_redoing_an_item_reaches_what_has_not_been_done_yet(installation: Installation, clock: HandClock) -> None:
    pipeline = chain(installation)
    task = installation.client.submit(pipeline, items=["a", "b"])
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    assert installation.client.get(task.id).stage == "second"
    clock.advance(1)
    installation.client.retry(task.id, ["2"], stage="first", options={"instead": "B"})
    assert installation.completed(task)["got"] == ["a12", "B12"]


def test_a_step_gets_the_output_of_the_one_before(installation: Installation) -> None:
    pipeline = ff.Pipeline("steps")

    @pipeline.step
    def one(task: Any) -> int:
        assert task.previous is None
        return 1

    @pipeline.step
    def two(task: Any) -> list[int]:
        return [task.previous, 2]

    @pipeline.step
    def three(task: Any) -> list[Any]:
        return [task.previous, task.output("one"), 3]

    task = installation.client.submit(installation.know(pipeline))
    assert installation.completed(task) == [[1, 2], 1, 3]


def test_progress_of_a_whole_run_never_goes_back(installation: Installation, clock: HandClock) -> None:
    pipeline = book(retry=ff.Retry(limit=1, first=1))

    @pipeline.on_failed
    def refund(task: Any) -> None:
        """Make up for it."""

    installation.know(pipeline)
    task = installation.client.submit(pipeline, options={"texts": ["flaky", "flaky"]})
    seen = [task.progress]
    worker = installation.worker()
    settled: list[Any] = []
    for _ in range(20):
        turn = worker.turn(settled)
        seen.append(installation.client.get(task.id).progress)
        settled = [worker.call(row, one) for row, one in turn.claimed]
        clock.advance(5)
        worker.claimer = installation.worker().claimer
    assert installation.client.get(task.id).state == "failed"
    assert seen == sorted(seen)


def test_the_rows_of_a_task_are_not_written_while_its_items_are_worked_on(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=range(20))
    before = installation.sql("SELECT * FROM tasks")
    worker = installation.worker()
    claimed = worker.claim()
    with installation.statements() as sent:
        worker.finish(*claimed[:10])
        worker.fail(*claimed[10:19])
    assert not [statement for statement in sent if statement.startswith("UPDATE tasks")]
    assert installation.sql("SELECT * FROM tasks") == before
    assert installation.client.get(task.id).open == 1


def test_what_failed_in_an_earlier_stage_of_many_is_missing_too(installation: Installation) -> None:
    pipeline = ff.Pipeline("two_stages")

    @pipeline.each(tolerate=1)
    def first(item: ff.ItemWork) -> str:
        if item.input == "bad":
            raise ff.Permanent("spoilt")
        return str(item.input)

    @pipeline.each
    def second(item: ff.ItemWork) -> str:
        return str(item.input)

    @pipeline.merge
    def bind(_task: ff.TaskWork, results: ff.Results) -> dict[str, Any]:
        return {"got": [result.output for result in results]}

    task = installation.client.submit(installation.know(pipeline), items=["a", "bad"])
    assert installation.completed(task) == {"got": ["a"]}
    assert installation.client.get(task.id).missing == 1
    assert [(result.key, result.error_message) for result in installation.client.missing(task.id)] == [("2", "spoilt")]
