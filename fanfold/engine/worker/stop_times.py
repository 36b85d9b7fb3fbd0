"""When a worker stops: because somebody asked it to, or at the end of the time it was given."""

from __future__ import annotations

import time

from fanfold.engine.worker.attempt.attempt_result import OutOfTime
from fanfold.model.text.sentences import say


class StopTimes:
    """The moments, on the monotonic clock, by which a worker must hand back what it runs and be gone."""

    def __init__(self, grace_seconds: float) -> None:
        self.asked = 0
        """How often somebody has asked: the second time it stops at once."""
        self.stop_at: float | None = None
        """Until then what runs may end by itself, once somebody has asked."""
        self.end_at: float | None = None
        """The end of the time that this run was given; None when it was given none."""
        self._grace_seconds = grace_seconds
        self._seconds: float | None = None

    def give(self, seconds: float | None) -> None:
        """A run begins that may take so long; None: until it is stopped."""
        self._seconds = seconds
        self.end_at = None if seconds is None else time.monotonic() + seconds

    def ask(self) -> None:
        """Somebody asks: first gracefully, the second time at once."""
        self.stop_at = self.stop_at or time.monotonic() + self._grace_seconds
        self.asked += 1

    def ask_at_once(self) -> None:
        """There is no time left for anything."""
        self.asked = max(self.asked, 2)

    @property
    def at_once(self) -> bool:
        """Whether it was asked twice."""
        return self.asked > 1

    def out_of_time(self) -> bool:
        """Whether the time it was given is over."""
        if self.end_at is None or time.monotonic() < self.end_at:
            return False
        self.stop_at = min(self.stop_at or self.end_at, self.end_at)
        return True

    def begun(self) -> bool:
        """Whether it stops: nothing more is claimed."""
        return self.asked > 0 or self.out_of_time()

    def is_past_grace(self) -> bool:
        """Whether what runs has had the time it may have."""
        return self.stop_at is not None and time.monotonic() >= self.stop_at

    def is_over(self) -> bool:
        """Whether what still runs is handed back now."""
        return self.at_once or time.monotonic() >= (self.stop_at or 0)

    def grace_left(self) -> float:
        """Seconds that services have to finish; none at the end of a tick."""
        if self.end_at is not None:
            return 0.0
        return max(0.0, (self.stop_at or 0.0) - time.monotonic())

    def gone_by(self) -> float | None:
        """When the worker must be gone, if it must."""
        if self.at_once:
            return 0.0
        return min((moment for moment in (self.stop_at, self.end_at) if moment is not None), default=None)

    def seconds_left(self) -> float | None:
        """Until the next of these moments; None when there is none."""
        moments = [moment for moment in (self.end_at, self.stop_at) if moment is not None]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def cut_off(self, limit: int) -> OutOfTime | None:
        """What is said of items that the end of the time cuts off; None when the run ends for another reason."""
        if self.asked or self._seconds is None or not self.out_of_time():
            return None
        reason = say("tick_too_short", seconds=self._seconds)
        return OutOfTime(reason, limit, begun_by=time.monotonic() - self._seconds / 2)
