"""A tick ends in time although the database or a service is slow before or after its work."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery import tick as module
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.errors import BadInput
from fanfold.model.item import Later
from tests.engine.live import Live

SECONDS = 3.0
LONG = 60.0
"""How long a slow part would take."""
one = ff.Pipeline("one")


@one.each
def double(item: ff.ItemWork) -> int:
    """Twice the input."""
    return 2 * int(item.input)


ends_late = ff.Pipeline("ends_late")
HOUR = 3_600.0


@ends_late.each
def wait(item: ff.ItemWork) -> int | Later:
    """Waits for something that takes an hour."""
    return ff.later(HOUR)


@pytest.fixture
def slow() -> Iterator[threading.Event]:
    """Ends what is slow when the test is over."""
    over = threading.Event()
    yield over
    over.set()


@pytest.mark.parametrize("part", ["_recover", "_carry_batches", "_usual_seconds"])
def test_what_is_slow_before_the_work_does_not_make_a_tick_late(
    live: Live, slow: threading.Event, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def wait(*_words: object) -> int:
        slow.wait(LONG)
        return 0

    monkeypatch.setattr(module, part, wait)
    live.client.submit(live.know(one), items=[21])
    started = time.monotonic()
    report = tick(live.store, live.pipelines, seconds=SECONDS)
    assert time.monotonic() - started < LONG / 2
    assert report.finished == 0


def test_a_slow_report_does_not_make_a_tick_late(
    live: Live, slow: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it counted itself is reported all the same; only what it could not ask is taken from what it knew."""
    task = live.client.submit(live.know(one), items=[21])
    later = live.client.submit(live.know(ends_late), items=[1])
    monkeypatch.setattr(module, "_next_due", lambda _store, _seconds: slow.wait(LONG))
    started = time.monotonic()
    report = tick(live.store, live.pipelines, seconds=3 * SECONDS)
    assert time.monotonic() - started < LONG / 2
    done, waiting = live.client.get(task.id).done, live.client.items(later.id)[0].state == "waiting"
    assert (report.finished, report.waiting, report.advanced) == (done, waiting, done + waiting)
    assert (report.failed, report.retrying, report.held, report.lost, report.recovered) == (0, 0, 0, 0, 0)
    if report.next_due_seconds is not None:  # Its last look at the queue may have been before the item waited.
        assert HOUR - LONG < report.next_due_seconds <= HOUR
    assert 3 * SECONDS - 1 < report.seconds <= time.monotonic() - started


def test_a_report_is_not_waited_for_up_to_the_last_moment(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Returning takes a moment too: a tick that waited for its report up to the end would be late."""
    ends: list[float] = []
    until = module._InTime.until

    def noted(self: Any, end: float, otherwise: Any) -> Any:
        ends.append(end)
        return until(self, end, otherwise)

    monkeypatch.setattr(module._InTime, "until", noted)
    started = time.monotonic()
    tick(live.store, live.pipelines, seconds=LONG)
    assert ends[-1] < started + LONG * (1 - module.RETURN_SHARE / 2)


def test_what_goes_wrong_before_the_work_is_raised(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object) -> int:
        raise BadInput("no")

    monkeypatch.setattr(module, "_recover", fail)
    with pytest.raises(BadInput, match="no"):
        tick(live.store, live.pipelines, seconds=SECONDS)
