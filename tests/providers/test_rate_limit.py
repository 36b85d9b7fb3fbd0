"""A rate limit closes when a service refuses, for longer each time. Then it lets one call try, and opens by itself."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from fanfold.providers import rate_limit as rate_limits
from fanfold.providers.configuration import Provider
from fanfold.providers.rate_limit import RateLimit
from fanfold.providers.services.service import ServiceTrouble, TroubleKind

NO_JITTER: Callable[[float, float], float] = lambda low, high: high  # noqa: E731


class Clock:
    """A manual clock, in seconds."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The clock of the rate limit."""
    return Clock()


@pytest.fixture
def rate_limit(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> RateLimit:
    """A rate limit with four slots, whose random pauses are always the longest."""
    monkeypatch.setattr("random.uniform", NO_JITTER)
    return RateLimit(Provider("fake", concurrency=4), clock)


def test_a_refusal_closes_the_rate_limit_for_as_long_as_the_service_asks(rate_limit: RateLimit, clock: Clock) -> None:
    rate_limit.limited(7, clock())
    assert rate_limit.closed_seconds() == 7
    clock.now += 7
    assert rate_limit.closed_seconds() == 0


def test_refusals_in_a_row_grow_the_pause_though_the_service_says_two_seconds(
    rate_limit: RateLimit, clock: Clock
) -> None:
    pauses = []
    for _ in range(12):
        rate_limit.limited(2, clock())
        pauses.append(rate_limit.closed_seconds())
        clock.now += rate_limit.closed_seconds() + 1
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]


def test_the_pause_is_never_shorter_than_what_the_service_asks(rate_limit: RateLimit, clock: Clock) -> None:
    for _ in range(3):
        rate_limit.limited(500, clock())
        assert rate_limit.closed_seconds() == 500
        clock.now += 501


def test_calls_that_were_under_way_when_it_closed_do_not_make_it_worse(rate_limit: RateLimit, clock: Clock) -> None:
    begun = clock()
    clock.now += 1
    for _ in range(4):
        rate_limit.limited(2, begun)
    assert rate_limit.closed_seconds() == 2


def test_an_answer_ends_the_row(rate_limit: RateLimit, clock: Clock) -> None:
    for _ in range(5):
        rate_limit.limited(2, clock())
        clock.now += rate_limit.closed_seconds() + 1
    rate_limit.went_well("m")
    rate_limit.limited(2, clock())
    assert rate_limit.closed_seconds() == 2


def test_nobody_there_is_asked_again_after_a_minute_at_most(rate_limit: RateLimit, clock: Clock) -> None:
    for _ in range(12):
        rate_limit.unreachable(clock())
        assert 0 < rate_limit.closed_seconds() <= 60
        clock.now += rate_limit.closed_seconds() + 1


async def entered(rate_limit: RateLimit, inside: list[int], number: int, leave: asyncio.Event) -> None:
    async with rate_limit.place():
        inside.append(number)
        await leave.wait()


def test_after_a_refusal_one_call_tries_then_more_with_each_answer(rate_limit: RateLimit, clock: Clock) -> None:
    async def story() -> list[int]:
        counts = []
        rate_limit.limited(2, clock())
        clock.now += 3
        for _ in range(4):
            inside: list[int] = []
            leave = asyncio.Event()
            calls = [asyncio.create_task(entered(rate_limit, inside, number, leave)) for number in range(6)]
            while rate_limit.waiting + len(inside) < 4:
                await asyncio.sleep(0.001)
            counts.append(len(inside))
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
            rate_limit.went_well("m")
        return counts

    assert asyncio.run(story()) == [1, 2, 4, 4]


def test_a_rate_limit_that_stays_closed_gives_the_place_to_other_work(rate_limit: RateLimit, clock: Clock) -> None:
    async def story() -> Any:
        rate_limit.limited(rate_limits.PATIENCE + 50, clock())
        async with rate_limit.place():
            return "inside"

    with pytest.raises(ServiceTrouble, match="fake asked for a wait") as caught:
        asyncio.run(story())
    assert caught.value.kind is TroubleKind.LIMITED
    assert caught.value.after == rate_limits.PATIENCE + 50


def test_a_rate_limit_to_nobody_says_so_at_once(rate_limit: RateLimit, clock: Clock) -> None:
    async def story() -> None:
        rate_limit.unreachable(clock())
        async with rate_limit.place():
            pass

    with pytest.raises(ServiceTrouble, match="cannot be reached") as caught:
        asyncio.run(story())
    assert caught.value.kind is TroubleKind.UNREACHABLE
