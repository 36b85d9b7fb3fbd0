"""The cost of a task is estimated before the task starts, and reported as unknown if it is unknown."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.text.sentences import Sentence
from fanfold.model.values.token_estimate import guessed_tokens
from tests.ai_protocol import Call, Reply
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch


@pytest.fixture
def live(database_url: str, tmp_path: Path) -> Iterator[Live]:
    """An installation with real workers."""
    made = Live(database_url, tmp_path / "data")
    yield made
    made.store.close()


async def ask(item: Any) -> str:
    """Ask one question and return the answer, as most handlers do."""
    answer = await item.ask(str(item.input))
    return str(answer.text)


def asking(name: str = "batch") -> ff.Pipeline:
    return batch(name, handler=ask, retry=ff.Retry(limit=0))


def answered(call: Call) -> int:
    """The number of tokens of an answer, from 800 to 1200."""
    return 800 + 100 * (int(call.prompt) % 5)


def varied(call: Call) -> Reply:
    """Answers of different lengths."""
    return Reply(text="yes", output_tokens=answered(call), input_tokens=500)


def code_of(made: ff.Estimate) -> str:
    assert isinstance(made.why, Sentence)
    return made.why.code


def run(live: Live, pipeline: ff.Pipeline, items: list[Any]) -> ff.Task:
    task = live.client.submit(pipeline, items=items)
    with live.working(concurrency=4):
        return live.until(task, "completed")


def test_tokens_are_guessed_from_bytes_and_other_characters() -> None:
    assert guessed_tokens("a" * 420) == 100
    assert guessed_tokens("语" * 100) == 85
    assert guessed_tokens("a" * 420, None, "语" * 100) == 185
    assert guessed_tokens() == 0


def test_nothing_known_is_said_to_be_unknown(live: Live, ai: AIServer) -> None:
    made = live.client.estimate(live.know(asking()), items=[1, 2, 3])
    assert code_of(made) == "estimate_unknown"
    assert (made.items, made.live.expected, made.model) == (3, None, "fake:fake-large")
    assert ai.calls == []


def test_a_sample_of_3_tells_the_cost_within_a_quarter_and_is_kept(live: Live, ai: AIServer) -> None:
    ai.answer(varied)
    pipeline = live.know(asking())
    made = live.client.estimate(pipeline, items=list(range(40)), sample=3)
    assert code_of(made) == "estimate_sample"
    assert made.sampled == 3
    assert made.spent == pytest.approx(sum((500 + answered(call)) / 1000 for call in ai.paid[: made.sampled]))
    assert made.task is not None
    paused = live.client.get(made.task)
    assert (paused.state, paused.done) == ("paused", made.sampled)
    live.client.resume(made.task)
    with live.working(concurrency=4):
        done = live.until(paused, "completed")
    assert len(ai.paid) == 40, "no item was paid for twice"
    assert made.live.expected == pytest.approx(done.spending.cost, rel=0.25)
    assert made.live.low is not None
    assert made.live.high is not None
    assert made.live.low <= done.spending.cost <= made.live.high
    assert made.output_tokens == pytest.approx(done.spending.output_tokens, rel=0.25)


def test_items_that_ask_no_model_count_in_a_sample(live: Live, ai: AIServer) -> None:
    async def ask_sometimes(item: Any) -> str:
        return await ask(item) if item.input % 2 else "known"

    ai.answer(Reply(text="yes", output_tokens=500, input_tokens=500))
    made = live.client.estimate(live.know(batch(handler=ask_sometimes)), items=list(range(20)), sample=4)
    assert (made.sampled, made.spent, made.calls) == (4, 2.0, 10)
    assert made.live.expected == pytest.approx(10.0), "every second item costs a dollar"


def test_earlier_items_of_the_pipeline_and_model_tell_the_cost(live: Live, ai: AIServer) -> None:
    ai.answer(varied)
    pipeline = live.know(asking())
    run(live, pipeline, list(range(10)))
    made = live.client.estimate(pipeline, items=list(range(100, 150)))
    assert code_of(made) == "estimate_history"
    assert made.calls == 50
    assert made.live.expected == pytest.approx(75.0)
    assert made.live.low == pytest.approx(50 * 1.3)
    assert made.live.high == pytest.approx(50 * 1.7)
    other = live.client.estimate(pipeline, items=[1], options={"model": "fake-small"})
    assert code_of(other) == "estimate_unknown", "another model has another price"
    assert len(ai.paid) == 10


def test_declared_calls_are_corrected_by_what_the_model_really_counted(live: Live, ai: AIServer) -> None:
    ai.answer(lambda call: Reply(text="yes", input_tokens=210, output_tokens=50))
    pipeline = live.know(asking())
    text = "a" * 420

    @pipeline.estimate
    def expected(work: ff.EstimateWork) -> Iterator[ff.ExpectedCall]:
        for item in work.items or ():
            yield ff.ExpectedCall(str(item))

    before = live.client.estimate(pipeline, items=[text] * 4)
    assert code_of(before) == "estimate_declared"
    assert (before.calls, before.input_tokens, before.output_tokens) == (4, 400, 420)
    assert before.live.expected == pytest.approx(0.82)
    assert before.live.high == pytest.approx(1.64)
    run(live, pipeline, [text, text + "b" * 2])
    after = live.client.estimate(pipeline, items=[text] * 4)
    assert code_of(after) == "estimate_declared_measured"
    assert after.input_tokens == pytest.approx(840, abs=8), "this model counts two tokens for each that is guessed"
    assert after.output_tokens == 200
    assert after.live.expected == pytest.approx(1.04, abs=0.01)
    with pytest.raises(ff.BadPipeline, match="already has an estimate"):
        pipeline.estimate(expected)


def test_an_unknown_price_is_said_to_be_unknown(live: Live, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FANFOLD_PROVIDERS_FAKE_PRICE_INPUT")
    pipeline = live.know(asking())
    pipeline.estimate(lambda work: [ff.ExpectedCall("hello", count=2)])
    made = live.client.estimate(pipeline, items=["a", "b"])
    assert code_of(made) == "estimate_price_unknown"
    assert (made.live.expected, made.calls) == (None, 2)


def test_batches_cost_half_where_the_service_has_them(live: Live, ai: AIServer) -> None:
    pipeline = live.know(asking())
    pipeline.estimate(lambda work: [ff.ExpectedCall(input_tokens=1_000_000, output_tokens=0)])
    here, there = (
        live.client.estimate(pipeline, items=["a"], options={"provider": provider}) for provider in ("fake", "openai")
    )
    assert [lane.expected for lane in here.lanes] == [1000.0, None]
    live_lane, batch_lane = there.lanes
    assert live_lane.expected == pytest.approx(0.75)
    assert batch_lane.expected == pytest.approx(0.375)


def test_a_pipeline_that_asks_nobody_costs_nothing(live: Live, ai: AIServer) -> None:
    pipeline = live.know(asking())
    pipeline.estimate(lambda work: [])
    made = live.client.estimate(pipeline, items=["a"])
    assert (code_of(made), made.live.expected) == ("estimate_no_calls", 0.0)
    with pytest.raises(ff.BadInput, match="not a number of items"):
        live.client.estimate(pipeline, items=["a"], sample=-1)


def test_a_sample_of_one_stage_counts_what_came_before_and_names_what_comes_after(live: Live, ai: AIServer) -> None:
    ai.answer(Reply(text="yes", output_tokens=0))
    p = ff.Pipeline("staged")

    @p.split
    async def parts(task: Any) -> list[int]:
        await task.ask("what parts?")
        return list(range(10))

    @p.each(retry=ff.Retry(limit=0))
    async def judge(item: Any) -> str:
        return str((await item.ask(f"judge {item.input}", model="fake-large")).text)

    @p.each
    async def polish(item: Any) -> str:
        return str((await item.ask(f"polish {item.key}")).text)

    @p.merge
    def bound(task: Any, results: Any) -> int:
        return len(list(results))

    made = live.client.estimate(live.know(p), sample=3)
    one = made.spent / (1 + made.sampled)
    assert made.lanes[0].expected == pytest.approx(11 * one), "one call of the split, and ten of the sampled stage"
    assert made.calls == 11
    assert code_of(made) == "estimate_sample_later"
    assert "not included: polish, bound." in str(made.why)
