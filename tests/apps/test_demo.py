"""The demonstration does what its description says: it splits, fails at first, continues, and binds."""

import fanfold as ff
from fanfold.apps.demo import demo
from fanfold.testing import Engine


def played(engine: Engine, pages: int) -> ff.Task:
    """The task of a demonstration, with all done that can be."""
    task = engine.submit(demo, options={"pages": pages})
    engine.run()
    return engine.task(task)


def test_all_pages_are_bound_in_order(engine: Engine) -> None:
    task = played(engine, 12)
    assert task.state == "completed"
    lines = engine.result(task).read_text().splitlines()
    assert lines[0] == "# A demonstration"
    assert [line for line in lines if line.startswith("## ")] == [f"## Page {number}" for number in range(1, 13)]
    assert "This is page 7. It was written in small letters." in lines


def test_every_ninth_page_fails_at_first(engine: Engine) -> None:
    task = played(engine, 20)
    assert [item.key for item in engine.items(task) if item.failures] == ["009", "018"]
    assert {item.state for item in engine.items(task)} == {"done"}


def test_a_page_takes_half_a_second_of_the_clock(engine: Engine) -> None:
    played(engine, 4)
    assert 2 <= engine.clock.seconds < 3


def test_a_worker_that_dies_costs_one_page_one_more_attempt(engine: Engine) -> None:
    engine.before_settle(item="003").crash()
    task = played(engine, 5)
    assert task.state == "completed"
    assert [item.attempts for item in engine.items(task)] == [1, 1, 2, 1, 1]


def test_a_page_can_be_redone_without_the_others(engine: Engine) -> None:
    task = played(engine, 5)
    engine.client.retry(task.id, ["002"])
    engine.run()
    assert engine.task(task).state == "completed"
    assert [item.key for item in engine.items(task) if engine.item(task, item.key).previous is not None] == ["002"]
