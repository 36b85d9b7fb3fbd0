"""Bad answers in the batch lane: each is paid for once, no matter how many items asked the question, or which task."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from tests.ai_protocol import Call, Reply
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.providers.test_batches import QUICK, ask, run

__all__ = ["live"]


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    made = Live(database_url, tmp_path, **QUICK)
    yield made
    made.store.close()


@pytest.fixture(autouse=True)
def fake_has_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")


def bad_at_first(call: Call) -> str:
    """A bad answer, and a good one to the same question with changed parameters."""
    return f"good {call.prompt}" if call.parameters.get("temperature") else f"bad {call.prompt}"


def no_bad(text: str) -> str:
    if text.startswith("bad"):
        raise ff.BadAnswer("not this one", code="says_bad")
    return text


async def checked(item: Any) -> str:
    """Ask one question and check the answer."""
    return str((await item.ask(str(item.input), check=no_bad)).text)


def test_a_bad_answer_to_the_same_question_of_several_items_is_paid_once(live: Live, ai: AIServer) -> None:
    ai.answer(bad_at_first)
    task = run(live, ["same"] * 4 + ["other"], handler=checked)
    assert live.client.result(task.id) == ["good same"] * 4 + ["good other"]
    assert ai.batches.paid == {"same": 2, "other": 2}, "the bad answer, and the good one"
    assert task.spending.calls == 4
    assert sorted(call.outcome for call in live.client.calls(task.id) if call.outcome != "cached") == [
        "says_bad", "says_bad", "taken", "taken",
    ]  # fmt: skip


@pytest.mark.one_database
def test_an_answer_that_was_cut_off_is_paid_once_for_all_items_that_asked(live: Live, ai: AIServer) -> None:
    def cut_off(call: Call) -> Reply:
        is_longer = call.parameters.get("max_tokens") == 32_000
        return Reply(text="whole" if is_longer else "who", finish_reason="stop" if is_longer else "length")

    ai.answer(cut_off)
    task = run(live, ["same"] * 4)
    assert live.client.result(task.id) == ["whole"] * 4
    assert (ai.batches.paid, len(ai.batches.batches)) == ({"same": 2}, 2)
    assert task.spending.calls == 2


@pytest.mark.one_database
def test_a_trial_with_a_bad_answer_is_paid_once_for_all_items_that_asked(
    database_url: str, tmp_path: Path, ai: AIServer
) -> None:
    ai.answer(lambda call: "" if not call.parameters.get("temperature") else "good")
    live = Live(database_url, tmp_path, **{**QUICK, "batch_trial": 1})
    task = run(live, ["same"] * 3)
    assert live.client.result(task.id) == ["good"] * 3
    assert [call.prompt for call in ai.calls] == ["same"], "the trial"
    assert ai.batches.paid == {"same": 1}
    live.store.close()


@pytest.mark.one_database
def test_a_cached_answer_that_the_check_rejects_is_asked_again(live: Live, ai: AIServer) -> None:
    ai.answer("bad old")
    run(live, ["one"], handler=ask)
    ai.answer(lambda call: "good new")
    task = run(live, ["one", "one"], handler=checked)
    assert live.client.result(task.id) == ["good new"] * 2
    assert ai.batches.paid == {"one": 2}, "once by each task"


@pytest.mark.one_database
def test_a_stricter_check_applies_when_an_item_is_redone(live: Live, ai: AIServer) -> None:
    """The cached answer of the earlier run is rejected, which must not look like a handler that asks something else."""
    words = ["old"]

    def strict(text: str) -> str:
        if text not in words:
            raise ff.BadAnswer("another word")
        return text

    async def asks_twice(item: Any) -> str:
        first = await item.ask(str(item.input), check=strict)
        return str((await item.ask(f"then {first.text}")).text)

    ai.answer(lambda call: words[0] if call.prompt == "one" else f"You said {call.prompt}")
    task = run(live, ["one"], handler=asks_twice)
    words[0] = "new"
    live.client.rerun(task.id)
    with live.working(concurrency=8):
        live.until(task, "completed")
    assert live.client.result(task.id) == ["You said then new"]
    assert ai.batches.paid == {"one": 2, "then old": 1, "then new": 1}


@pytest.mark.one_database
def test_an_answer_that_leaves_the_cache_between_two_attempts_is_no_changed_question(live: Live, ai: AIServer) -> None:
    dropped: list[int] = []

    async def asks_twice(item: Any) -> str:
        first = await item.ask("shared")
        second = await item.ask(f"then {item.input}")
        if not dropped:  # Before the next attempt reads it, as an answer that got too old.
            with live.store.write() as tx:
                dropped.append(tx.answers.drop_old(-1.0, 100))
        third = await item.ask(f"last {item.input}")
        return f"{first.text}, {second.text}, {third.text}"

    ai.answer(lambda call: f"You said {call.prompt}")
    run(live, ["shared"], handler=ask)
    task = run(live, ["one"], handler=asks_twice)
    [result] = live.client.result(task.id)
    assert result == "You said shared, You said then one, You said last one"


@pytest.mark.one_database
def test_the_books_list_fallbacks_and_repeated_questions_of_batches_separately(live: Live, ai: AIServer) -> None:
    def only_small(call: Call) -> str:
        return f"{'good' if call.model == 'fake-small' else 'bad'} {call.prompt}"

    ai.answer(only_small)
    task = run(live, ["one"], handler=checked, fallback=["fake:fake-small"])
    assert task.degraded == 1, "the answer of a fallback model"
    [row] = live.client.costs(by="task")
    each = row.cost / 3
    assert row.calls == 3
    assert [row.retries, row.fallbacks] == pytest.approx([each, each], rel=0.1)
    assert row.bad_answers == pytest.approx(2 * each, 0.1)
