"""The limits that services report are understood in every format."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from fanfold.model.money.rate_limits import Dimension
from fanfold.providers.configuration import Provider
from fanfold.providers.limits.told import (
    ToldLimit,
    delay_in,
    duration,
    is_daily,
    seconds_of,
    told_in,
    until_tomorrow,
)
from fanfold.providers.services.service import TroubleKind, refusal, trouble_inside

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
FAKE = Provider("fake")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("6m0s", 360),
        ("12ms", 0.012),
        ("1h2m3.5s", 3723.5),
        ("1s", 1),
        ("soon", None),
        ("", None),
        ("5 minutes", None),
    ],
)
def test_a_duration_is_read_in_the_form_that_services_use(text: str, seconds: float | None) -> None:
    assert duration(text) == (seconds if seconds is None else pytest.approx(seconds))


def test_a_reset_may_be_a_duration_a_number_or_a_moment() -> None:
    assert seconds_of("6m0s", NOW) == 360
    assert seconds_of("17", NOW) == 17
    assert seconds_of("2030-01-01T12:00:30Z", NOW) == 30
    assert seconds_of("2029-12-31T00:00:00Z", NOW) == 0
    assert seconds_of("tomorrow", NOW) is None


def test_limits_are_found_in_the_headers_of_openai() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert told_in(headers, NOW) == (
        ToldLimit(Dimension.REQUESTS, 60, 59, 1),
        ToldLimit(Dimension.TOKENS, 150_000, 149_984, 360),
    )


def test_limits_are_found_in_the_headers_of_anthropic() -> None:
    headers: dict[str, str] = {}
    for name in ("requests", "tokens", "input-tokens", "output-tokens"):
        headers[f"anthropic-ratelimit-{name}-limit"] = "1000"
        headers[f"anthropic-ratelimit-{name}-remaining"] = "999"
        headers[f"anthropic-ratelimit-{name}-reset"] = "2030-01-01T12:00:01Z"
    found = told_in(headers, NOW)
    assert {one.dimension for one in found} == {
        Dimension.REQUESTS,
        Dimension.TOKENS,
        Dimension.INPUT_TOKENS,
        Dimension.OUTPUT_TOKENS,
    }
    assert {(one.limit, one.remaining, one.reset_seconds) for one in found} == {(1000, 999, 1)}


def test_requests_per_day_are_told_from_requests_per_minute_by_the_time_they_take_to_come_back() -> None:
    """Groq reports requests per day under the name that others use for requests per minute."""
    headers = {
        "x-ratelimit-limit-requests": "14400",
        "x-ratelimit-remaining-requests": "14370",
        "x-ratelimit-reset-requests": "2m59.56s",
    }
    [told] = told_in(headers, NOW)
    assert told.dimension is Dimension.REQUESTS_DAY


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "many", ""])
def test_a_limit_that_makes_no_sense_is_passed_over(limit: str) -> None:
    assert told_in({"x-ratelimit-limit-requests": limit}, NOW) == ()


GEMINI = {
    "code": 429,
    "status": "RESOURCE_EXHAUSTED",
    "message": "Quota exceeded.",
    "details": [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": "RequestsPerMinute"}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"},
    ],
}


@pytest.mark.parametrize(
    ("body", "said", "seconds"),
    [
        (GEMINI, "", 34.07),
        ([{"error": GEMINI}], "", 34.07),
        ({"retry_after": 7}, "", 7),
        (None, "Rate limit reached. Please try again in 6m0s.", 360),
        (None, "Please retry after 250ms", 0.25),
        ({}, "Slow down", None),
    ],
)
def test_the_wait_is_found_in_the_body_or_the_words(body: Any, said: str, seconds: float | None) -> None:
    assert delay_in(body, said) == (seconds if seconds is None else pytest.approx(seconds))


def test_a_quota_of_the_day_is_told_from_a_rate_limit() -> None:
    daily = {"details": [{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}
    assert is_daily(daily)
    assert is_daily({}, "Rate limit reached for requests per day (RPD): Limit 200, Used 200")
    assert not is_daily(GEMINI, "Rate limit reached for requests per min (RPM)")


def test_a_refusal_has_its_kind_its_wait_and_what_the_service_says_of_its_limits() -> None:
    headers = {"retry-after": "12", "x-ratelimit-limit-requests": "60"}
    trouble = refusal(FAKE, 429, "rate_limit", "Slow down", {}, headers)
    assert (trouble.kind, trouble.after, trouble.unknown) == (TroubleKind.LIMITED, 12, False)
    assert trouble.told == (ToldLimit(Dimension.REQUESTS, 60),)
    assert refusal(FAKE, 429, "", "Quota exceeded.", GEMINI, {}).after == pytest.approx(34.07)
    daily = refusal(FAKE, 429, "rate_limit_exceeded", "requests per day (RPD): Limit 200", {}, {"retry-after": "7200"})
    assert (daily.kind, daily.after) == (TroubleKind.QUOTA, 7_200)


@pytest.mark.parametrize(("status", "unknown"), [(429, False), (503, False), (529, False), (502, True), (504, True)])
def test_only_a_lost_answer_may_have_been_paid(status: int, unknown: bool) -> None:
    assert refusal(FAKE, status, "", "said", {}, {}).unknown is unknown


@pytest.mark.parametrize(
    ("error", "kind", "after"),
    [
        ({"message": "Too many requests, slow down"}, TroubleKind.LIMITED, None),
        ({"code": "Throttling", "message": "Request was throttled. Please try again in 3s."}, TroubleKind.LIMITED, 3),
        ({"message": "daily limit: too many requests"}, TroubleKind.QUOTA, -1),
        ({"message": "It broke"}, TroubleKind.BUSY, None),
    ],
    ids=["limited", "throttled", "quota", "busy"],
)
def test_a_throttle_inside_an_answer_is_a_refusal(error: Any, kind: TroubleKind, after: float | None) -> None:
    trouble = trouble_inside(FAKE, error)
    assert (trouble.kind, trouble.unknown) == (kind, kind is TroubleKind.BUSY)
    wanted = until_tomorrow() if after == -1 else after
    assert trouble.after == (wanted if wanted is None else pytest.approx(wanted, abs=30))


def test_a_quota_without_a_time_comes_back_with_the_next_day() -> None:
    assert until_tomorrow(NOW) == timedelta(hours=12).total_seconds()
