"""A handler that gets a batch of items: each item keeps its own end, and none pays for another."""

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.handler_batches import into_calls
from fanfold.errors import BadPipeline
from fanfold.model.endings import Ending
from fanfold.testing import Engine, rate_limited
from tests.engine import isolated
from tests.engine.live import Live
from tests.installation import Installation

Calls = list[list[str]]


def together(work: Callable[[list[Any]], Any], calls: Calls, **rules: Any) -> ff.Pipeline:
    """A pipeline of one batch stage that notes the keys of each call."""
    pipeline = ff.Pipeline("together")

    @pipeline.each(**{"batch": 16, "retry": ff.Retry(limit=3, first=1.0), **rules})
    async def convert(items: list[Any]) -> Any:
        calls.append([item.key for item in items])
        found = work(items)
        return await found if asyncio.iscoroutine(found) else found

    return pipeline


def upper(items: list[Any]) -> list[str]:
    return [item.input.upper() for item in items]


def test_each_item_gets_its_own_result_and_an_exception_in_the_list_is_that_items(engine: Engine) -> None:
    calls: Calls = []

    def work(items: list[Any]) -> list[Any]:
        return [ff.Permanent("unreadable") if item.input == "bad" else item.input.upper() for item in items]

    task = engine.submit(together(work, calls, batch=3), items=["a", "bad", "c", "d"])
    engine.run()
    assert calls == [["1", "2", "3"], ["4"]]
    assert [(item.state, item.attempts) for item in engine.items(task)] == [
        ("done", 1), ("failed", 1), ("done", 1), ("done", 1),
    ]  # fmt: skip
    assert engine.item(task, "2").item.error_message == "unreadable"
    assert [result.output for result in engine.client.results(task.id) if result.ok] == ["A", "C", "D"]


def test_everything_that_one_item_may_do_belongs_to_that_item(engine: Engine) -> None:
    calls: Calls = []

    def work(items: list[Any]) -> list[Any]:
        found: list[Any] = []
        for item in items:
            item.used(model="m", cost=0.01 * item.seq)
            item.emit(item.key)
            if item.key == "2":
                item.degraded("a fallback")
            if item.key == "3" and item.attempt == 1:
                found.append(ff.later(30))
            elif item.key == "4" and item.attempt == 1:
                found.append(ff.Temporary("busy", after=5, counts=False))
            elif item.key == "5":
                found.append(ff.HoldItem("look at it"))
            elif item.key == "6" and item.attempt < 3:
                found.append(ValueError("flaky"))
            else:
                item.remember(seen=item.key)
                found.append(item.key)
        return found

    task = engine.submit(together(work, calls), items=list("abcdefg"))
    engine.run()
    items = {item.key: item for item in engine.items(task)}
    assert [one.state for one in items.values()] == ["done"] * 4 + ["waiting", "done", "done"]
    assert [one.failures for one in items.values()] == [0, 0, 0, 0, 0, 2, 0]
    assert (items["2"].degraded, items["1"].degraded) == ("a fallback", None)
    assert items["5"].held == "look at it"
    assert items["7"].spending.cost == pytest.approx(0.07)
    assert items["6"].spending.cost == pytest.approx(3 * 0.06), "failed attempts cost, too"
    assert calls[0] == list("1234567")


def test_a_call_that_fails_as_a_whole_is_narrowed_down_and_fails_no_innocent_item(engine: Engine) -> None:
    calls: Calls = []

    def work(items: list[Any]) -> list[str]:
        if any(item.input == "bad" for item in items):
            raise ff.Permanent("one of them is bad")
        return upper(items)

    texts = [*"abcdefghij", "bad", *"klmnopqrst"]
    task = engine.submit(together(work, calls, retry=ff.Retry(limit=0)), items=texts)
    engine.run()
    assert [item.key for item in engine.items(task) if item.state == "failed"] == ["11"]
    assert Counter(map(len, calls)) == {16: 1, 5: 1, 4: 4, 1: 4}
    assert max(item.failures for item in engine.items(task) if item.state == "done") == 2


def test_too_few_results_are_an_error_that_smaller_batches_may_avoid(engine: Engine) -> None:
    calls: Calls = []

    def work(items: list[Any]) -> list[str]:
        return upper(items)[:3]  # As a model that loses count.

    task = engine.submit(together(work, calls, batch=4), items=list("abcd"))
    engine.run()
    assert engine.result(task) == list("ABCD")
    assert [len(call) for call in calls] == [4, 1, 1, 1, 1]
    [attempt, *_] = engine.item(task, "1").attempts
    assert attempt.error_message == ("convert returned 3 results for 4 items; it must return one for each, in order.")


@pytest.mark.parametrize(("returned", "kind"), [(None, "NoneType"), ("ab", "str"), ({"a": 1, "b": 2}, "dict")])
def test_what_is_no_list_is_an_error_that_says_so(engine: Engine, returned: Any, kind: str) -> None:
    task = engine.submit(together(lambda _: returned, [], retry=ff.Retry(limit=0)), items=["a"])
    engine.run()
    assert engine.item(task, "1").item.error_message == (
        f"convert is called with a list of items and must return a list with a result for each; it returned {kind}."
    )


def test_a_time_out_of_a_batch_is_narrowed_down_too(engine: Engine) -> None:
    calls: Calls = []

    async def work(items: list[Any]) -> list[str]:
        await asyncio.sleep(3_600 if any(item.input == "slow" for item in items) else 1)
        return upper(items)

    task = engine.submit(together(work, calls, timeout=10, retry=ff.Retry(limit=1)), items=[*"abc", "slow"])
    engine.run()
    assert [item.state for item in engine.items(task)] == ["done", "done", "done", "failed"]
    assert engine.item(task, "4").item.error_code == "timeout"


def test_a_rate_limit_uses_up_no_retry_and_keeps_the_batch_whole(engine: Engine) -> None:
    calls: Calls = []

    async def work(items: list[Any]) -> list[str]:
        answer = await items[0].ask("Translate: " + ", ".join(item.input for item in items))
        return list(answer.text.split(", "))

    engine.answers(rate_limited(after=30), "A, B, C")
    task = engine.submit(together(work, calls), items=list("abc"))
    engine.run()
    assert engine.result(task) == ["A", "B", "C"]
    assert [len(call) for call in calls] == [3, 3]
    assert engine.cost(task) == pytest.approx(0.01)


def test_answers_of_the_others_are_kept_when_one_question_fails(engine: Engine) -> None:
    async def work(items: list[Any]) -> list[Any]:
        answers = await asyncio.gather(*(item.ask(item.input) for item in items), return_exceptions=True)
        return [answer if isinstance(answer, BaseException) else answer.text for answer in answers]

    engine.answers("A", rate_limited(after=30), "C", "B")
    task = engine.submit(together(work, []), items=list("abc"))
    engine.run()
    assert engine.result(task) == ["A", "B", "C"]
    assert [item.attempts for item in engine.items(task)] == [1, 2, 1]
    assert engine.cost(task) == pytest.approx(0.03)


def test_a_crash_loses_only_the_call_and_the_item_that_crashes_its_worker_is_found(engine: Engine) -> None:
    calls: Calls = []
    task = engine.submit(together(upper, calls), items=list("abcdef"))
    engine.before_handler(item="4", times=100).crash()
    engine.run()
    items = engine.items(task)
    assert [item.state for item in items] == ["done"] * 3 + ["failed"] + ["done"] * 2
    assert [item.crashes for item in items] == [2, 2, 2, 3, 1, 1]
    assert items[3].error_code == "poison"


def test_a_pause_hands_back_the_whole_batch_and_counts_nothing(engine: Engine) -> None:
    task = engine.submit(together(upper, []), items=list("abc"))
    engine.before_settle(item="2").pause()
    engine.run()
    assert engine.task(task).state == "paused"
    assert [(item.state, item.failures) for item in engine.items(task)] == [("pending", 0)] * 3
    engine.client.resume(task.id)
    engine.run()
    assert engine.result(task) == ["A", "B", "C"]


@dataclass
class Page:
    text: str


@dataclass
class Score:
    value: float


def test_a_batch_handler_is_typed_like_one_for_one_item(engine: Engine) -> None:
    pipeline = ff.Pipeline("typed")
    seen: list[Any] = []

    @pipeline.split
    def pages(task: ff.TaskWork[Any]) -> list[ff.NewItem[Page]]:
        return [ff.NewItem(input=Page(text)) for text in ("a", "bb")]

    @pipeline.each(batch=8)
    def score(items: list[ff.ItemWork[Page, Score]]) -> list[Score | Exception]:
        seen.extend(item.input for item in items)
        return [Score(len(item.input.text)) for item in items]

    @pipeline.merge
    def total(task: ff.TaskWork[Any], results: ff.Results[Page, Score]) -> float:
        return sum(result.output.value for result in results)

    task = engine.submit(pipeline)
    engine.run()
    assert seen == [Page("a"), Page("bb")]
    assert engine.result(task) == 3
    assert pipeline.kept_types.output("score") is Score


def test_an_item_whose_input_cannot_be_read_stops_no_other(engine: Engine) -> None:
    @dataclass
    class Old:
        text: str

    pipeline = ff.Pipeline("changed", types=[Old, Page])

    @pipeline.each(batch=8)
    def read(items: list[ff.ItemWork[Any, str]]) -> list[str]:
        return [item.input.text for item in items]

    task = engine.submit(pipeline, items=[Page("a"), Old("b"), Page("c")])
    changed = ff.Pipeline("changed", types=[Page])
    changed.each(batch=8)(read)
    engine.know(changed)
    engine.run()
    assert [item.state for item in engine.items(task)] == ["done", "waiting", "done"]


def test_a_handler_may_yield_its_results(engine: Engine) -> None:
    pipeline = ff.Pipeline("yielding")

    @pipeline.each(batch=2)
    def convert(items: list[Any]) -> Any:
        for item in items:
            yield item.input + 1

    task = engine.submit(pipeline, items=[1, 2, 3])
    engine.run()
    assert engine.result(task) == [2, 3, 4]


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"batch": 0}, "must be a number from 1 to 1000"),
        ({"batch": 1_001}, "must be a number from 1 to 1000"),
        ({"batch": "8"}, "must be a number from 1 to 1000"),
        ({"batch": 64, "limit": 8}, "use limit=64 or more, or concurrency="),
        ({"batch": 64, "crash_limit": 2}, "use crash_limit=3 or more"),
    ],
)
def test_rules_that_do_not_fit_a_batch_are_refused(rules: dict[str, Any], said: str) -> None:
    with pytest.raises(BadPipeline, match=said):
        together(upper, [], **rules)


def test_only_an_each_stage_has_batches_and_its_handler_takes_one_argument() -> None:
    pipeline = ff.Pipeline("odd")
    two: Any = lambda first, second: None  # noqa: E731
    with pytest.raises(BadPipeline, match="only an `each` stage"):
        pipeline.step(batch=2, name="odd")(lambda task: None)
    with pytest.raises(BadPipeline, match="it is called with the items"):
        pipeline.each(batch=2, name="two")(two)


def test_items_that_have_failed_share_a_call_only_with_their_like(installation: Installation) -> None:
    task = installation.client.submit(installation.know(together(upper, [])), items=list("abcdefgh"))
    installation.sql("UPDATE items SET failures = 1 WHERE seq IN (3, 5)")
    installation.sql("UPDATE items SET crashes = 2 WHERE seq = 7")
    claimed = installation.worker().claim(free=3)
    assert [[one.seq for one in call] for call in into_calls(claimed, 16)] == [[1, 2, 4, 6, 8], [3, 5], [7]]
    assert installation.states(task) == " ".join(["running"] * 8)


def test_a_worker_claims_no_more_calls_than_it_has_slots(installation: Installation) -> None:
    task = installation.client.submit(installation.know(together(upper, [], batch=4)), items=list("abcdefgh"))
    installation.sql("UPDATE items SET failures = 5 WHERE seq < 5")
    worker = installation.worker()
    claimed = worker.claim(free=2)
    assert [one.seq for one in claimed] == [1, 2], "each of these runs alone"
    assert installation.states(task) == "running running" + " pending" * 6
    assert installation.sql("SELECT min(lease), max(attempts) FROM items WHERE state = 'pending'") == [(0, 0)]
    rest = [[one.seq for _, one in worker.turn(free=2).claimed] for _ in range(3)]
    assert rest == [[3, 4], [5, 6], [7, 8]], "no more are claimed than can probably run"


def test_the_limit_of_all_workers_counts_items(installation: Installation) -> None:
    task = installation.client.submit(
        installation.know(together(upper, [], batch=4, limit=6)), items=[str(number) for number in range(20)]
    )
    first, second = installation.worker(), installation.worker()
    assert (len(first.claim()), len(second.claim())) == (6, 0)
    assert installation.states(task).count("running") == 6


def test_a_failed_batch_uses_the_same_delay_for_all_so_that_it_comes_back_together(installation: Installation) -> None:
    def work(items: list[Any]) -> Any:
        raise ValueError("broken")

    task = installation.client.submit(installation.know(together(work, [], batch=4)), items=list("abcd"))
    installation.worker().run()
    assert installation.states(task) == " ".join(["retrying"] * 4)
    assert len({item.available_at for item in installation.client.items(task.id)}) == 1


@pytest.mark.parametrize("in_loop", [True, False], ids=["async def", "def"])
def test_a_real_worker_runs_batches(live: Live, in_loop: bool) -> None:
    pipeline = ff.Pipeline("sizes")

    def work(items: list[Any]) -> list[int]:
        return [len(items)] * len(items)

    async def work_in_loop(items: list[Any]) -> list[int]:
        return work(items)

    pipeline.each(batch=50, name="count")(work_in_loop if in_loop else work)
    task = live.client.submit(live.know(pipeline), items=range(230))
    with live.working(concurrency=2):
        live.until(task, "completed")
    assert Counter(live.client.result(task.id)) == {50: 200, 30: 30}


@pytest.mark.one_database
def test_a_batch_that_kills_its_child_process_costs_only_the_item_that_does_it(live: Live) -> None:
    task = live.client.submit(live.know(isolated.together), items=[*"abcde", "exit", *"fg"])
    with live.working():
        live.until(task, "partial", 90)
    assert live.states(task) == "done done done done done failed done done"
    items = live.client.items(task.id)
    assert items[5].error_code == "poison"
    assert (items[5].crashes, items[5].failures) == (3, 0)
    assert [item.usage for item in items if item.state == "done"] == [{"tokens": 1}] * 7
    results = [result.output for result in live.client.results(task.id) if result.ok]
    assert [result["file"].read_text() for result in results] == list("abcdefg")
    assert os.getpid() not in {result["pid"] for result in results}


@pytest.mark.one_database
def test_a_handler_in_a_child_process_cannot_change_its_list_of_items_either(live: Live) -> None:
    task = live.client.submit(live.know(isolated.sorting), items=["b", "a"])
    with live.working():
        live.until(task, "failed", 90)
    assert ["cannot be changed in place" in str(item.error_message) for item in live.client.items(task.id)] == [
        True
    ] * 2


def test_a_suspect_is_never_part_of_a_batch(installation: Installation) -> None:
    installation.client.submit(installation.know(together(upper, [], batch=256)), items=list("abc"))
    installation.sql("UPDATE items SET crashes = 2")
    claimed = installation.worker().claim(free=3)
    assert [len(call) for call in into_calls(claimed, 256)] == [1, 1, 1]


def test_an_item_lost_with_its_batch_is_not_poison_yet(installation: Installation) -> None:
    task = installation.client.submit(installation.know(together(upper, [])), items=["a", "b"])
    installation.sql("UPDATE items SET crashes = 2")
    worker = installation.worker()
    first, second = worker.claim(free=2)
    lost: Any = {"error_code": "crash", "error_message": "its child process died"}
    worker.settle(Settlement(first, Ending.RECLAIM, shared=True, **lost), Settlement(second, Ending.RECLAIM, **lost))
    assert installation.states(task) == "pending failed"


def _shuffle(items: list[Any]) -> None:
    items[0], items[-1] = items[-1], items[0]


def _remove_one(items: list[Any]) -> None:
    del items[0]


def _add_one(items: list[Any]) -> None:
    items += [items[0]]


CHANGES: dict[str, Callable[[list[Any]], object]] = {
    "sort": lambda items: items.sort(key=lambda item: item.key, reverse=True),
    "reverse": lambda items: items.reverse(),
    "clear": lambda items: items.clear(),
    "pop": lambda items: items.pop(),
    "append": lambda items: items.append(items[0]),
    "extend": lambda items: items.extend(items),
    "insert": lambda items: items.insert(0, items[-1]),
    "remove": lambda items: items.remove(items[0]),
    "assign": _shuffle,
    "delete": _remove_one,
    "add": _add_one,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_handler_that_changes_its_list_of_items_fails_before_it_gives_them_wrong_results(
    engine: Engine, change: Callable[[list[Any]], object]
) -> None:
    def work(items: list[Any]) -> list[str]:
        change(items)
        return upper(items)

    task = engine.submit(together(work, [], retry=ff.Retry(limit=0)), items=list("abc"))
    engine.run()
    assert [item.state for item in engine.items(task)] == ["failed"] * 3
    assert "cannot be changed in place" in str(engine.item(task, "1").item.error_message)


def test_the_list_of_items_is_a_list_whose_copies_may_be_changed(engine: Engine) -> None:
    def work(items: list[Any]) -> list[str]:
        assert isinstance(items, list)
        copies: list[list[Any]] = [sorted(items, key=lambda item: item.key), items[:], items.copy(), copy(items)]
        for one in [*copies, items + items]:
            one.reverse()
        assert [item.key for item in reversed(items)] == [item.key for item in copies[0]]
        return upper(items)

    task = engine.submit(together(work, []), items=list("abc"))
    engine.run()
    assert [result.output for result in engine.client.results(task.id)] == ["A", "B", "C"]
