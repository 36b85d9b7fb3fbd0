"""Tests of the batch lane: questions are answered in batches at half price, and each is paid for once, whatever happens."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import fanfold as ff
from fanfold.providers.batches.batch_round import BatchRound
from fanfold.providers.batches.batch_service import ProviderConnection
from fanfold.providers.batches.openai_batches import OpenAIBatches
from fanfold.store.rows.money.batches import BatchRow
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.server.asking import served
from tests.waiting import eventually

QUICK = {"batch_quiet_seconds": 0.3, "batch_poll_seconds": 0.2, "batch_trial": 0}


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers, whose batches are sent soon."""
    made = Live(database_url, tmp_path, **QUICK)
    yield made
    made.store.close()


@pytest.fixture(autouse=True)
def fake_has_batches(ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    ai.answer(lambda call: f"You said {call.prompt}")


async def ask(item: Any) -> str:
    """Ask one question and return the answer, as most handlers do."""
    answer = await item.ask(str(item.input))
    return str(answer.text)


def run(live: Live, items: list[Any], state: str = "completed", handler: Any = ask, **options: Any) -> ff.Task:
    options = {"lane": "batch", **options}
    task = live.client.submit(live.know(batch(handler=handler)), items=items, options=options)
    with live.working(concurrency=8):
        return live.until(task, state)


def test_questions_are_answered_in_one_batch_at_half_price(live: Live, ai: AIServer) -> None:
    task = run(live, ["one", "two", "three"])
    assert live.client.result(task.id) == ["You said one", "You said two", "You said three"]
    assert len(ai.batches.batches) == 1
    assert ai.batches.paid == {"one": 1, "two": 1, "three": 1}
    assert ai.calls == []
    assert task.spending.calls == 3
    assert task.spending.cost == pytest.approx(1.5, abs=0.1)
    assert [call.outcome for call in live.client.calls(task.id)] == ["taken"] * 3
    assert ai.batches.files == {}


def test_a_provider_that_speaks_responses_is_asked_for_responses_in_batches(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", "responses")
    ai.batches.refuses = lambda prompt: {"message": "too long", "code": "too_long"} if prompt == "bad" else None
    task = run(live, ["one", "bad"], state="partial")
    [sent] = ai.batches.batches.values()
    assert {sent.endpoint, *(request["url"] for request in sent.requests)} == {"/v1/responses"}
    assert sent.requests[0]["body"]["store"] is False, "nothing of a question is kept at the service"
    assert ai.batches.paid == {"one": 1}
    assert task.spending.cost == pytest.approx(0.5, abs=0.1)
    [good] = [item for item in live.client.items(task.id) if item.state == "done"]
    assert live.client.output(task.id, good.key) == "You said one"


def test_a_waiting_question_holds_no_worker_and_the_handler_runs_again_from_its_start(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    runs: list[str] = []

    async def counted(item: Any) -> str:
        runs.append(item.key)
        return await ask(item)

    task = live.client.submit(live.know(batch(handler=counted)), items=["one"], options={"lane": "batch"})
    with live.working(concurrency=1):
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        live.item_is(task, "waiting")
        assert live.client.get(task.id).batched.sent == 1
        ai.batches.held = False
        live.until(task, "completed")
    assert len(runs) == 2


def test_two_questions_of_one_handler_take_two_batches(live: Live, ai: AIServer) -> None:
    async def twice(item: Any) -> str:
        first = await item.ask(f"first {item.input}")
        second = await item.ask(f"second {first.text}")
        return str(second.text)

    pipeline = live.know(batch(handler=twice, wait_limit=0.01))  # It is for external jobs, not for batches.
    task = live.client.submit(pipeline, items=["x", "y"], options={"lane": "batch"})
    with live.working(concurrency=8):
        live.until(task, "completed")
    assert live.client.result(task.id) == ["You said second You said first x", "You said second You said first y"]
    assert len(ai.batches.batches) == 2
    assert set(ai.batches.paid.values()) == {1}


def test_the_same_question_of_several_items_is_paid_once(live: Live, ai: AIServer) -> None:
    task = run(live, ["same"] * 5 + ["other"])
    assert live.client.result(task.id) == ["You said same"] * 5 + ["You said other"]
    assert ai.batches.paid == {"same": 1, "other": 1}


def test_expired_questions_go_into_the_next_batch(live: Live, ai: AIServer) -> None:
    expired: set[str] = set()

    def expires(prompt: str) -> bool:
        is_first = prompt not in expired
        expired.add(prompt)
        return is_first and prompt in ("two", "three")

    ai.batches.expires = expires
    task = run(live, ["one", "two", "three"])
    assert live.client.result(task.id) == ["You said one", "You said two", "You said three"]
    assert len(ai.batches.batches) == 2
    assert ai.batches.paid == {"one": 1, "two": 1, "three": 1}


def test_a_refused_question_fails_with_the_services_reason_and_the_others_go_on(live: Live, ai: AIServer) -> None:
    ai.batches.refuses = lambda prompt: {"message": "too long", "code": "too_long"} if prompt == "bad" else None
    task = run(live, ["good", "bad"], state="partial")
    assert ai.batches.paid == {"good": 1}
    [failed] = [item for item in live.client.items(task.id) if item.state == "failed"]
    assert "too long" in (failed.error_message or "")


def test_a_bad_answer_is_asked_again_with_changed_parameters_in_the_next_batch(live: Live, ai: AIServer) -> None:
    def once(text: str) -> str:
        if text == "bad":
            raise ff.BadAnswer("not this one")
        return text

    async def checked(item: Any) -> str:
        answer = await item.ask(str(item.input), check=once)
        return str(answer.text)

    ai.answer(lambda call: "good" if call.parameters.get("temperature") else "bad")
    task = run(live, ["one"], handler=checked)
    assert live.client.result(task.id) == ["good"]
    assert ai.batches.paid == {"one": 2}
    assert [call.outcome for call in live.client.calls(task.id)] == ["bad_answer", "taken"]


def test_a_handler_that_asks_something_else_fails_and_starts_no_second_batch(live: Live, ai: AIServer) -> None:
    numbers = iter(range(100))

    async def changing(item: Any) -> str:
        return str((await item.ask(f"{item.input} {next(numbers)}")).text)

    task = run(live, ["one"], state="failed", handler=changing)
    assert sum(ai.batches.paid.values()) == 1
    [item] = live.client.items(task.id)
    assert item.error_code == "question_changed"
    assert "must ask the same question" in (item.error_message or "")


def test_a_connection_cut_after_create_makes_no_second_batch(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.batches.batch_round.AGAIN_SECONDS", 0.2)
    ai.batches.faults.append(("POST /v1/batches", "reset"))
    task = run(live, ["one", "two"])
    assert len(ai.batches.batches) == 1
    assert ai.batches.paid == {"one": 1, "two": 1}
    assert live.client.result(task.id) == ["You said one", "You said two"]


def test_results_that_were_all_read_are_not_read_again_after_a_crash(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies after the results are written and before the files at the service are removed."""
    read: list[str] = []
    removed: list[str] = []
    results, remove = OpenAIBatches.results, BatchRound._remove

    def counted(self: OpenAIBatches, job: str, model: str) -> Any:
        read.append(job)
        return results(self, job, model)

    async def crash_first(self: BatchRound, row: BatchRow, connection: ProviderConnection) -> None:
        removed.append(row.name)
        if len(removed) == 1:
            raise RuntimeError("simulated crash")
        await remove(self, row, connection)

    monkeypatch.setattr(OpenAIBatches, "results", counted)
    monkeypatch.setattr(BatchRound, "_remove", crash_first)
    task = run(live, ["one", "two"])
    with live.working():
        eventually(lambda: live.sql("SELECT state FROM batches") == [("done",)])
    assert live.client.result(task.id) == ["You said one", "You said two"]
    assert (len(read), len(removed), ai.batches.files) == (1, 2, {})


def test_a_batch_that_is_too_large_is_sent_in_smaller_ones(live: Live, ai: AIServer) -> None:
    ai.batches.token_limit = 1_200
    items = [f"{number} " + "x" * 100 for number in range(8)]
    run(live, items)
    assert len(ai.batches.batches) > 2
    assert all(ai.batches.paid[item] == 1 for item in items)


def test_after_the_deadline_questions_are_asked_live(live: Live, ai: AIServer) -> None:
    ai.batches.expires = lambda prompt: True
    task = run(live, ["one", "two"], deadline="2s")
    assert live.client.result(task.id) == ["You said one", "You said two"]
    assert len(ai.paid) == 2
    assert ai.batches.paid == {}


def test_the_rest_of_a_running_task_can_be_switched_to_live(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = live.client.submit(live.know(batch(handler=ask)), items=["one", "two"], options={"lane": "batch"})
    with live.working(concurrency=8):
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        live.client.set_lane(task.id, "live")
        done = live.until(task, "completed")
    assert live.client.result(task.id) == ["You said one", "You said two"]
    [sent] = ai.batches.batches.values()
    assert sent.status == "cancelled"
    assert sorted(call.prompt for call in ai.paid) == ["one", "two"]
    assert ai.batches.paid == {}
    assert done.options["lane"] == "live"


def test_a_question_of_several_items_that_is_in_a_batch_is_not_asked_live_as_well(live: Live, ai: AIServer) -> None:
    """The batch has ended at the service when a person switches to live: its answer is paid for, and serves all items."""
    ai.batches.held = True
    task = live.client.submit(live.know(batch(handler=ask)), items=["same", "same"], options={"lane": "batch"})
    with live.working(concurrency=8):
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        eventually(lambda: [item.state for item in live.client.items(task.id)] == ["waiting", "waiting"])
    [sent] = ai.batches.batches.values()
    ai.batches.finish(sent)
    live.client.set_lane(task.id, "live")
    with live.working(concurrency=8):
        live.until(task, "completed")
    assert live.client.result(task.id) == ["You said same"] * 2
    assert (ai.batches.paid, ai.calls) == ({"same": 1}, [])


@pytest.mark.one_database
def test_answers_that_exist_when_a_task_is_cancelled_are_paid_and_kept_for_others(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    pipeline = live.know(batch(handler=ask))
    task = live.client.submit(pipeline, items=["one"], options={"lane": "batch"})
    with live.working():
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
    [sent] = ai.batches.batches.values()
    ai.batches.finish(sent)
    live.client.cancel(task.id)
    with live.working():
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
        other = live.until(live.client.submit(pipeline, items=["one"]), "completed")
    assert (other.spending.cached, ai.calls, ai.batches.paid) == (1, [], {"one": 1})
    assert live.client.get(task.id).spending.calls == 1


def test_a_task_switched_to_live_says_that_its_batch_is_shared_with_another_task(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    pipeline = live.know(batch(handler=ask))
    task = live.client.submit(pipeline, items=["one", "two"], options={"lane": "batch"})
    other = live.client.submit(pipeline, items=["three"], options={"lane": "batch"})
    with live.working(concurrency=8):
        eventually(lambda: [(one.state, one.questions) for one in live.client.batches()] == [("running", 3)])
        said = live.client.set_lane(task.id, "live").wait_reason
        assert said == (
            "waits for batches, which may take a day: 2 questions at the service; 2 will be asked live when their batch is "
            "over, which is not cancelled because other tasks wait for it too"
        )
        assert live.client.get(other.id).wait_reason == (
            "waits for batches, which may take a day: 1 question at the service"
        )
        ai.batches.held = False
        for one in (task, other):
            live.until(one, "completed")


def test_questions_of_a_batch_that_is_being_sent_are_not_called_sent(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, free = threading.Event(), threading.Event()

    async def upload(here: OpenAIBatches, *given: Any) -> str:
        entered.set()
        await asyncio.to_thread(free.wait, 60)
        return await create(here, *given)

    create = OpenAIBatches.create
    monkeypatch.setattr(OpenAIBatches, "create", upload)
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working(concurrency=8):
        assert entered.wait(60)
        shown = live.client.get(task.id)
        free.set()
        assert (shown.batched.sending, shown.batched.sent) == (1, 0)
        assert shown.wait_reason == "waits for batches, which may take a day: 1 question being sent"
        live.until(task, "completed")


def test_a_cancelled_task_cancels_its_batch_at_the_service(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working():
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        live.client.cancel(task.id)
        eventually(lambda: [one.status for one in ai.batches.batches.values()] == ["cancelled"])
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])


def test_pause_and_resume_keep_the_batch(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"})
    with live.working():
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        live.client.pause(task.id)
        ai.batches.held = False
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
        live.client.resume(task.id)
        live.until(task, "completed")
    assert ai.batches.paid == {"one": 1}


def test_a_large_batch_is_tried_with_one_question_first(database_url: str, tmp_path: Path, ai: AIServer) -> None:
    live = Live(database_url, tmp_path, **{**QUICK, "batch_trial": 5})
    task = run(live, [str(number) for number in range(12)])
    assert len(ai.paid) == 1
    assert sum(ai.batches.paid.values()) == 11
    assert task.spending.calls == 12
    live.store.close()


def test_a_trial_without_a_reply_is_repeated_under_its_key(
    database_url: str, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_IDEMPOTENCY_HEADER", "Idempotency-Key")
    live = Live(database_url, tmp_path, **{**QUICK, "batch_trial": 5})
    ai.next("reset")
    task = run(live, [str(number) for number in range(6)])
    assert (task.spending.calls, task.spending.possibly_paid) == (6, 0), "what was lost is the same as what came"
    assert len({call.idempotency_key for call in ai.calls} - {None}) == 1
    assert (len(ai.calls), len(ai.paid)) == (2, 1)
    live.store.close()


def test_a_trial_that_is_refused_pauses_the_task_and_sends_no_batch(
    database_url: str, tmp_path: Path, ai: AIServer
) -> None:
    live = Live(database_url, tmp_path, **{**QUICK, "batch_trial": 5})
    ai.always("401")
    task = run(live, [str(number) for number in range(12)], state="paused")
    assert ai.batches.batches == {}
    assert ai.paid == []
    assert "Incorrect API key" in (live.client.get(task.id).wait_reason or "")
    live.store.close()


def test_large_requests_leave_no_files_behind(live: Live, ai: AIServer) -> None:
    ai.answer("short")
    long = "x" * 100_000
    task = run(live, [long])
    assert ai.batches.paid == {long: 1}
    eventually(lambda: not list(live.store.settings.data_folder.rglob("*question-*")))
    with live.store.read() as tx:
        assert tx.removal.files(tx.tasks.resolve(task.id, None).number) == []


def test_lanes_and_deadlines_that_do_not_exist_are_refused_before_anything_begins(live: Live) -> None:
    with pytest.raises(ff.BadInput, match="live, batch or auto"):
        live.client.submit(batch(handler=ask), items=["x"], options={"lane": "fast"})
    with pytest.raises(ff.BadInput, match="not a length of time"):
        live.client.submit(batch(handler=ask), items=["x"], options={"deadline": "soon"})
    with pytest.raises(ff.BadPipeline, match="live, batch, auto"):
        batch(handler=ask, lane="fast")


def test_questions_in_a_batch_count_in_the_budget_at_half_price(live: Live, ai: AIServer) -> None:
    task = live.client.submit(
        live.know(batch(handler=ask)), items=["one", "two"], options={"lane": "batch"}, budget=100.0
    )
    with live.working(concurrency=8):
        live.until(task, "completed")
    budget = live.client.budget(task.id)
    assert budget is not None
    assert budget.spent == pytest.approx(1.0, abs=0.1)
    assert budget.reserved == 0


def test_a_budget_that_is_spent_pauses_the_task_before_more_questions_are_sent(
    live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.batches.question_lane.BUDGET_SECONDS", 1.0)
    pipeline = live.know(batch(handler=ask, concurrency=1))
    items = [f"question {number}" for number in range(20)]
    task = live.client.submit(pipeline, items=items, options={"lane": "batch"}, budget=1.2)
    with live.working(concurrency=1):
        paused = live.until(task, "paused", 100)
    assert 0 < sum(ai.batches.paid.values()) < 20
    assert "budget" in (paused.wait_reason or "").lower()


def test_the_page_shows_what_is_in_batches_and_asks_the_rest_live(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    task = live.client.submit(live.know(batch(handler=ask)), items=["one", "two"], options={"lane": "batch"})
    with live.working(concurrency=8), served(live) as (address, _), httpx2.Client(timeout=60) as browser:
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        page = browser.get(f"{address}/tasks/{task.id}").text
        assert "waits for batches, which may take a day: 2 questions at the service<" in page
        [shown] = browser.get(f"{address}/api/v1/batches").json()["batches"]
        assert (shown["state"], shown["questions"]) == ("running", 2)
        assert browser.get(f"{address}/api/v1/tasks/{task.id}").json()["batched"]["sent"] == 2
        answer = browser.post(f"{address}/api/v1/tasks/{task.id}/lane", json={"lane": "live"})
        assert answer.json()["options"]["lane"] == "live"
        live.until(task, "completed")
    assert sorted(call.prompt for call in ai.paid) == ["one", "two"]


def test_questions_of_a_cancelled_task_go_into_no_further_batch(live: Live, ai: AIServer) -> None:
    ai.batches.held = True
    pipeline = live.know(batch(handler=ask))
    task = live.client.submit(pipeline, items=["one"], options={"lane": "batch"}, budget=10.0)
    with live.working():
        eventually(lambda: [one.state for one in live.client.batches()] == ["running"])
        live.client.cancel(task.id)
        eventually(lambda: [one.state for one in live.client.batches()] == ["done"])
        ai.batches.held = False
        other = live.client.submit(pipeline, items=["other"], options={"lane": "batch"})
        live.until(other, "completed")
        assert (len(ai.batches.batches), ai.batches.paid) == (2, {"other": 1})
        assert live.client.get(task.id).batched.open == 0
        live.client.retry(task.id)
        live.until(task, "completed")
    assert ai.batches.paid == {"other": 1, "one": 1}
    assert ai.calls == []


def test_questions_of_a_task_cancelled_before_its_batch_was_sent_are_withdrawn(live: Live, ai: AIServer) -> None:
    live.store.settings.__dict__["batch_quiet_seconds"] = 3_600.0
    task = live.client.submit(live.know(batch(handler=ask)), items=["one"], options={"lane": "batch"}, budget=10.0)
    with live.working():
        eventually(lambda: live.client.get(task.id).batched.collected == 1)
        live.client.cancel(task.id)
        eventually(lambda: live.client.get(task.id).batched.open == 0)
    budget = live.client.budget(task.id)
    assert budget is not None
    assert (ai.batches.batches, budget.reserved) == ({}, 0)
