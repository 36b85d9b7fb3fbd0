"""Rate limits in the database: one statement refills and takes, whatever runs at the same time."""

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from fanfold.model.money.rate_limits import BLOCK_SECONDS, WINDOW_SECONDS, Closing, Dimension, LimitRow, Refill, pace
from fanfold.store.store import Store
from tests.installation import HandClock, Installation, set_clock

KEY = "fake:large"
REQUESTS, IN_FLIGHT, DAY = Dimension.REQUESTS, Dimension.IN_FLIGHT, Dimension.REQUESTS_DAY


@pytest.fixture
def clock() -> HandClock:
    """A clock turned by hand."""
    return set_clock()


@pytest.fixture
def store(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Store]:
    """A store with that clock."""
    made = Installation(database_url, tmp_path / "data", clock)
    yield made.store
    made.store.close()


def declare(store: Store, in_flight: float = 4, **sizes: float) -> None:
    with store.write() as tx:
        tx.rate_limits.declare(KEY, {Dimension(name): size for name, size in sizes.items()}, in_flight)


def take(
    store: Store, least: float, wanted: float | None = None, back: float = 0, dimension: Dimension = REQUESTS
) -> float:
    with store.write() as tx:
        return tx.rate_limits.take(KEY, Refill(dimension, least, wanted or least, back)).granted


def hold(store: Store, holder: str, wanted: int, *, busy: int = 0, waiting: int = 0, cap: int = 8) -> int:
    with store.write() as tx:
        tx.rate_limits.grow(KEY, 0, 100)
        return tx.rate_limits.hold(KEY, holder, busy, wanted, waiting, cap)


@pytest.mark.parametrize("size", [1, 3, 11, 60, 500, 10_000])
def test_the_pace_of_requests_stays_within_the_limit_in_any_window_and_uses_nearly_all_of_it(size: int) -> None:
    found = pace(REQUESTS, size)
    most = int(found.burst + found.rate * (WINDOW_SECONDS + BLOCK_SECONDS))
    assert most == size
    assert found.rate * WINDOW_SECONDS >= 0.93 * size


@pytest.mark.parametrize("size", [1_000, 30_000])
def test_the_pace_of_tokens_stays_within_the_limit_in_any_window(size: int) -> None:
    found = pace(Dimension.TOKENS, size)
    assert found.burst + found.rate * (WINDOW_SECONDS + BLOCK_SECONDS) == pytest.approx(size)
    assert found.rate * WINDOW_SECONDS >= 0.94 * size


def test_a_bucket_gives_what_it_holds_and_fills_with_time(store: Store, clock: HandClock) -> None:
    declare(store, requests=60)
    paced = pace(REQUESTS, 60)
    assert take(store, 1, 10) == 1, "whole calls, of the one and a half that it holds"
    assert take(store, 1) == 0
    clock.advance(0.5 / paced.rate + 0.001)
    assert take(store, 1) == 1
    clock.advance(3600)
    assert (take(store, 1, 100), take(store, 1)) == (1, 0), "it holds no more than its burst"


def test_what_is_given_back_can_be_taken_again(store: Store) -> None:
    declare(store, requests=600)
    got = take(store, 1, 1000)
    assert take(store, 1) == 0
    assert take(store, 1, 4, back=3) == pytest.approx(3)
    assert got == pytest.approx(10)


def test_a_call_that_needs_more_than_a_bucket_holds_leaves_a_debt(store: Store, clock: HandClock) -> None:
    declare(store, tokens=6_000)
    assert take(store, 1_000, dimension=Dimension.TOKENS) == 1_000
    clock.advance(5)
    assert take(store, 1, dimension=Dimension.TOKENS) == 0, "the debt is not paid off yet"
    clock.advance(6)
    assert take(store, 1, dimension=Dimension.TOKENS) == 1


def test_a_clock_that_is_set_back_takes_nothing_away(store: Store, clock: HandClock) -> None:
    declare(store, requests=600)
    take(store, 1, 5)
    clock.advance(-100)
    assert take(store, 1, 100) == pytest.approx(5)


def test_takers_at_the_same_time_share_one_level(store: Store) -> None:
    declare(store, requests=600)
    got: list[float] = []
    threads = [threading.Thread(target=lambda: got.append(take(store, 1, 3))) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(got) == 12
    assert sum(got) == pytest.approx(pace(REQUESTS, 600).burst)


def refuse(store: Store, seconds: float = 1, *, ago: float = 0.0, speed: float = 20.0) -> None:
    with store.write() as tx:
        tx.rate_limits.refuse(KEY, seconds, ago, speed)


def rate(store: Store) -> float:
    with store.read() as tx:
        return tx.rate_limits.levels(KEY)[REQUESTS].rate


def test_a_refusal_closes_the_key_for_everybody_and_a_known_rate_stays(store: Store, clock: HandClock) -> None:
    declare(store, 8, requests=600)
    refuse(store, 10, ago=0.5)
    refuse(store, 4, ago=0.5)
    with store.write() as tx:
        level = tx.rate_limits.grow(KEY, 0, 100)
    assert (level.level, level.closed_by) == (8, Closing.REFUSED)
    assert level.closed_seconds == pytest.approx(10)
    assert take(store, 1) == 0
    assert rate(store) == pace(REQUESTS, 600).rate
    clock.advance(10.5)
    assert take(store, 1) == 1
    with store.write() as tx:
        assert tx.rate_limits.grow(KEY, 0, 100).opened_seconds == pytest.approx(0.5)


def test_where_nothing_is_known_a_refusal_halves_the_rate_and_a_late_one_lowers_it_less(
    store: Store, clock: HandClock
) -> None:
    declare(store, 8)
    refuse(store, 1, ago=0.5, speed=20)
    assert rate(store) == 10, "half of what was called"
    refuse(store, 1, ago=0.5, speed=20)
    assert rate(store) == 10, "a call that was in flight says nothing new"
    clock.advance(3)
    refuse(store, 1, ago=0.5, speed=20)
    assert rate(store) == 5, "soon after the first: half again"
    clock.advance(60)
    refuse(store, 1, ago=0.5, speed=20)
    assert rate(store) == pytest.approx(0.75 * 5)
    clock.advance(60)
    refuse(store, 1, ago=0.5, speed=1)
    assert rate(store) == pytest.approx(0.75 * 2), "others use the key: this rate was not used up"
    [row] = [row for row in seen(store) if row.dimension == "requests"]
    assert (row.source, round(row.size or 0), row.closed_until) == ("adaptive", 90, None)


def seen(store: Store) -> list[LimitRow]:
    with store.read() as tx:
        return tx.rate_limits.all()


def test_a_sought_rate_grows_while_more_is_wanted_and_not_while_it_is_enough(store: Store, clock: HandClock) -> None:
    declare(store, 8)
    refuse(store, 1, speed=20)
    rates = []
    for _ in range(16):
        clock.advance(1)
        take(store, 1, 100)
        rates.append(rate(store))
    assert rates[0] == 10, "not while the key is closed"
    steps = [later / sooner - 1 for sooner, later in pairwise(rates)]
    assert steps == sorted(steps), "the longer nobody is refused, the faster"
    assert 0.05 < steps[-1] < 0.1
    clock.advance(3_600)
    take(store, 1, 100)
    assert rate(store) < 1.3 * rates[-1], "an hour in which nobody called does not count"
    before = rate(store)
    clock.advance(1)
    take(store, 1, 1)
    assert rate(store) == before, "enough for all: nothing is tried"


def test_a_sought_rate_ends_when_the_service_names_its_limit(store: Store, clock: HandClock) -> None:
    declare(store, 8)
    refuse(store, 1, speed=20)
    with store.write() as tx:
        tx.rate_limits.learn(KEY, REQUESTS, 600, None)
    clock.advance(20)
    take(store, 1, 100)
    assert rate(store) == pace(REQUESTS, 600).rate
    refuse(store, 1, speed=20)
    assert rate(store) == pace(REQUESTS, 600).rate


def test_clean_answers_let_one_more_call_fly_up_to_the_ceiling(store: Store) -> None:
    declare(store, 4)
    levels = []
    for clean in (3, 1, 5, 6, 7):
        with store.write() as tx:
            levels.append(tx.rate_limits.grow(KEY, clean, 6).level)
    assert levels == [4, 5, 6, 6, 6]


def test_a_process_that_may_make_more_calls_is_not_held_to_the_few_of_an_earlier_one(store: Store) -> None:
    levels = []
    for in_flight, clean in ((1, 0), (8, 0), (8, 8), (4, 0)):
        declare(store, in_flight)
        with store.write() as tx:
            levels.append(tx.rate_limits.grow(KEY, clean, 16).level)
    assert levels == [1, 8, 9, 9], "and what answers allowed is not taken back"


def test_processes_never_hold_more_calls_in_flight_together_than_allowed(store: Store, clock: HandClock) -> None:
    declare(store)
    assert hold(store, "a", 6) == 6
    assert hold(store, "b", 6) == 2
    assert hold(store, "c", 6) == 0
    assert hold(store, "c", 6, busy=1) == 1, "what is under way counts"
    with store.write() as tx:
        tx.rate_limits.leave(KEY, "a")
    assert hold(store, "c", 6) == 6
    with store.read() as tx:
        assert tx.rate_limits.crowd(KEY, "b") == (1, 0)
    clock.advance(20)
    assert hold(store, "b", 8) == 8, "a process without heartbeats holds nothing"


def test_a_day_gives_its_quota_once_and_again_the_next_day(store: Store, clock: HandClock) -> None:
    declare(store, requests_day=10)
    assert take(store, 1, 7, dimension=DAY) == 7
    assert take(store, 1, 7, dimension=DAY) == 3
    assert take(store, 1, dimension=DAY) == 0
    with store.read() as tx:
        assert tx.rate_limits.levels(KEY)[DAY].closed_seconds == pytest.approx(86_400)
    clock.advance(86_401)
    assert take(store, 1, 20, dimension=DAY) == 10


def test_a_service_may_say_that_the_day_is_used_up_though_nobody_configured_a_quota(
    store: Store, clock: HandClock
) -> None:
    declare(store)
    with store.write() as tx:
        tx.rate_limits.use_up_day(KEY, 3_600)
    assert take(store, 1, dimension=DAY) == 0
    clock.advance(3_601)
    assert take(store, 1, dimension=DAY) == 1


def test_a_limit_that_the_service_names_is_learned_unless_one_is_configured(store: Store) -> None:
    declare(store, requests=60)
    with store.write() as tx:
        tx.rate_limits.learn(KEY, REQUESTS, 600, 500)
        tx.rate_limits.learn(KEY, Dimension.TOKENS, 6_000, 40)
        levels = tx.rate_limits.levels(KEY)
    assert levels[REQUESTS].size == 60
    assert levels[REQUESTS].rate == pytest.approx(pace(REQUESTS, 60).rate)
    tokens = levels[Dimension.TOKENS]
    assert (tokens.size, tokens.level, tokens.burst) == (6_000, 40, 100)
    declare(store)
    with store.read() as tx:
        assert tx.rate_limits.levels(KEY)[REQUESTS].size == 600, "no longer configured, what was learned counts"


def test_people_see_every_limit_and_can_close_and_open_it(store: Store, clock: HandClock) -> None:
    declare(store, 8, requests=60)
    hold(store, "host-1", 3, waiting=2)
    with store.write() as tx:
        assert tx.rate_limits.close(KEY, 60)
        assert not tx.rate_limits.close("fake:none", 60)
    with store.read() as tx:
        in_flight, requests = tx.rate_limits.all()
    assert (in_flight.dimension, in_flight.source, in_flight.closed_by) == ("in_flight", "adaptive", "person")
    assert (in_flight.in_flight, in_flight.waiting, in_flight.waiters) == (3, 2, ("host-1",))
    assert (requests.size, requests.source, requests.level) == (60, "configured", 1.5)
    with store.write() as tx:
        assert tx.rate_limits.open(KEY)
    with store.read() as tx:
        assert tx.rate_limits.all()[0].closed_until is None
