"""Scripted answers go through everything that real ones do: checks, retries, rate limits, the cache and the ledger."""

import asyncio

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.store.schema.tables import answers
from fanfold.testing import (
    Engine,
    UnscriptedQuestion,
    answer,
    busy,
    cut_off,
    filtered,
    rate_limited,
    refused,
    rejected,
    timed_out,
    unknown_outcome,
    unreachable,
    worker_crash,
)
from fanfold.testing.answers import Scripted
from tests.testing.translation import NOVEL, book


def translated(engine: Engine, **options: object) -> object:
    """What becomes of the novel."""
    task = engine.submit(book, NOVEL, options=options)
    engine.run()
    return engine.result(task)


def test_answers_are_said_in_order(engine: Engine) -> None:
    engine.answers("one", "two", "three")
    assert translated(engine) == "one\ntwo\nthree"


def test_an_answer_can_be_meant_for_some_questions(engine: Engine) -> None:
    engine.answer("TWO", to="zwei")
    engine.answer("THREE", to=lambda request: request.prompt.endswith("drei"))
    engine.answer("other")
    assert translated(engine) == "other\nTWO\nTHREE"


def test_an_answer_can_be_that_of_one_model(engine: Engine) -> None:
    engine.answer(rejected(), model="large")
    engine.answer("of the small one", model="small")
    task = engine.submit(book, NOVEL, options={"model": "large", "fallback": ["small"]})
    engine.run()
    assert engine.result(task) == "\n".join(["of the small one"] * 3)
    assert [item.state for item in engine.items(task)] == ["done"] * 3
    assert engine.task(task).degraded == 3


def test_a_provider_of_the_configuration_needs_no_key(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    engine.answer("text")
    task = engine.submit(book, NOVEL, options={"model": "anthropic:claude-haiku-5-5"})
    engine.run()
    assert {(call.provider, call.model) for call in engine.calls(task)} == {("anthropic", "claude-haiku-5-5")}


def test_the_default_provider_of_the_machine_is_not_asked(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDER", "openai")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert {call.provider for call in engine.calls(task)} == {"test"}


def test_a_plain_handler_that_asks_in_a_loop_of_its_own_gets_scripted_answers(engine: Engine) -> None:
    plain = ff.Pipeline("plain")

    @plain.step
    def ask(task: ff.TaskWork) -> str:
        return asyncio.run(task.ask("What is it?", model="openai:large")).text

    engine.answer("scripted", model="large")
    task = engine.submit(plain)
    engine.run()
    assert engine.result(task) == "scripted"


def test_a_question_without_an_answer_ends_the_run(engine: Engine) -> None:
    engine.answers("one", "two")
    engine.submit(book, NOVEL)
    with pytest.raises(UnscriptedQuestion, match="question 3, to test-model: 'Translate: drei'"):
        engine.run()


def test_a_price_can_be_said(engine: Engine) -> None:
    engine.answers(answer("a", cost=0.5, input_tokens=10, output_tokens=20), answer("b", cost=None), "c")
    task = engine.submit(book, NOVEL)
    engine.run()
    spending = engine.task(task).spending
    assert spending.cost == pytest.approx(0.51)
    assert (spending.calls, spending.unpriced, spending.input_tokens, spending.output_tokens) == (3, 1, 10, 20)


def test_an_answer_that_takes_its_time_turns_the_clock(engine: Engine) -> None:
    engine.answer(answer("text", seconds=20))
    translated(engine)
    assert engine.clock.seconds >= 60


@pytest.mark.parametrize("trouble", [rate_limited(after=30), unreachable()], ids=["rate limited", "unreachable"])
def test_what_is_no_fault_of_the_item_uses_up_no_retry(engine: Engine, trouble: Scripted) -> None:
    engine.answers(trouble, trouble, trouble, trouble, to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    item = engine.item(task, "002").item
    assert (item.state, item.failures) == ("done", 0)
    assert engine.cost(task) == pytest.approx(0.03)
    assert engine.clock.seconds > 1


@pytest.mark.parametrize("trouble", [busy(), timed_out(), unknown_outcome()], ids=["busy", "late", "unknown"])
def test_trouble_of_a_service_uses_up_retries_until_there_is_none(engine: Engine, trouble: Scripted) -> None:
    engine.answers(trouble, trouble, trouble, to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    item = engine.item(task, "002").item
    assert (item.state, item.failures, item.attempts) == ("failed", 3, 3)
    assert engine.task(task).state == "partial"
    assert len(engine.requests) == 5


@pytest.mark.parametrize(
    ("trouble", "possibly"),
    [(busy(), 0), (timed_out(), 1), (unknown_outcome(), 1), (worker_crash(), 1)],
    ids=["busy", "late", "unknown", "crash"],
)
def test_a_call_of_unknown_outcome_is_possibly_paid(engine: Engine, trouble: Scripted, possibly: int) -> None:
    engine.answers(trouble, to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    spending = engine.task(task).spending
    assert engine.task(task).state == "completed"
    assert (spending.calls, spending.possibly_paid) == (3, possibly)


def test_a_worker_that_dies_while_it_asks_does_not_give_its_question_up(engine: Engine) -> None:
    engine.answers(worker_crash(), to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run(advance_clock=False)
    assert [item.state for item in engine.items(task)] == ["done", "running", "done"]
    assert question_is_open(engine)
    engine.run()
    assert not question_is_open(engine)
    assert engine.result(task) == "text\ntext\ntext"


def question_is_open(engine: Engine) -> bool:
    """Whether the database says that somebody waits for an answer."""
    with engine.store.read() as tx:
        return bool(tx.connection.execute(sa.select(answers.c.key).where(answers.c.body.is_(None))).all())


def test_a_refused_key_pauses_the_task_until_a_person_goes_on(engine: Engine) -> None:
    engine.answers(refused(), refused(), refused())
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "paused"
    engine.client.resume(task.id)
    engine.run()
    assert engine.result(task) == "text\ntext\ntext"


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (cut_off(), "cut_off"),
        (filtered(), "filtered"),
        (answer(""), "empty"),
        (answer("I'm sorry, I can't help"), "refusal"),
    ],
)
def test_a_bad_answer_is_asked_for_twice_paid_twice_and_not_taken(engine: Engine, bad: Scripted, code: str) -> None:
    engine.answer(bad, to="zwei")
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    item = engine.item(task, "002").item
    assert (item.state, item.error_code) == ("failed", code)
    assert len(engine.calls(task, "002")) == 2
    assert engine.cost(task) == pytest.approx(0.04)


def test_the_same_question_is_asked_and_paid_once(engine: Engine) -> None:
    engine.answers("text")
    task = engine.submit(book, ff.Upload("novel.txt", b"same\fsame\fsame"))
    engine.run()
    assert engine.result(task) == "text\ntext\ntext"
    assert engine.task(task).spending.cached == 2
    assert engine.cost(task) == pytest.approx(0.01)
