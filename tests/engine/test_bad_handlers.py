"""One bad item fails with a clear reason, and never stops the rest."""

import asyncio
import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fanfold as ff
from tests.engine.pipelines import batch, book, one_step
from tests.installation import HandClock, Installation


class Unspeakable(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def raise_error(error: BaseException) -> Callable[[Any], None]:
    def handler(_item: Any) -> None:
        raise error

    return handler


def give(value: Any) -> Callable[[Any], Any]:
    return lambda _item: value


def use_and_raise(item: Any) -> None:
    item.used(cost=float("nan"))
    raise RuntimeError("after spending")


BAD: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "NaN": (give(float("nan")), "bad_input", "What convert returned cannot be stored as JSON: it contains NaN"),
    "NUL": (give("a\0b"), "bad_input", "NUL character"),
    "half a pair": (give("\ud800"), "bad_input", "surrogate"),
    "an object": (give(object()), "bad_input", "type object is not JSON"),
    "a generator": (give(iter([1])), "bad_input", "is not JSON"),
    "too much": (give("x" * 100_000_000), "bad_input", "is 100 MB; the limit is 64 MB"),
    "no text": (raise_error(ValueError()), "ValueError", "ValueError without a message"),
    "no words": (raise_error(Unspeakable()), "Unspeakable", "message that cannot be shown"),
    "bad text": (raise_error(ValueError("a\0b \ud800")), "ValueError", "a\N{REPLACEMENT CHARACTER}b ?"),
    "endless text": (raise_error(ValueError("x" * 1_000_000)), "ValueError", "xxx"),
    "permanent": (raise_error(ff.Permanent("gone", code="no_page")), "no_page", "gone"),
    "odd code": (raise_error(ff.Permanent("gone", code=404)), "404", "gone"),  # type: ignore[arg-type]
    "exit": (raise_error(SystemExit(3)), "SystemExit", "3"),
    "interrupt": (raise_error(KeyboardInterrupt()), "KeyboardInterrupt", "without a message"),
    "stop": (raise_error(StopIteration()), "StopIteration", "without a message"),
    "cancelled by itself": (raise_error(ff.Cancelled("me")), "cancelled", "me"),
    "many errors": (raise_error(ExceptionGroup("two", [ValueError("a"), ValueError("b")])), "ExceptionGroup", "two"),
    "bad usage and an error": (use_and_raise, "RuntimeError", "after spending"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.one_database
def test_a_bad_item_fails_with_its_reason_and_the_others_are_done(installation: Installation, name: str) -> None:
    bad, code, reason = BAD[name]

    def handler(item: Any) -> Any:
        if item.input == "bad":
            return bad(item)
        return item.input

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a", "bad", "c"])
    installation.work()
    assert installation.states(task) == "done failed done"
    item = installation.client.items(task.id)[1]
    assert item.error_code == code
    assert reason in (item.error_message or "")
    assert len(item.error_message or "") <= 4_000


def test_a_handler_with_the_wrong_parameters_fails_with_that_reason(installation: Installation) -> None:
    """It does not report its parameters; otherwise it would be refused at definition."""
    task = installation.client.submit(installation.know(one_step(min)))
    installation.work()
    assert "is not iterable" in (installation.client.get(task.id).error_message or "")


@pytest.mark.parametrize(
    "error", [RuntimeError("oops"), SystemExit(1), asyncio.CancelledError("inner"), ff.Cancelled()]
)
@pytest.mark.one_database
def test_an_async_handler_that_raises_fails_too(installation: Installation, error: BaseException) -> None:
    async def handler(_item: Any) -> None:
        raise error

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    installation.work()
    assert installation.states(task) == "failed"


@pytest.mark.parametrize("model", ["x" * 1_000, "a\0b", "\ud800", 5])
@pytest.mark.one_database
def test_an_odd_name_of_a_model_does_not_cost_the_result(installation: Installation, model: Any) -> None:
    def handler(item: Any) -> str:
        item.used(model=model, tokens=7)
        return "paid for"

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    assert installation.completed(task) == ["paid for"]
    assert installation.client.items(task.id)[0].usage == {"tokens": 7}


@pytest.mark.parametrize("wait", [float("inf"), float("nan"), -5, 1e300])
@pytest.mark.parametrize("kind", ["temporary", "later"])
@pytest.mark.one_database
def test_an_impossible_wait_is_made_possible(installation: Installation, kind: str, wait: float) -> None:
    def handler(_item: Any) -> Any:
        if kind == "later":
            return ff.later(wait)
        raise ff.Temporary("again", after=wait)

    task = installation.client.submit(installation.know(batch(handler=handler, retry=ff.Retry(limit=5))), items=["a"])
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    [item] = installation.client.items(task.id)
    assert item.state in ("retrying", "waiting")
    assert item.available_at is not None


def test_a_wait_that_is_no_number_is_an_error_of_the_handler(installation: Installation) -> None:
    def handler(_item: Any) -> Any:
        raise ff.Temporary("again", after="soon")  # type: ignore[arg-type]

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    installation.work()
    assert installation.states(task) == "failed"


def test_data_that_looks_like_a_file_is_kept_as_data(installation: Installation) -> None:
    value = {"$file": {"key": "x"}}
    task = installation.client.submit(installation.know(batch(handler=give(value))), items=["a"])
    assert installation.completed(task) == [value]


def splitting(installation: Installation, value: Any) -> ff.Task:
    pipeline = ff.Pipeline("cutting")

    @pipeline.split(retry=ff.Retry(limit=0))
    def cut(_task: Any) -> Any:
        return value() if callable(value) else value

    @pipeline.each
    def convert(item: Any) -> Any:
        return item.input

    task = installation.client.submit(installation.know(pipeline))
    installation.work()
    return installation.client.get(task.id)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([ff.NewItem("a"), ff.NewItem("b"), ff.NewItem("a")], "yields two items with the key 'a'; keys must be unique"),
        (None, "must yield NewItem.*it yielded NoneType"),
        ("text", "it yielded str"),
        ({"a": 1}, "it yielded dict"),
        (5, "it yielded int"),
        ([object()], "input of item 1 cannot be stored"),
        ([1, float("nan")], "input of item 2 cannot be stored"),
        ([ff.NewItem("\ud800", 1)], "key of item 1"),
        ([ff.NewItem("a\0", 1)], "key of item 1"),
        ([ff.NewItem("k" * 300, 1)], "key of item 1"),
    ],
    ids=["same keys", "nothing", "text", "dict", "number", "object", "NaN", "half a pair", "NUL", "long key"],
)
@pytest.mark.one_database
def test_a_split_that_gives_nonsense_fails_with_the_reason_and_makes_no_item(
    installation: Installation, value: Any, reason: str
) -> None:
    task = splitting(installation, value)
    assert task.state == "failed"
    assert re.search(reason, task.error_message or ""), task.error_message
    assert installation.sql("SELECT * FROM items WHERE stage = 'convert'") == []


def test_a_split_that_fails_half_way_makes_no_item(installation: Installation) -> None:
    def half() -> Iterator[Any]:
        yield ff.NewItem("a")
        raise RuntimeError("the file ends here")

    task = splitting(installation, half)
    assert (task.state, task.error_message) == ("failed", "cut failed: the file ends here")
    assert installation.sql("SELECT * FROM items WHERE stage = 'convert'") == []


@pytest.mark.parametrize("value", [[], iter(())])
@pytest.mark.one_database
def test_a_split_of_nothing_is_fine(installation: Installation, value: Any) -> None:
    task = splitting(installation, value)
    assert task.state == "completed"
    assert installation.client.result(task.id) == []


def test_a_split_may_yield_plain_values(installation: Installation) -> None:
    task = splitting(installation, [1, "two", {"three": 3}, None])
    assert installation.client.result(task.id) == [1, "two", {"three": 3}, None]


@pytest.mark.slow
@pytest.mark.one_database
def test_fifty_thousand_items_are_made_with_flat_memory(installation: Installation) -> None:
    pipeline = ff.Pipeline("large")

    @pipeline.split
    def cut(_task: Any) -> Iterator[ff.NewItem]:
        for number in range(50_000):
            yield ff.NewItem(f"{number:06}", {"text": "x" * 100})

    pipeline.each(name="convert")(lambda item: None)
    task = installation.client.submit(installation.know(pipeline))
    worker = installation.worker()
    [(row, one)] = worker.turn().claimed
    gc.collect()
    tracemalloc.start()
    worker.settle(worker.call(row, one))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert installation.client.get(task.id).total == 50_000
    # All at once would be more than 20 MB.
    assert peak < 8_000_000
    assert list((installation.settings.data_folder / "scratch").iterdir()) == []


def test_an_error_is_kept_also_after_the_item_has_succeeded(installation: Installation, clock: HandClock) -> None:
    def handler(item: Any) -> str:
        if item.attempt == 1:
            raise ff.Temporary("429 from the provider", code="rate_limit", after=5)
        return "fine"

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    installation.work()
    assert installation.states(task) == "retrying"
    clock.advance(5)
    assert installation.completed(task) == ["fine"]
    [item] = installation.client.items(task.id)
    assert (item.error_code, item.error_message, item.failures) == ("rate_limit", "429 from the provider", 1)
    assert installation.client.get(task.id).retries == 1


def test_retries_are_used_up_one_by_one(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=2, first=10, factor=2, jitter=0)))
    task = installation.client.submit(pipeline, items=["flaky"])
    seen = []
    for wait in (9, 1, 19, 1):
        installation.work()
        seen.append(installation.states(task))
        clock.advance(wait)
    installation.work()
    assert seen == ["retrying"] * 4
    assert installation.states(task) == "failed"
    assert installation.client.items(task.id)[0].failures == 3


def test_a_task_may_set_its_own_limit_of_retries(installation: Installation) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=5)))
    task = installation.client.submit(pipeline, items=["flaky"], retry_limit=0)
    installation.work()
    assert installation.states(task) == "failed"


def test_a_refusal_that_does_not_count_uses_up_no_retry(installation: Installation, clock: HandClock) -> None:
    def handler(item: Any) -> str:
        if item.attempt < 6:
            raise ff.Temporary("429", after=1, counts=False)
        return "at last"

    task = installation.client.submit(installation.know(batch(handler=handler, retry=ff.Retry(limit=0))), items=["a"])
    for _ in range(5):
        installation.work()
        assert installation.states(task) == "retrying"
        clock.advance(1)
    assert installation.completed(task) == ["at last"]
    assert installation.client.items(task.id)[0].failures == 0


def test_an_external_job_is_started_once_and_looked_at_until_it_is_done(
    installation: Installation, clock: HandClock
) -> None:
    started = []

    def handler(item: Any) -> Any:
        if "job" not in item.memory:
            started.append(item.key)
            item.remember(job=f"job-{item.key}")
            return ff.later(10)
        return item.memory["job"] if item.attempt > 3 else ff.later(10)

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    for _ in range(3):
        installation.work()
        assert installation.states(task) == "waiting"
        assert installation.sql("SELECT worker FROM items WHERE state = 'running'") == []
        clock.advance(10)
    assert installation.completed(task) == ["job-1"]
    assert started == ["1"]


def test_an_external_job_is_given_up_after_its_own_limit(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(handler=lambda item: ff.later(30), wait_limit=100))
    task = installation.client.submit(pipeline, items=["a"])
    for _ in range(5):
        installation.work()
        clock.advance(30)
    installation.work()
    [item] = installation.client.items(task.id)
    assert (item.state, item.error_code) == ("failed", "gave_up")
    assert item.failures == 1


def test_memory_outlives_a_failed_and_a_lost_attempt(installation: Installation, clock: HandClock) -> None:
    def handler(item: Any) -> Any:
        item.remember(**{f"attempt{item.attempt}": True})
        if item.attempt < 3:
            raise ff.Temporary("again", after=0)
        return sorted(item.memory)

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=3)))
    task = installation.client.submit(pipeline, items=["a"])
    assert installation.completed(task) == [["attempt1", "attempt2", "attempt3"]]


def test_a_person_who_retries_starts_with_an_empty_memory(installation: Installation) -> None:
    def handler(item: Any) -> Any:
        item.remember(count=item.memory.get("count", 0) + 1)
        return item.memory["count"]

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    assert installation.completed(task) == [1]
    installation.client.retry(task.id, ["1"])
    assert installation.completed(task) == [1]


def test_scratch_files_are_gone_after_the_attempt(installation: Installation) -> None:
    def handler(item: Any) -> Any:
        (item.scratch / "page.png").write_bytes(b"pixels")
        if item.input == "bad":
            raise ff.Permanent("bad")
        return (item.scratch / "page.png").read_bytes().decode()

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a", "bad"])
    installation.work()
    assert installation.states(task) == "done failed"
    assert list((installation.settings.data_folder / "scratch").iterdir()) == []


def test_a_file_that_a_handler_writes_is_part_of_the_result(installation: Installation) -> None:
    def handler(item: Any) -> Any:
        return {"page": item.write("page.txt", f"text of {item.input}")}

    task = installation.client.submit(installation.know(batch(handler=handler)), items=["a"])
    [result] = installation.completed(task)
    assert result["page"].read_text() == "text of a"
    assert result["page"].name == "page.txt"


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b"])
@pytest.mark.one_database
def test_a_file_has_a_name_and_no_folder(installation: Installation, name: str) -> None:
    task = installation.client.submit(installation.know(batch(handler=lambda item: item.write(name, "x"))), items=["a"])
    installation.work()
    assert "is not a file name" in (installation.client.items(task.id)[0].error_message or "")


def test_what_was_used_is_kept_for_failed_attempts_too(installation: Installation) -> None:
    def handler(item: Any) -> str:
        item.used(model="large", tokens=10)
        item.used(cost=0.5)
        if item.attempt == 1:
            raise ff.Temporary("cut off", after=0)
        return "whole"

    pipeline = installation.know(batch(handler=handler, retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a"])
    assert installation.completed(task) == ["whole"]
    rows = installation.sql("SELECT outcome, model, usage, lease FROM attempts ORDER BY id")
    assert [tuple(row) for row in rows] == [
        ("retrying", "large", '{"tokens":10,"cost":0.5}', 1),
        ("done", "large", '{"tokens":10,"cost":0.5}', 2),
    ]
    [item] = installation.client.items(task.id)
    assert (item.model, item.usage) == ("large", {"tokens": 10, "cost": 0.5})


def test_the_merge_reads_a_large_stage_page_by_page(installation: Installation) -> None:
    task = installation.client.submit(
        installation.know(book()), options={"texts": [f"t{number}" for number in range(1_203)]}
    )
    pages = installation.completed(task)["pages"]
    assert pages == [f"T{number}" for number in range(1_203)]
