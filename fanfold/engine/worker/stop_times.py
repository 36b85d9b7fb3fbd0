"""Times at which a worker stops: on request, or at the end of its time limit."""

from __future__ import annotations

import time

from fanfold.engine.worker.attempt.attempt_result import OutOfTime
from fanfold.model.text.sentences import say


class StopTimes:
    """The times, on the monotonic clock, by which a worker must hand back its items and be gone."""

    def __init__(self, grace_seconds: float) -> None:
        self.asked = 0
        """Number of stop requests; at the second it stops at once."""
        self.stop_at: float | None = None
        """After a stop request, running items may finish until then."""
        self.end_at: float | None = None
        """End of this run's time limit; None without one."""
        self._grace_seconds = grace_seconds
        self._seconds: float | None = None

    def give(self, seconds: float | None) -> None:
        """Start a run with this time limit; None runs until stopped."""
        self._seconds = seconds
        self.end_at = None if seconds is None else time.monotonic() + seconds

    def ask(self) -> None:
        """Request a stop: gracefully at first, at once the second time."""
        self.stop_at = self.stop_at or time.monotonic() + self._grace_seconds
        self.asked += 1

    def ask_at_once(self) -> None:
        """Stop at once: no time is left."""
        self.asked = max(self.asked, 2)

    @property
    def at_once(self) -> bool:
        """Whether a stop was requested twice."""
        return self.asked > 1

    def out_of_time(self) -> bool:
        """Whether the time limit has passed."""
        if self.end_at is None or time.monotonic() < self.end_at:
            return False
        self.stop_at = min(self.stop_at or self.end_at, self.end_at)
        return True

    def begun(self) -> bool:
        """Whether it is stopping: nothing more is claimed."""
        return self.asked > 0 or self.out_of_time()

    def is_past_grace(self) -> bool:
        """Whether the grace time has passed."""
        return self.stop_at is not None and time.monotonic() >= self.stop_at

    def is_over(self) -> bool:
        """Whether items that still run are handed back now."""
        return self.at_once or time.monotonic() >= (self.stop_at or 0)

    def grace_left(self) -> float:
        """Seconds left for services to finish; none at the end of a tick."""
        if self.end_at is not None:
            return 0.0
        return max(0.0, (self.stop_at or 0.0) - time.monotonic())

    def gone_by(self) -> float | None:
        """When the worker must be gone, if at all."""
        if self.at_once:
            return 0.0
        return min((moment for moment in (self.stop_at, self.end_at) if moment is not None), default=None)

    def seconds_left(self) -> float | None:
        """Seconds until the next of these times; None if there is none."""
        moments = [moment for moment in (self.end_at, self.stop_at) if moment is not None]
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def cut_off(self, limit: int) -> OutOfTime | None:
        """The reason for items that the time limit cuts off; None if the run ends for another reason."""
        if self.asked or self._seconds is None or not self.out_of_time():
            return None
        reason = say("tick_too_short", seconds=self._seconds)
        return OutOfTime(reason, limit, begun_by=time.monotonic() - self._seconds / 2)
