"""A bad answer costs money too: no later attempt at the item, in any process, asks the same question again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.providers.answer_checks import judge_again
from tests.ai_protocol import Call, Reply, inside, too_many_requests
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path)
    yield made
    made.store.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls do not wait inside their item: every wait hands the item back."""
    monkeypatch.setattr("fanfold.providers.rate_limit.PATIENCE", 0.01)
    monkeypatch.setattr("fanfold.providers.question_asker.PATIENCE", 0.01)
    monkeypatch.setattr("fanfold.providers.asking.SPREAD_SECONDS", 0.05)


async def ask(item: Any) -> str:
    answer = await item.ask(str(item.input))
    return str(answer.text)


def is_first(call: Call) -> bool:
    """Whether the question has its original parameters; the second time it has changed ones."""
    return "temperature" not in call.parameters


def bad_and_then_busy(call: Call) -> Reply:
    """Every other call is charged and brings an empty answer; the rest are refused."""
    return Reply(text="") if call.number % 2 else too_many_requests(0.1)(Reply())


def until_failed(live: Live, ai: AIServer, task: ff.Task, paid: int) -> None:
    """Wait until the task has failed, or until more than ``paid`` calls were charged."""
    with live.working():
        eventually(lambda: live.client.get(task.id).state == "failed" or len(ai.paid) > paid)


def test_a_bad_answer_before_a_wait_is_not_paid_for_again(live: Live, ai: AIServer, impatient: None) -> None:
    ai.answer(bad_and_then_busy)
    task = live.client.submit(live.know(batch(handler=ask, retry=ff.Retry(limit=0))), items=["one"])
    until_failed(live, ai, task, 2)
    assert [is_first(call) for call in ai.paid] == [True, False]
    [item] = live.client.items(task.id)
    assert (item.error_code, item.failures) == ("empty", 1)
    assert item.spending.calls == 2
    assert [call.outcome for call in live.client.calls(task.id)] == ["empty", "empty"]


def test_each_model_of_a_chain_is_paid_twice_at_most_whatever_waits_are_between(
    live: Live, ai: AIServer, impatient: None
) -> None:
    ai.answer(bad_and_then_busy)
    task = live.client.submit(
        live.know(batch(handler=ask, retry=ff.Retry(limit=0))), items=["one"], options={"fallback": ["fake:fake-small"]}
    )
    until_failed(live, ai, task, 4)
    asked = [(call.model, is_first(call)) for call in ai.paid]
    assert asked == [("fake-large", True), ("fake-large", False), ("fake-small", True), ("fake-small", False)]
    [item] = live.client.items(task.id)
    assert str(item.error_message).count("cannot be used") == 2, "the item says of each model why"


def test_a_limit_inside_an_answer_is_waited_for_like_any_other(live: Live, ai: AIServer) -> None:
    ai.next(inside({"error": {"message": "Slow down", "code": 429}}))
    task = live.client.submit(live.know(batch(handler=ask, retry=ff.Retry(limit=0))), items=["one"])
    with live.working():
        done = live.until(task, "completed")
    [item] = live.client.items(task.id)
    assert (item.failures, done.spending.calls, done.spending.possibly_paid) == (0, 1, 0)


def test_a_retry_by_a_person_asks_anew_after_bad_answers(live: Live, ai: AIServer) -> None:
    ai.answer("")
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"])
    with live.working():
        live.until(task, "failed")
        assert len(ai.paid) == 2
        ai.answer("fine")
        live.client.retry(task.id)
        eventually(lambda: live.client.get(task.id).state in ("completed", "failed"))
    assert [is_first(call) for call in ai.paid] == [True, False, True]


def test_another_task_with_the_same_question_asks_for_itself_after_bad_answers(live: Live, ai: AIServer) -> None:
    ai.answer("")
    pipeline = live.know(batch(handler=ask))
    for paid in (2, 4):
        task = live.client.submit(pipeline, items=["one"])
        with live.working():
            live.until(task, "failed")
        assert len(ai.paid) == paid


def test_another_worker_goes_on_behind_the_bad_answer(live: Live, ai: AIServer) -> None:
    """The first worker stops after the bad answer, before the second one. The next has its own event loop and asker."""
    ai.next("refusal", "held")
    ai.answer("fine")
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"])
    with live.working():
        eventually(lambda: ai.waiting)
    ai.release()
    with live.working():
        live.until(task, "completed")
    assert [is_first(call) for call in ai.calls].count(True) == 1
    assert live.client.result(task.id) == ["fine"]


def test_a_bad_answer_that_comes_after_its_attempt_counts_for_the_next_one(live: Live, ai: AIServer) -> None:
    ai.next(lambda good: Reply(text="", held=True))
    ai.answer("fine")
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"])
    with live.working():
        eventually(lambda: ai.waiting)
        live.client.pause(task.id)
        live.item_is(task, "pending")
        ai.release()
        eventually(lambda: [call.outcome for call in live.client.calls(task.id)] == ["empty"])
        live.client.resume(task.id)
        live.until(task, "completed")
    assert [is_first(call) for call in ai.paid] == [True, False]


def test_two_workers_with_one_item_pay_for_its_bad_answer_once(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second worker waits for the first one's question, and must not ask it again if the answer was bad."""
    monkeypatch.setattr("fanfold.providers.question_asker.OTHERS_SECONDS", 0.01)
    ai.next(lambda good: Reply(text="", held=True))
    ai.answer("fine")
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"])
    with live.working() as first:
        eventually(lambda: ai.waiting)
        live.client.pause(task.id)
        live.item_is(task, "pending")
        first.stop()  # It waits for the question in flight, and claims nothing more.
        with live.working():
            live.client.resume(task.id)
            live.item_is(task, "running")
            ai.release()
            live.until(task, "completed")
    assert [is_first(call) for call in ai.paid] == [True, False]


@pytest.mark.parametrize("code", ["taken", "cached", "asked", "no answer"])
def test_a_check_can_call_what_is_bad_as_it_likes(live: Live, ai: AIServer, impatient: None, code: str) -> None:
    """Even the outcomes of the ledger are allowed as codes."""

    def check(text: str) -> str:
        raise ff.BadAnswer("not like this", code=code)

    async def handler(item: Any) -> str:
        return str((await item.ask(item.input, check=check)).text)

    ai.answer(lambda call: Reply(text="plain") if call.number % 2 else too_many_requests(0.1)(Reply()))
    task = live.client.submit(live.know(batch(handler=handler, retry=ff.Retry(limit=0))), items=["one"])
    until_failed(live, ai, task, 2)
    assert (len(ai.paid), live.client.get(task.id).spending.calls) == (2, 2)


def test_an_answer_that_a_changed_check_would_take_is_taken_and_not_paid_again(
    live: Live, ai: AIServer, impatient: None
) -> None:
    strict = [True]

    def check(text: str) -> str:
        if strict:
            strict.clear()
            raise ff.BadAnswer("too plain", code="plain")
        return f"checked {text}"

    async def handler(item: Any) -> str:
        return str((await item.ask(item.input, check=check)).text)

    ai.answer(lambda call: Reply(text="plain") if call.number % 2 else too_many_requests(0.1)(Reply()))
    task = live.client.submit(live.know(batch(handler=handler)), items=["one"])
    with live.working():
        done = live.until(task, "completed")
    assert live.client.result(task.id) == ["checked plain"]
    assert (len(ai.paid), done.spending.calls, done.spending.cached) == (1, 1, 1)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("half a sent", "cut_off"),
        ("and so on " * 80, "repetition"),
        ("and so on " * 400, "repetition"),
        ("", "filtered"),
        ("", "empty"),
        ("I'm sorry, but I can't assist with that request.", "refusal"),
    ],
)
def test_what_was_bad_stays_bad_for_the_same_reason(text: str, code: str) -> None:
    with pytest.raises(ff.BadAnswer) as caught:
        judge_again(text, code)
    assert caught.value.code == code


def test_a_deleted_task_whose_answers_were_bad_leaves_the_good_ones_of_others(live: Live, ai: AIServer) -> None:
    pipeline = live.know(batch(handler=ask))
    tasks = []
    for text, state in (("", "failed"), ("fine", "completed")):
        ai.answer(text)
        tasks.append(live.client.submit(pipeline, items=["one"]))
        with live.working():
            live.until(tasks[-1], state)
    bad, good = tasks
    live.client.delete(bad.id)
    assert live.sql("SELECT count(*) FROM answers") == [(1,)]
    live.client.delete(good.id)
    assert live.sql("SELECT count(*) FROM answers") == [(0,)]


def test_an_answer_goes_with_the_last_task_that_took_it_not_with_one_that_got_a_bad_one(
    live: Live, ai: AIServer
) -> None:
    pipeline = live.know(batch(handler=ask))
    ai.answer("")
    bad = live.client.submit(pipeline, items=["one"])
    with live.working():
        live.until(bad, "failed")
    ai.answer("fine")
    good = live.client.submit(pipeline, items=["one"])
    with live.working():
        live.until(good, "completed")
    live.client.delete(good.id)
    assert live.sql("SELECT count(*) FROM answers") == [(0,)]
