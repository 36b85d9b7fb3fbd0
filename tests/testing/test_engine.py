"""The engine for tests runs a pipeline as a worker would: same states, same events, same money, without waiting."""

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

import fanfold as ff
from fanfold.testing import Engine, NeverAtRest, busy, rate_limited
from fanfold.testing.clock import Clock, TurnedLoop
from tests.testing.refusing import refusing_once
from tests.testing.translation import NOVEL, book


def test_a_pipeline_runs_to_its_result(engine: Engine) -> None:
    engine.answer(lambda request: request.prompt.removeprefix("Translate: ").upper())
    task = engine.submit(book, NOVEL)
    engine.run()
    assert engine.task(task).state == "completed"
    assert engine.result(task) == "EINS\nZWEI\nDREI"
    assert [request.prompt for request in engine.requests] == ["Translate: eins", "Translate: zwei", "Translate: drei"]


def test_items_events_calls_and_costs_can_be_looked_at(engine: Engine) -> None:
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    engine.run()
    assert [(item.key, item.state, item.attempts) for item in engine.items(task)] == [
        ("001", "done", 1),
        ("002", "done", 1),
        ("003", "done", 1),
    ]
    assert engine.item(task, "002").input == {"text": "zwei"}
    assert [event.verb for event in engine.events(task)] == ["submit", "advance", "advance", "advance"]
    assert [(call.model, call.cost) for call in engine.calls(task)] == [("test-model", 0.01)] * 3
    assert len(engine.calls(task, "002")) == 1
    assert engine.cost(task) == pytest.approx(0.03)


def test_a_function_is_a_pipeline_too(engine: Engine) -> None:
    @ff.task
    def double(number: int) -> int:
        return 2 * number

    task = engine.submit(double, 21)
    engine.run()
    assert engine.result(task) == 42


waiting = ff.Pipeline("waiting")


@waiting.split
def halves(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """Two items."""
    yield ff.NewItem(key="a", input=task.options["seconds"])
    yield ff.NewItem(key="b", input=1)


@waiting.each(timeout=60, retry=ff.Retry(limit=0))
async def wait(item: ff.ItemWork) -> int:
    """Takes as long as its input says."""
    await asyncio.sleep(item.input)
    return int(item.input)


def test_a_handler_that_sleeps_turns_the_clock_and_takes_no_time(engine: Engine) -> None:
    task = engine.submit(waiting, options={"seconds": 40})
    started = time.monotonic()
    engine.run()
    assert engine.result(task) == [40, 1]
    assert engine.clock.seconds >= 41
    assert time.monotonic() - started < 30


def test_the_time_limit_of_a_stage_holds_on_the_clock_of_the_test(engine: Engine) -> None:
    task = engine.submit(waiting, options={"seconds": 70})
    engine.run()
    assert [(item.key, item.state) for item in engine.items(task)] == [("a", "failed"), ("b", "done")]
    assert engine.items(task)[0].error_code == "timeout"


failing = ff.Pipeline("failing")


@failing.each(retry=ff.Retry(limit=2, first=100))
def fail_at_first(item: ff.ItemWork) -> int:
    """Good at the third try, except for the item that never is."""
    if item.attempt < 3 or item.input == "never":
        raise ff.Temporary(f"no {item.attempt}")
    return item.attempt


def test_back_offs_are_waited_out_by_turning_the_clock(engine: Engine) -> None:
    task = engine.submit(failing, items=["well"])
    engine.run()
    assert engine.result(task) == [3]
    assert engine.clock.seconds > 100


def test_a_run_that_may_not_turn_the_clock_ends_when_nothing_is_due(engine: Engine) -> None:
    task = engine.submit(failing, items=["well"])
    engine.run(advance_clock=False)
    assert [item.state for item in engine.items(task)] == ["retrying"]
    assert engine.clock.seconds == 0
    engine.clock.advance(1_000)
    engine.run(advance_clock=False)
    assert engine.items(task)[0].attempts == 2


def test_what_fails_for_good_fails_as_it_does_in_earnest(engine: Engine) -> None:
    task = engine.submit(failing, items=["never", "well"])
    engine.run()
    assert [item.state for item in engine.items(task)] == ["failed", "done"]
    assert engine.task(task).state == "partial"
    assert engine.item(task, "1").item.error_message == "no 3"


threaded = ff.Pipeline("threaded")


@threaded.step(timeout=3_600)
async def work_in_thread(task: ff.TaskWork) -> str:
    """Waits for a thread of its own, and for no longer than an hour."""
    future: Future[str] = Future()

    def work() -> None:
        time.sleep(0.2)
        future.set_result("done")

    threading.Thread(target=work, daemon=True).start()
    async with asyncio.timeout(1_800):
        return await asyncio.wrap_future(future)


def test_the_clock_stands_still_while_a_thread_works(engine: Engine) -> None:
    task = engine.submit(threaded)
    engine.run()
    assert engine.result(task) == "done"
    assert engine.clock.seconds < 600


jobs = ff.Pipeline("jobs")


@jobs.step
async def film(task: ff.TaskWork) -> Any:
    """An external job whose functions are plain, and run in threads."""
    looks: list[str] = task.options["looks"]

    def look(job: str) -> Any:
        return ff.later(200) if task.attempt <= len(looks) else f"{job} is done"

    return await task.external(start=lambda key: f"job of {key}", look=look)


def test_an_external_job_is_looked_at_again_when_it_is_time(engine: Engine) -> None:
    task = engine.submit(jobs, options={"looks": ["not yet", "not yet"]})
    engine.run()
    assert str(engine.result(task)).endswith("is done")
    assert engine.clock.seconds >= 400


def test_two_engines_know_nothing_of_each_other() -> None:
    with Engine() as one, Engine() as other:
        for engine, text in ((one, "one"), (other, "other")):
            engine.answer(text)
            engine.submit(book, NOVEL)
        one.run()
        assert [task.state for task in one.client.list()] == ["completed"]
        assert [task.state for task in other.client.list()] == ["active"]


def test_the_next_test_begins_with_nothing() -> None:
    for _ in range(2):
        with Engine() as engine:
            assert engine.client.list() == []
            assert engine.clock.seconds == 0
            engine.answer("text")
            task = engine.submit(book, NOVEL)
            engine.run()
            engine.clock.advance(5)
            assert engine.cost(task) == pytest.approx(0.03)


def echo(item: ff.ItemWork) -> Any:
    return item.input


@pytest.mark.parametrize("owner", ["ann", "bob"])
def test_a_pipeline_with_a_price_is_tested_as_often_as_one_likes(owner: str) -> None:
    """The ledger refuses to delete entries; the next test still begins without any."""
    priced = ff.Pipeline("priced")
    priced.price(lambda work: 3)
    priced.each(name="work")(echo)
    for _ in range(2):
        with Engine(priced, credits="on") as engine:
            assert engine.client.credits.accounts() == []
            engine.client.credits.grant(owner, 10)
            task = engine.submit(priced, items=[1], owner=owner)
            engine.run()
            assert (engine.task(task).state, engine.client.credits.balance(owner)) == ("completed", 7)
            assert [entry.id for entry in engine.client.credits.entries(task=task.id)] == [2]


def test_settings_are_those_of_an_installation() -> None:
    with Engine(crash_limit=1) as engine:
        engine.answer("text")
        engine.before_settle(item="002").crash()
        task = engine.submit(book, NOVEL)
        engine.run()
        assert engine.item(task, "002").item.error_code == "poison"


def test_every_run_of_a_test_is_the_same() -> None:
    times = []
    for number in range(3):
        random.seed(number)
        with Engine() as engine:
            engine.answers(rate_limited(after=30), busy(), busy())
            engine.answer("text")
            engine.submit(book, NOVEL)
            engine.run()
            times.append((engine.clock.seconds, [request.prompt for request in engine.requests]))
    assert times[0] == times[1] == times[2]


def test_a_run_leaves_the_random_numbers_of_the_test_alone(engine: Engine) -> None:
    random.seed(1)
    expected = random.random()
    random.seed(1)
    engine.answer("text")
    engine.submit(book, NOVEL)
    engine.run()
    assert random.random() == expected


def test_an_engine_can_be_closed_twice() -> None:
    engine = Engine()
    engine.close()
    engine.close()
    with Engine() as one, Engine() as other:
        assert one.store.database is not other.store.database


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(TypeError, match="crash_limits"):
        Engine(crash_limits=1)


def test_a_move_that_on_move_refuses_is_made_later(engine: Engine) -> None:
    mirrored, refused = refusing_once(lambda change: change.target == "completed")
    task = engine.submit(mirrored)
    engine.run()
    assert refused == ["advance"]
    assert engine.task(task).state == "completed"


def test_a_run_without_an_end_says_what_is_left(engine: Engine) -> None:
    engine.answer(rate_limited(after=10))
    task = engine.submit(book, NOVEL)
    with pytest.raises(NeverAtRest, match=rf"{task.id} \(translation\) is .*3 open: rate limited"):
        engine.run(attempts=50)


def test_a_run_inside_an_event_loop_says_what_to_write_instead(engine: Engine) -> None:
    async def test() -> None:
        engine.run()

    with pytest.raises(ff.FanfoldError, match=r"asyncio\.to_thread"):
        asyncio.run(test())


def test_an_async_test_runs_the_engine_in_a_thread(engine: Engine) -> None:
    engine.answer("text")
    task = engine.submit(book, NOVEL)
    asyncio.run(asyncio.to_thread(engine.run))
    assert engine.task(task).state == "completed"


def test_a_pipeline_whose_code_has_changed_takes_the_place_of_the_old_one(engine: Engine) -> None:
    def made(value: int) -> ff.Pipeline:
        line = ff.Pipeline("changing")

        @line.step
        def make(task: ff.TaskWork) -> int:
            return value

        return line

    task = engine.submit(made(1))
    engine.run()
    engine.know(made(2))
    engine.client.rerun(task.id)
    engine.run()
    assert engine.result(task) == 2


def test_the_clock_reaches_timers_between_two_microseconds() -> None:
    clock = Clock()
    loop = TurnedLoop(clock)

    async def story() -> None:
        for _ in range(10):
            await asyncio.sleep(1e-7)

    try:
        loop.run_until_complete(asyncio.wait_for(story(), 60))
    finally:
        loop.end()
    assert 0 < clock.seconds < 0.001
