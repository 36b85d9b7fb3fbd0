"""Several questions of one item are asked at the same time, and each is paid for once."""

from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.testing import Engine, busy, rate_limited, refused, rejected


def asking(**how: Any) -> ff.Pipeline:
    """A pipeline whose handler asks one question per word."""
    pipeline = ff.Pipeline("asking")

    @pipeline.each(retry=ff.Retry(limit=2, first=1.0))
    async def ask(item: Any) -> list[str]:
        answers = await item.ask_many(item.input.split(), **how)
        return [str(answer) if isinstance(answer, Exception) else answer.text for answer in answers]

    return pipeline


def test_several_questions_are_asked_at_once_and_a_retry_pays_only_for_what_is_missing(engine: Engine) -> None:
    engine.answers("A", busy(), "C", "B")
    task = engine.submit(asking(system="Translate."), items=["a b c a"])
    engine.run()
    assert engine.result(task) == [["A", "B", "C", "A"]]
    assert [request.prompt for request in engine.requests] == ["a", "b", "c", "b"]
    assert {request.system for request in engine.requests} == {"Translate."}
    assert engine.cost(task) == pytest.approx(0.03)


def test_questions_without_an_answer_can_be_left_out(engine: Engine) -> None:
    engine.answer(rejected(), to="b")
    engine.answer(lambda request: request.prompt.upper())
    task = engine.submit(asking(return_exceptions=True), items=["a b c"])
    engine.run()
    [[first, second, third]] = engine.result(task)
    assert (first, third) == ("A", "C")
    assert "400" in second


def test_a_pause_comes_before_the_wait_for_another_question(engine: Engine) -> None:
    engine.answers(*[rate_limited(after=30)] * 2, *[refused()] * 10)
    task = engine.submit(asking(), items=["a b c d e f"])
    engine.run(attempts=50)
    assert engine.task(task).state == "paused"


def test_all_questions_of_an_item_go_into_one_batch(engine: Engine) -> None:
    task = engine.submit(asking(lane="batch", model="openai:gpt-4o-mini"), items=["a b c"])
    engine.run(advance_clock=False)
    [item] = engine.items(task)
    assert (item.state, item.attempts) == ("waiting", 1)
    with engine.store.read() as tx:
        assert tx.connection.execute(sa.text("SELECT count(*) FROM batch_members")).scalar() == 3


def test_what_is_no_question_is_refused(engine: Engine) -> None:
    pipeline = ff.Pipeline("odd")

    @pipeline.each
    async def ask(item: Any) -> Any:
        return await item.ask_many([7])

    task = engine.submit(pipeline, items=["a"])
    engine.run()
    assert engine.item(task, "1").item.error_code == "not_a_question"
