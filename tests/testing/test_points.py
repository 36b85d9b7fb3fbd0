"""Crashes, pauses, cancels and retries happen exactly where a test says, with the engine's own recovery after them."""

import pytest

import fanfold as ff
from fanfold.testing import Engine
from tests.testing.translation import NOVEL, book


def states(engine: Engine, task: ff.Task) -> list[str]:
    """The states of the chapters in order."""
    return [item.state for item in engine.items(task)]


def test_a_worker_that_dies_before_it_settles_leaves_an_item_that_runs_again(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(item="002").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "completed"
    assert [(item.attempts, item.crashes) for item in engine.items(task)] == [(1, 0), (2, 1), (1, 0)]
    assert "reclaim" in [event.verb for event in engine.events(task)]
    assert engine.clock.seconds >= engine.settings.lease_seconds


def test_what_a_dead_worker_has_paid_for_is_not_paid_again(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(item="002").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert len(engine.requests) == 3
    assert engine.cost(task) == pytest.approx(0.03)


def test_a_worker_that_dies_before_the_handler_has_asked_nothing(engine: Engine) -> None:
    engine.answer("text")
    asked: list[int] = []
    engine.before_handler(item="002").call(lambda: asked.append(len(engine.requests)))
    engine.before_handler(item="002").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert asked == [1]
    assert engine.item(task, "002").item.attempts == 2
    assert engine.task(task).state == "completed"


def test_an_item_that_kills_its_worker_again_and_again_is_poison(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(item="002", times=10).crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert states(engine, task) == ["done", "failed", "done"]
    assert engine.item(task, "002").item.error_code == "poison"


def test_a_worker_that_dies_after_it_has_settled_loses_nothing(engine: Engine) -> None:
    engine.answer("text")
    engine.after_settle(item="003").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "completed"
    assert [item.attempts for item in engine.items(task)] == [1, 1, 1]


def test_a_crash_in_a_split_makes_no_items_twice(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(stage="chapters").crash()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert states(engine, task) == ["done"] * 3


def test_a_task_is_paused_after_so_many_items_and_goes_on_with_the_next(engine: Engine) -> None:
    engine.answer("text")
    engine.after_settle(count=2).pause("enough for today")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "paused"
    assert states(engine, task) == ["done", "done", "pending"]
    assert "enough for today" in [event.reason for event in engine.events(task)]
    engine.client.resume(task.id)
    engine.run()
    assert engine.task(task).state == "completed"
    assert len(engine.requests) == 3


def test_the_result_of_a_task_that_was_paused_meanwhile_is_not_taken_but_its_answer_is_kept(engine: Engine) -> None:
    engine.answer("text")
    engine.before_settle(item="002").pause()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert states(engine, task) == ["done", "pending", "pending"]
    engine.client.resume(task.id)
    engine.run()
    assert len(engine.requests) == 3
    assert engine.cost(task) == pytest.approx(0.03)


def test_a_task_is_cancelled_at_a_point(engine: Engine) -> None:
    engine.answer("text")
    engine.before_handler(item="002").cancel()
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "cancelled"


def test_a_task_is_retried_at_a_point(engine: Engine) -> None:
    engine.answer("text")
    engine.after_settle(item="002").retry(["001"])
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "completed"
    assert len(engine.calls(task, "001")) == 2


def test_the_error_of_an_impossible_command_ends_the_run(engine: Engine) -> None:
    engine.answer("text")
    engine.after_settle(item="002").call(lambda: engine.client.merge("t-unknown"))
    engine.submit(book, NOVEL)
    with pytest.raises(ff.NotFound, match="t-unknown"):
        engine.run()
