"""What every scenario checks at its end: everything is done once, and the throughput has recovered."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable, Sequence

from tests.acceptance.fleet import Fleet, check_events, patiently
from tests.chaos.findings import FULL
from tests.chaos.handlers import __name__ as steady_module
from tests.chaos.handlers import steady
from tests.chaos.meter import Meter

WINDOW = 15.0 if FULL else 2.0
"""Seconds over which a throughput is measured: workers keep step, and one step more or less must not count."""
LEAST = 0.95 if FULL else 0.7
"""The share of the throughput before that there must be after."""
WINDOWS = 2 if FULL else 20
"""How often it is measured until it is reached: other users of the machine take their share too."""
SECONDS = 0.2 if FULL else 0.4
SLOTS = 4
ITEMS = 2_500 if FULL else 1_000
"""Enough items to last longer than any scenario at this pace; the rest is hurried through."""

Process = subprocess.Popen[bytes]


def check_crowd(ours: Fleet, task: str, count: int) -> None:
    """Every item done, by its last attempt; merged once from all of them; one chain of events.

    A lease that was claimed ahead and given up before its handler began counts no attempt.
    """
    found = ours.until(task, seconds=100)
    assert (found.total, found.done, found.failed) == (count, count, 0)
    starts, ends = ours.calls("start"), ours.calls("end")
    for row in ours.rows(task, "work"):
        output = ours.output(row)
        assert (row.state, row.failures, row.attempts) == ("done", 0, output["attempt"]), row
        assert row.crashes < row.attempts <= row.lease, row
        mine = (output["attempt"], output["token"], output["pid"])
        assert mine in starts[row.key], f"{row}: nobody started that attempt"
        assert mine in ends[row.key], f"{row}: nobody ended that attempt"
        assert len(starts[row.key]) <= row.lease, f"{row}: started more often than claimed"
    (merged,) = ours.rows(task, "bind")
    assert ours.output(merged) == {"count": count, "different": count, "attempt": merged.attempts}
    assert len(ours.calls("merge")["-"]) <= merged.lease
    moves = [event for event in ours.client.events(task, limit=100_000) if event.item is None]
    assert [move.stage for move in moves] == ["cut", "work", "bind", "bind"]
    check_events(ours.client, task)


class Load:
    """A task whose handlers set the pace, with workers on it, until it is told to hurry to its end."""

    def __init__(
        self, ours: Fleet, workers: Sequence[dict[str, str]] = ({}, {}), count: int = ITEMS, module: str = "fanfold.cli"
    ) -> None:
        """Workers are given by what is different in their environment; all of them are well at work in the end."""
        self.ours = ours
        self.module = module
        self.count = count
        self.hurry = ours.folder / "hurry"
        options = {"count": count, "log": str(ours.log), "seconds": SECONDS, "hurry": str(self.hurry)}
        self.task = ours.client.submit(steady, options=options).id
        self.meter = Meter(ours, self.task)
        self.workers = [self.start(**environment) for environment in workers]
        self.all_at_work(*self.workers)

    def start(self, **environment: str) -> Process:
        """Start another worker on it."""
        words = ("-m", self.module, "worker", f"{steady_module}:steady", "--concurrency", str(SLOTS))
        return self.ours.run(*words, **environment)

    def all_at_work(self, *workers: Process) -> None:
        """Wait until each of these has come to the end of an item from now on."""
        before = ends(self.ours)
        patiently(lambda: all(ends(self.ours)[one.pid] > before[one.pid] for one in workers), 90, self.ours.said)

    def finish(self) -> None:
        """Hurry to the end, and check that everything is there, once."""
        self.hurry.touch()
        check_crowd(self.ours, self.task, self.count)


def ends(ours: Fleet) -> Counter[int]:
    """How many items each process has come to the end of."""
    return Counter(pid for calls in ours.calls("end").values() for _, _, pid in calls)


def check_share(rate: Callable[[float], float], before: float) -> float:
    """The throughput after a fault as a share of that before: it must come back to nearly the same."""
    seen: list[float] = []
    while not seen or (seen[-1] < LEAST * before and len(seen) < WINDOWS):
        seen.append(rate(WINDOW))
    assert seen[-1] >= LEAST * before, f"{seen} items per second after, {before:.1f} before"
    return round(seen[-1] / before, 2)
