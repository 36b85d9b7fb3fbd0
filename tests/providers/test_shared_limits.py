"""All processes share one rate limit: they never exceed it in any minute, use nearly all of it, and rarely visit its rows."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanfold.model.money.rate_limits import Dimension, Level
from fanfold.providers.limits.blocks import Blocks
from fanfold.providers.limits.lease import HoldWish, LimitRows, Refusal, Visit
from fanfold.providers.limits.need import NOTHING
from fanfold.providers.limits.shared import MustWait, SharedLimit
from fanfold.store.rows.money.rate_limits import Taken
from tests.installation import Installation, set_clock
from tests.providers.limit_processes import CALL, run_processes


def most_in_a_minute(calls: list[float]) -> int:
    """The most calls in any 60 consecutive seconds."""
    return max(bisect_right(calls, moment + 60.0 - 1e-9) - place for place, moment in enumerate(calls))


def test_four_processes_with_fifty_coroutines_use_a_minute_fully_and_never_exceed_it(
    database_url: str, tmp_path: Path
) -> None:
    """Real processes, each with its own connections, and one manual clock for all of them."""
    found = run_processes(database_url, tmp_path, processes=4, coroutines=50, size=60, seconds=125)
    assert most_in_a_minute(found.calls) <= 60
    assert sum(moment < 120 for moment in found.calls) >= 0.95 * 120
    assert found.busiest_pool <= 2, "coroutines do not queue on a row, each with a connection"


@pytest.fixture
def installation(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """An installation with real time."""
    made = Installation(database_url, tmp_path / "data", None)
    yield made
    made.store.close()


def limit_of(installation: Installation, most: int = 8, holder: str = "here", **sizes: float) -> SharedLimit:
    known = {Dimension(name): size for name, size in sizes.items()}
    return SharedLimit(LimitRows(installation.store, "fake:large", known, most, holder), patience=lambda: 60.0)


def level(installation: Installation, dimension: str) -> float:
    return next(row.level for row in installation.client.limits() if row.dimension == dimension)


def in_flight(installation: Installation) -> int:
    return installation.client.limits()[0].in_flight


def test_a_call_costs_less_than_one_statement(installation: Installation) -> None:
    limit = limit_of(installation, 50, requests=6_000)
    calls = 0

    async def again() -> None:
        nonlocal calls
        while calls < 400:
            await limit.enter(CALL)
            calls += 1
            limit.went_well()
            limit.leave(CALL)
            await asyncio.sleep(0.01)

    async def story() -> None:
        await asyncio.gather(*(again() for _ in range(50)))
        await limit.close()

    with installation.statements() as sent:
        asyncio.run(story())
    assert len(sent) < calls


def test_what_is_not_used_goes_back_when_nobody_calls_any_more(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.providers.limits.shared.IDLE_SECONDS", 0.1)

    async def story() -> None:
        limit = limit_of(installation, requests=60, requests_day=10)
        await limit.enter(CALL)
        assert in_flight(installation) == 1
        limit.leave(CALL, NOTHING)
        while in_flight(installation):
            await asyncio.sleep(0.05)
        await limit.close()

    asyncio.run(asyncio.wait_for(story(), 60))
    assert level(installation, "requests_day") == 10, "a call that was not sent took nothing"


def test_an_answer_that_took_more_than_estimated_is_charged_and_one_that_took_less_gives_back(
    installation: Installation,
) -> None:
    need = NOTHING | {Dimension.TOKENS: 400.0, Dimension.REQUESTS: 1.0}

    async def story(used: float) -> float:
        limit = limit_of(installation, tokens=60_000)
        await limit.enter(need)
        limit.leave(need, need | {Dimension.TOKENS: used})
        await limit.close()
        return level(installation, "tokens")

    assert asyncio.run(story(100_000)) < -50_000
    installation.sql("UPDATE rate_limits SET level = 900, burst = 1000, rate = 0 WHERE dimension = 'tokens'")
    installation.sql("UPDATE rate_limits SET rate = 0.001 WHERE dimension = 'tokens'")
    assert asyncio.run(story(100)) == pytest.approx(800, abs=1)


def test_a_call_that_is_given_up_while_it_waits_leaves_the_line(installation: Installation) -> None:
    async def story() -> None:
        limit = limit_of(installation, most=1)
        await limit.enter(CALL)
        given_up = asyncio.create_task(limit.enter(CALL))
        while not limit.waiting:
            await asyncio.sleep(0.01)
        waits = asyncio.create_task(limit.enter(CALL))
        given_up.cancel()
        await asyncio.gather(given_up, return_exceptions=True)
        limit.leave(CALL)
        await waits
        limit.leave(CALL)
        await limit.close()

    asyncio.run(asyncio.wait_for(story(), 60))
    assert in_flight(installation) == 0


def test_a_queue_that_takes_too_long_sends_calls_back_with_the_time_to_wait(installation: Installation) -> None:
    async def story() -> float:
        limit = limit_of(installation, most=100, requests=60)
        await limit.enter(CALL)
        waiting = [asyncio.create_task(limit.enter(CALL)) for _ in range(100)]
        done, left = await asyncio.wait(waiting, return_when=asyncio.FIRST_EXCEPTION)
        problems = [one.exception() for one in done if one.exception() is not None]
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await limit.close()
        assert isinstance(problems[0], MustWait)
        return problems[0].seconds

    assert 60 < asyncio.run(asyncio.wait_for(story(), 60)) < 120


def test_a_process_that_does_not_know_better_begins_with_its_concurrency(installation: Installation) -> None:
    async def story() -> float:
        limit = limit_of(installation, most=6)
        await asyncio.gather(*(limit.enter(CALL) for _ in range(6)))
        more = asyncio.create_task(limit.enter(CALL))
        await asyncio.sleep(0)
        assert limit.waiting == 1, "one more has to wait for an answer"
        found = level(installation, "in_flight")
        for _ in range(6):
            limit.leave(CALL)
        await more
        limit.leave(CALL)
        await limit.close()
        return found

    assert asyncio.run(asyncio.wait_for(story(), 100)) == 6


def test_a_block_is_void_after_its_second() -> None:
    blocks = Blocks()
    blocks.levels = {Dimension.REQUESTS: Level(Dimension.REQUESTS, 60, 0, 1, 1.5, 0)}
    blocks.note({Dimension.REQUESTS: Taken(1, 0)}, None, 100.0, 100.1)
    assert blocks.cover(CALL, 100.9)
    assert not blocks.cover(CALL, 101.1)
    assert blocks.leftovers(101.1) == (), "nor does it go back: the window has moved on"


def test_a_limit_that_opens_again_allows_one_call_and_then_more(database_url: str, tmp_path: Path) -> None:
    clock = set_clock()
    made = Installation(database_url, tmp_path / "data", clock)
    rows = LimitRows(made.store, "fake:large", {Dimension.REQUESTS: 6_000}, 8, "here")
    wish = Visit(hold=HoldWish(0, 8, 8, 0, knows_rate=True))
    assert held_by(rows, wish) == 8
    rows.visit(Visit(refusals=(Refusal(10, 0.1),)))
    allowed = []
    for seconds in (5, 5.1, 0.25, 0.25, 3):
        clock.advance(seconds)
        allowed.append(held_by(rows, wish))
    made.store.close()
    assert allowed == [0, 1, 2, 3, 8]


def held_by(rows: LimitRows, wish: Visit) -> int:
    held = rows.visit(wish).held
    assert held is not None
    return held.held
