"""A result that is not what was asked for is marked, counted, found and redone; it never looks like plain success."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from fanfold.model.task import Task
from tests.engine.pipelines import batch, one_step
from tests.installation import Installation


def halves(item: Any) -> Any:
    """Every second item is only half of what was asked for, unless another model is named."""
    if int(item.key) % 2 == 0 and item.options.get("model") != "better":
        item.degraded("only half of it")
    return f"{item.key} by {item.options.get('model', 'usual')}"


@pytest.fixture
def done(installation: Installation) -> Task:
    """A completed task of five items, two of them degraded."""
    task = installation.client.submit(installation.know(batch(handler=halves)), items=range(5))
    installation.work()
    return installation.client.get(task.id)


def test_a_degraded_item_is_done_and_marked_with_its_reason(installation: Installation, done: Task) -> None:
    items = installation.client.items(done.id)
    assert {item.state for item in items} == {"done"}
    assert [item.degraded for item in items] == [None, "only half of it", None, "only half of it", None]


def test_a_task_counts_its_degraded_items(installation: Installation, done: Task) -> None:
    assert (done.state, done.done, done.degraded) == ("completed", 5, 2)
    assert [task.degraded for task in installation.client.list()] == [2]


def test_degraded_items_can_be_listed_by_themselves(installation: Installation, done: Task) -> None:
    assert [item.key for item in installation.client.items(done.id, degraded=True)] == ["2", "4"]
    assert [item.key for item in installation.client.items(done.id, degraded=False)] == ["1", "3", "5"]


def test_a_merge_sees_which_results_are_degraded_and_is_not_degraded_by_them(installation: Installation) -> None:
    pipeline = ff.Pipeline("book")

    @pipeline.split
    def cut(task: Any) -> Any:
        return [ff.NewItem(input=number) for number in range(3)]

    pipeline.each(name="convert")(halves)

    @pipeline.merge
    def bind(task: Any, results: Any) -> Any:
        return [result.degraded for result in results]

    task = installation.client.submit(installation.know(pipeline))
    assert installation.completed(task) == [None, "only half of it", None]
    assert [item.degraded for item in installation.client.items(task.id, stage="bind")] == [None]
    assert installation.client.get(task.id).degraded == 1
    assert [result.degraded for result in installation.client.results(task.id)] == [None, "only half of it", None]


def test_a_step_can_be_degraded_too(installation: Installation) -> None:
    def only(task: Any) -> str:
        task.degraded("made without the index")
        return "a summary"

    task = installation.client.submit(installation.know(one_step(only)))
    assert installation.completed(task) == "a summary"
    assert installation.client.get(task.id).degraded == 1


def test_several_reasons_are_joined_and_kept_short(installation: Installation) -> None:
    def convert(item: Any) -> None:
        for reason in ("the first", "the second", "the first", "\0 and a NUL\ud800", "x" * 1_000):
            item.degraded(reason)

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1])
    installation.work()
    [item] = installation.client.items(task.id)
    assert item.degraded is not None
    assert item.degraded.startswith("the first; the second; ")
    assert item.degraded.count("the first") == 1
    assert len(item.degraded) <= 300
    assert "\0" not in item.degraded


def test_what_is_said_of_the_task_of_an_item_is_kept_with_the_item(installation: Installation) -> None:
    def convert(item: Any) -> None:
        item.task.degraded("said of the task")
        item.task.used(model="m", cost=0.5)

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1])
    installation.work()
    [item] = installation.client.items(task.id)
    assert (item.degraded, item.model, item.spending.cost) == ("said of the task", "m", 0.5)


def test_a_mark_without_a_reason_still_counts(installation: Installation) -> None:
    def convert(item: Any) -> None:
        item.degraded("")

    task = installation.client.submit(installation.know(batch(handler=convert)), items=[1])
    installation.work()
    assert installation.client.get(task.id).degraded == 1


def test_an_attempt_that_fails_leaves_no_mark_behind(installation: Installation, clock: Any) -> None:
    def convert(item: Any) -> str:
        if item.attempt == 1:
            item.degraded("the first try was poor")
            raise RuntimeError("and then it failed")
        return "good"

    task = installation.client.submit(installation.know(batch(handler=convert, retry=ff.Retry(limit=1))), items=[1])
    installation.work()
    clock.advance(60)
    installation.work()
    [item] = installation.client.items(task.id)
    assert (item.state, item.degraded) == ("done", None)


def test_only_the_degraded_items_are_redone_with_the_options_given(installation: Installation, done: Task) -> None:
    moved = installation.client.retry(done.id, degraded=True, options={"model": "better"})
    assert (moved.state, moved.degraded, moved.open) == ("active", 0, 2)
    installation.work()
    now = installation.client.get(done.id)
    assert (now.state, now.degraded) == ("completed", 0)
    made = [result.output for result in installation.client.results(done.id)]
    assert made == ["1 by usual", "2 by better", "3 by usual", "4 by better", "5 by usual"]
    assert installation.client.item(done.id, "2").previous == "2 by usual"


def test_a_redo_that_is_degraded_again_says_so_again(installation: Installation, done: Task) -> None:
    installation.client.retry(done.id, degraded=True)
    installation.work()
    assert installation.client.get(done.id).degraded == 2


def test_there_must_be_something_degraded_to_retry(installation: Installation, done: Task) -> None:
    installation.client.retry(done.id, degraded=True, options={"model": "better"})
    installation.work()
    with pytest.raises(ff.IllegalMove, match="none of its items is degraded"):
        installation.client.retry(done.id, degraded=True)
    with pytest.raises(ff.BadInput, match="degraded"):
        installation.client.retry(done.id, ["1"], degraded=True)


def test_retry_degraded_leaves_failed_items_alone(installation: Installation) -> None:
    def convert(item: Any) -> Any:
        if item.key == "1":
            raise ff.Permanent("bad")
        return halves(item)

    task = installation.client.submit(installation.know(batch(handler=convert, tolerate=1)), items=range(3))
    installation.work()
    installation.client.retry(task.id, degraded=True)
    assert installation.states(task) == "failed pending done"


def test_a_rerun_forgets_the_marks(installation: Installation, done: Task) -> None:
    assert installation.client.rerun(done.id).degraded == 0


def test_a_mark_that_an_older_version_left_behind_goes_with_the_next_result(installation: Installation) -> None:
    """Workers of the revision before reset an item without knowing of the mark."""
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.sql("UPDATE items SET degraded = 'from before'")
    installation.work()
    [item] = installation.client.items(task.id)
    assert (item.state, item.degraded) == ("done", None)


def test_a_lost_lease_marks_nothing(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1])
    worker = installation.worker()
    [late] = worker.claim()
    with installation.store.write() as tx:
        tx.settling.release([{"id": late.id, "lease": late.lease}])
    worker.claim()
    worker.settle(Settlement(late, Ending.FINISH, output='"late"', degraded="late"))
    assert [item.degraded for item in installation.client.items(task.id)] == [None]


def test_a_plain_finish_costs_no_statement_more(installation: Installation) -> None:
    installation.client.submit(installation.know(batch()), items=range(4))
    worker = installation.worker()
    one, two, three, four = worker.claim()
    worker.finish(one)
    with installation.statements() as plain:
        worker.finish(two)
    with installation.statements() as again:
        worker.finish(three)
    with installation.statements() as marked:
        worker.settle(Settlement(four, Ending.FINISH, output='"x"', degraded="poor"))
    assert len(plain) == len(again)
    assert len([one for one in marked if "degraded" in one and one.startswith("UPDATE")]) == 2
    assert len([one for one in plain if "degraded" in one and one.startswith("UPDATE")]) == 1
