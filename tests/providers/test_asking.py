"""Every question is paid for once, every fault is survived, and the task waits for a person when nothing else helps."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.loop import Worker
from fanfold.model.text.sentences import kept, say
from fanfold.providers.configuration import Provider
from fanfold.providers.services.service import ServiceTrouble, TroubleKind
from tests.ai_protocol import Call, Reply, refused, slow, too_many_requests
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
def sqlite_live(sqlite_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation on SQLite only, for the many ways in which a service can fail."""
    made = Live(sqlite_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    """Ask one question and return the answer, as most handlers do."""
    answer = await item.ask(str(item.input))
    return str(answer.text)


def asking(**rules: Any) -> ff.Pipeline:
    return batch(handler=ask, **rules)


def run(live: Live, pipeline: ff.Pipeline, items: list[Any], state: str = "completed", **options: Any) -> ff.Task:
    task = live.client.submit(live.know(pipeline), items=items, options=options)
    with live.working(concurrency=8):
        return live.until(task, state)


def test_an_answer_and_its_cost_are_kept(live: Live, ai: AIServer) -> None:
    ai.answer(lambda call: f"You said {call.prompt}")
    task = run(live, asking(), ["one", "two"])
    assert live.client.result(task.id) == ["You said one", "You said two"]
    assert (task.spending.calls, task.spending.input_tokens, task.spending.model) == (2, 2000, "fake:fake-large")
    assert task.spending.cost == pytest.approx(2.0, abs=0.1)
    [first, _] = live.client.items(task.id)
    assert (first.model, first.spending.calls) == ("fake:fake-large", 1)
    assert [call.outcome for call in live.client.calls(task.id)] == ["taken", "taken"]


def test_the_same_question_is_not_paid_twice(live: Live, ai: AIServer) -> None:
    first = run(live, asking(), ["one"])
    second = run(live, asking(), ["one"])
    assert len(ai.paid) == 1
    assert live.client.result(first.id) == live.client.result(second.id)
    assert (second.spending.calls, second.spending.cached, second.spending.cost) == (0, 1, 0.0)


def test_a_question_that_is_under_way_is_not_asked_again(live: Live, ai: AIServer) -> None:
    ai.answer("the same for all")
    task = run(live, asking(), ["same"] * 20)
    assert len(ai.calls) == 1
    assert (task.spending.calls, task.spending.cached) == (1, 19)


def test_another_model_another_prompt_or_fresh_is_another_question(live: Live, ai: AIServer) -> None:
    for options in ({}, {"model": "fake-small"}, {"fresh": "1"}, {"fresh": "2"}):
        run(live, asking(), ["one"], **options)
    assert [call.model for call in ai.calls] == ["fake-large", "fake-small", "fake-large", "fake-large"]


def test_a_done_item_that_is_retried_is_asked_anew(live: Live, ai: AIServer) -> None:
    task = run(live, asking(), ["one", "two"])
    live.client.retry(task.id, ["1"])
    with live.working():
        live.until(task, "completed")
    assert sorted(call.prompt for call in ai.calls) == ["one", "one", "two"]
    live.client.retry(task.id, ["1"], options={"model": "fake-small"})
    with live.working():
        live.until(task, "completed")
    assert ai.calls[-1].model == "fake-small"
    assert live.client.items(task.id)[0].model == "fake:fake-small"
    assert live.client.items(task.id)[0].spending.calls == 3, "what was paid before still counts"


def test_too_many_requests_do_not_use_up_retries(live: Live, ai: AIServer) -> None:
    ai.next(*[too_many_requests(0.05)] * 6)
    task = run(live, asking(retry=ff.Retry(limit=0)), ["one", "two", "three"])
    assert (task.failed, len(ai.paid)) == (0, 3)


def test_a_short_wait_is_not_even_a_retry(sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.providers.rate_limit.PATIENCE", 60.0)
    monkeypatch.setattr("fanfold.providers.question_asker.PATIENCE", 60.0)
    ai.next(*[too_many_requests(0.05)] * 3)
    assert run(sqlite_live, asking(retry=ff.Retry(limit=0)), ["one"]).retries == 0


def test_a_long_wait_gives_the_place_to_others_and_is_not_counted(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.rate_limit.PATIENCE", 0.01)
    monkeypatch.setattr("fanfold.providers.question_asker.PATIENCE", 0.01)
    ai.next(too_many_requests(0.5))
    task = run(sqlite_live, asking(retry=ff.Retry(limit=0)), ["one"])
    [item] = sqlite_live.client.items(task.id)
    assert (item.state, item.failures, item.error_code) == ("done", 0, "rate_limited")


@pytest.mark.parametrize("fault", ["500", "hang", "broken_json", "drop"])
def test_a_fault_of_the_service_is_tried_again(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "hang":
        monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_TIMEOUT", "3")
    ai.next(fault)
    task = run(sqlite_live, asking(retry=ff.Retry(limit=1, first=0.01)), ["one"])
    [item] = sqlite_live.client.items(task.id)
    assert (item.failures, len(ai.calls), len(ai.paid)) == (1, 2, 1 + (fault == "broken_json"))
    assert (task.spending.calls, task.spending.possibly_paid) == (1, int(fault != "500")), "a refusal costs nothing"


@pytest.mark.parametrize("fault", ["length", "repetition", "refusal", "empty", "content_filter"])
def test_a_bad_answer_is_asked_for_again_with_changed_parameters(sqlite_live: Live, ai: AIServer, fault: str) -> None:
    ai.next(fault)
    task = run(sqlite_live, asking(), ["one"])
    first, second = ai.calls
    assert first.parameters != second.parameters
    [call, _] = sqlite_live.client.calls(task.id)
    assert call.outcome != "taken"
    assert task.spending.calls == 2, "a bad answer costs as much as a good one"


def test_the_raw_answer_is_kept_when_it_is_bad_or_when_asked(live: Live, ai: AIServer) -> None:
    ai.next("refusal")
    task = run(live, asking(), ["one"], keep_raw=True)
    bad, good = live.client.calls(task.id)
    assert (bad.outcome, "sorry" in str(bad.raw)) == ("refusal", True)
    assert good.raw


def test_the_next_model_of_the_chain_takes_over(live: Live, ai: AIServer) -> None:
    def answer(call: Call) -> str:
        return "" if call.model == "fake-large" else f"from {call.model}"

    ai.answer(answer)
    task = run(live, asking(), ["one"], fallback=["fake:fake-small"])
    assert live.client.result(task.id) == ["from fake-small"]
    assert [call.model for call in ai.calls] == ["fake-large", "fake-large", "fake-small"]


def test_a_service_that_stays_down_is_left_for_the_next_one_when_retries_are_used_up(
    sqlite_live: Live, ai: AIServer
) -> None:
    ai.answer(lambda call: "fine")
    ai.next("500", "500")
    task = run(sqlite_live, asking(retry=ff.Retry(limit=1, first=0.01)), ["one"], fallback=["fake:fake-small"])
    assert sqlite_live.client.result(task.id) == ["fine"]
    assert [call.model for call in ai.calls] == ["fake-large", "fake-large", "fake-small"]


def test_when_no_model_answers_the_item_says_why(sqlite_live: Live, ai: AIServer) -> None:
    ai.always("refusal")
    task = run(sqlite_live, asking(), ["one"], state="failed", fallback=["fake:fake-small"])
    [item] = sqlite_live.client.items(task.id)
    assert item.error_code == "no_answer"
    assert "fake:fake-large" in str(item.error_message)
    assert "fake:fake-small" in str(item.error_message)


@pytest.mark.parametrize("fault", ["401", "403", "insufficient_quota"])
def test_three_refusals_in_a_row_pause_the_task_and_say_why(sqlite_live: Live, ai: AIServer, fault: str) -> None:
    ai.always(fault)
    pipeline = asking()
    task = sqlite_live.client.submit(sqlite_live.know(pipeline), items=[str(n) for n in range(50)])
    with sqlite_live.working(concurrency=2):
        paused = sqlite_live.until(task, "paused")
        assert "fake answered 4" in str(paused.wait_reason)
        assert len(ai.calls) < 10, "not every item burns its fingers"
        assert set(sqlite_live.states(task).split()) <= {"pending", "retrying", "running"}
        ai.always("answer")
        sqlite_live.client.resume(task.id)
        done = sqlite_live.until(task, "completed")
    assert (done.done, done.failed) == (50, 0)
    events = [event for event in sqlite_live.client.events(task.id) if event.verb == "pause"]
    assert events[0].actor.startswith("worker")


def test_a_missing_key_pauses_the_task_before_anything_is_asked(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KEY_ENV", "NO_SUCH_KEY")
    task = run(sqlite_live, asking(), ["one"], state="paused")
    assert "NO_SUCH_KEY" in str(task.wait_reason)
    assert ai.calls == []


def test_an_unknown_provider_pauses_the_task(sqlite_live: Live, ai: AIServer) -> None:
    task = run(sqlite_live, asking(), ["one"], state="paused", provider="ollama")
    assert "no default model" in str(task.wait_reason)


def test_a_call_is_in_the_ledger_while_it_is_in_the_air(live: Live, ai: AIServer) -> None:
    """If the process dies at this point, a record of the possible cost remains."""
    ai.next("held")
    task = live.client.submit(live.know(asking()), items=["one"])
    with live.working():
        eventually(lambda: ai.waiting)
        assert [call.outcome for call in live.client.calls(task.id)] == ["asked"]
        ai.release()
        live.until(task, "completed")
    assert [call.outcome for call in live.client.calls(task.id)] == ["taken"]


def test_an_answer_that_comes_too_late_is_kept_and_not_paid_again(live: Live, ai: AIServer) -> None:
    ai.next("held")
    task = live.client.submit(live.know(asking()), items=["one"])
    with live.working():
        eventually(lambda: ai.waiting)
        live.client.pause(task.id)
        live.item_is(task, "pending")
        ai.release()
        eventually(lambda: ai.paid)
        live.client.resume(task.id)
        done = live.until(task, "completed")
    assert len(ai.calls) == 1
    assert (done.spending.calls, done.spending.cached) == (1, 0), "an item that reads its own answer has saved nothing"


def test_a_check_of_the_pipeline_decides_as_well(sqlite_live: Live, ai: AIServer) -> None:
    ai.answer(lambda call: f"{call.parameters.get('temperature', 'plain')}")

    def check(text: str) -> str:
        if text == "plain":
            raise ff.BadAnswer("too plain", code="plain")
        return f"checked {text}"

    async def handler(item: Any) -> Any:
        answer = await item.ask("one", check=check)
        return [answer.text, answer.cached, list(answer.tried)]

    task = run(sqlite_live, batch(handler=handler), ["one"])
    [[text, cached, tried]] = sqlite_live.client.result(task.id)
    assert (text, cached) == ("checked 0.4", False)
    assert tried == ["The answer of fake:fake-large cannot be used: too plain."]


def test_a_kept_answer_that_a_new_check_refuses_is_asked_for_again(sqlite_live: Live, ai: AIServer) -> None:
    ai.answer("old")
    run(sqlite_live, asking(), ["one"])

    def check(text: str) -> str:
        if text == "old":
            raise ff.BadAnswer("outdated")
        return text

    async def handler(item: Any) -> Any:
        return (await item.ask(item.input, check=check)).text

    ai.answer("new")
    task = run(sqlite_live, batch(handler=handler), ["one"])
    assert sqlite_live.client.result(task.id) == ["new"]


def test_a_deleted_task_takes_the_answers_along_that_only_it_has_used(live: Live, ai: AIServer) -> None:
    first = run(live, asking(), ["mine", "shared"])
    run(live, asking(), ["shared"])
    live.client.delete(first.id)
    assert live.sql("SELECT count(*) FROM answers") == [(1,)]
    assert live.sql("SELECT count(*) FROM calls") == [(1,)]


def test_no_key_and_no_header_is_ever_written_down(live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KEY_ENV", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    ai.next("500", "401", "refusal")
    run(live, asking(retry=ff.Retry(limit=3, first=0.01)), ["one"])
    assert all("sk-very-secret" not in str(rows) for rows in live.rows().values())
    assert ai.calls[-1].api_key == "sk-very-secret"


def test_only_so_many_calls_are_made_at_a_time(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_CONCURRENCY", "2")
    ai.always(slow(0.02))
    run(sqlite_live, asking(), [str(n) for n in range(12)])
    assert ai.busiest == 2


def test_two_workers_with_the_same_question_pay_once(live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two event loops have two askers, like two processes. They share only the database."""
    ai.always(slow(0.3))
    monkeypatch.setattr("fanfold.providers.question_asker.OTHERS_SECONDS", 0.02)
    pipeline = live.know(asking())
    tasks = [live.client.submit(pipeline, items=["same"]) for _ in range(4)]
    with live.working(concurrency=2), live.working(concurrency=2):
        for task in tasks:
            live.until(task, "completed")
    assert len(ai.calls) == 1


def test_ask_needs_no_loop_of_its_own(sqlite_live: Live, ai: AIServer) -> None:
    """A synchronous handler can ask too, with `asyncio.run`."""

    def handler(item: Any) -> str:
        return str(asyncio.run(item.ask(item.input)).text)

    task = run(sqlite_live, batch(handler=handler), ["one", "two"])
    assert (task.done, len(ai.calls)) == (2, 2)


def test_bad_answers_are_not_paid_again_when_the_next_model_has_to_wait(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.rate_limit.PATIENCE", 0.01)
    monkeypatch.setattr("fanfold.providers.question_asker.PATIENCE", 0.01)
    waits = iter([True, True, True])

    def answer(call: Call) -> Reply:
        if call.model == "fake-large":
            return Reply(text="")
        return Reply(text="fine") if not next(waits, False) else too_many_requests(0.2)(Reply())

    ai.answer(answer)
    task = run(live, asking(retry=ff.Retry(limit=0)), ["one"], fallback=["fake:fake-small"])
    assert live.client.result(task.id) == ["fine"]
    assert [call.model for call in ai.paid].count("fake-large") == 2
    live.client.retry(task.id, ["1"])
    with live.working():
        live.until(task, "completed")
    assert [call.model for call in ai.paid].count("fake-large") == 4, "who retries by hand wants it asked again"


def test_a_model_that_is_not_there_pauses_also_when_others_answer(sqlite_live: Live, ai: AIServer) -> None:
    def answer(call: Call) -> Reply:
        if call.model == "typo":
            return refused("404", 404, "There is no model typo")(Reply())
        return Reply(text="")

    ai.answer(answer)
    task = run(sqlite_live, asking(), ["one"], state="paused", fallback=["fake:typo"])
    assert "no model typo" in str(task.wait_reason)
    assert len(ai.paid) == 2


def test_a_refusal_of_one_item_alone_is_about_that_item(sqlite_live: Live, ai: AIServer) -> None:
    def answer(call: Call) -> Reply:
        return refused("403", 403, "Moderated")(Reply()) if "bad" in call.prompt else Reply(text="fine")

    ai.answer(answer)
    ai.always(slow(0.05))
    task = run(sqlite_live, asking(), ["bad", *(f"good {n}" for n in range(60))], state="partial")
    assert (task.done, task.failed) == (60, 1)
    assert "Moderated" in str(sqlite_live.client.items(task.id)[0].error_message)


def test_what_is_under_way_when_a_worker_stops_is_kept(live: Live, ai: AIServer) -> None:
    ai.next("held")
    task = live.client.submit(live.know(asking()), items=["one"])
    worker = Worker([live.pipelines[0]], store=live.store, name="leaving")
    thread = threading.Thread(target=worker.run)
    thread.start()
    eventually(lambda: ai.waiting)
    live.client.pause(task.id)
    live.item_is(task, "pending")
    worker.stop()
    ai.release()
    thread.join(60)
    assert live.sql("SELECT count(*) FROM answers WHERE body IS NOT NULL") == [(1,)]


def test_an_answer_with_half_a_character_is_taken_without_it(sqlite_live: Live, ai: AIServer) -> None:
    ai.answer("half \ud800 and \0 nothing")
    task = run(sqlite_live, asking(), ["one"])
    assert sqlite_live.client.result(task.id) == ["half ? and \N{REPLACEMENT CHARACTER} nothing"]
    assert (len(ai.calls), task.spending.calls) == (1, 1)


def test_a_service_that_wants_to_be_left_alone_for_hours_pauses_the_task(sqlite_live: Live, ai: AIServer) -> None:
    ai.always(too_many_requests(86_400))
    task = run(sqlite_live, asking(), ["one"], state="paused")
    assert "1440 min" in str(task.wait_reason)


def test_trouble_does_not_have_the_key_that_the_service_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds outside of tasks too, as in `fanfold providers test`, where no later step removes secrets."""
    monkeypatch.setenv("MY_VARIABLE", "sk-very-secret")
    said = say("answered_status", status=401, said="Invalid token sk-very-secret")
    trouble = ServiceTrouble(Provider("fake", key_env="MY_VARIABLE"), TroubleKind.REFUSED, said)
    assert trouble.message == str(trouble) == "fake answered 401: Invalid token …."
    assert "sk-very-secret" not in (kept(trouble.message) or "sk-very-secret")


def test_trouble_does_not_have_a_long_part_of_the_key_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_VARIABLE", "sk-0123456789abcdefghijklmnopqrs")
    said = say("answered_status", status=401, said="Invalid token sk-0123456789abcdefghij***")
    trouble = ServiceTrouble(Provider("fake", key_env="MY_VARIABLE"), TroubleKind.REFUSED, said)
    assert str(trouble) == "fake answered 401: Invalid token …***."
    assert "0123456789" not in (kept(trouble.message) or "0123456789")


def test_a_key_that_the_service_repeats_is_not_written_down(
    sqlite_live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KEY_ENV", "MY_KEY")
    monkeypatch.setenv("MY_KEY", "sk-very-secret")
    ai.always(refused("401", 401, "Invalid token sk-very-secret"))
    task = run(sqlite_live, asking(), ["one"], state="paused")
    assert "Invalid token …" in str(task.wait_reason)
    assert all("sk-very-secret" not in str(rows) for rows in sqlite_live.rows().values())


def test_results_of_the_turn_in_which_a_task_is_paused_count(live: Live, ai: AIServer) -> None:
    """A worker settles many results at once; a result that pauses the task must not undo the others."""

    async def handler(item: Any) -> str:
        await asyncio.sleep(0.2)
        if item.input == "pause" and item.attempt == 1:
            raise ff.PauseTask("stop here")
        return "done"

    task = live.client.submit(live.know(batch(handler=handler)), items=["a", "b", "pause", "c"])
    with live.working(concurrency=8):
        live.until(task, "paused")
        eventually(lambda: "running" not in live.states(task))
    assert [item.crashes for item in live.client.items(task.id)] == [0, 0, 0, 0]
    assert live.states(task).split().count("done") >= 1
