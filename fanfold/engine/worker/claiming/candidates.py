"""Caches which tasks have work for a worker, by stage, and refreshes this by polling at a bounded cost.

A poll walks the active tasks of the served stages page by page. If one page holds them all, every poll sees everything.
Otherwise a poll reads a few pages at most, a lap over all tasks continues from poll to poll, and tasks that were submitted or
moved meanwhile are queried by number, so that they need not wait until the walk reaches them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field
from typing import Any

from fanfold.store.items.find_work import TOP, Page, Pair, Position, Ready, Served
from fanfold.store.store import Store, Transaction

PAGE = 200
"""Tasks of a stage probed per query; fewer cost nearly the same."""
PAGES = 10
"""Most pages read per poll while nothing is found."""
TIMED_PAGE = 1_000
"""Due items read per poll."""
MOST_KNOWN = 1_000
"""Most tasks of a stage in the cache."""
REFRESH_SECONDS = 0.5
"""How long a task stays in the cache without another probe."""
LOOK_SHARE = 0.1
"""Largest share of a busy worker's time spent polling for new tasks. A small task submitted beside a huge one is seen within
about 20 ms, in each of its stages. A hint alone is not enough: it may have come while no slot was free."""
LONGEST_PAUSE_SECONDS = 5.0
"""Longest pause after a slow walk. A very slow one was not work: the machine slept or the process was suspended."""
IDLE_SHARE = 0.02
"""The same limit for an idle worker in the middle of a lap."""


@dataclass
class Known:
    """The tasks of one stage that are known to have work."""

    fresh: dict[int, Ready] = field(default_factory=dict)
    """Tasks with pending items."""
    due: dict[int, Ready] = field(default_factory=dict)
    """Tasks with timed items that are due."""

    def __bool__(self) -> bool:
        return bool(self.fresh or self.due)

    def tasks(self) -> Collection[Ready]:
        """All tasks with work."""
        return (self.due | self.fresh).values() if self.due else self.fresh.values()


class Candidates:
    """Finds and remembers which tasks have work in the served stages."""

    def __init__(self, store: Store, served: Served, only: Container[int] | None = None) -> None:
        self.store = store
        self.served = served
        self.only = only
        self.stages: dict[Pair, Known] = {pair: Known() for pair in served.pairs}
        self.seconds_to_next: float | None = None
        """Seconds until the next timed item is due."""
        self._share, self._idle_share = LOOK_SHARE, IDLE_SHARE
        self._looked_at = self._walked_at = self._refreshed_at = -1e9
        self._look_seconds = self._walk_seconds = 0.0
        self._lap: dict[Pair, Position] = {}
        """Where the walk continues, for each stage that this lap has not finished."""
        self._lap_probes_all = False
        self._lap_pages = 0
        self._is_long = False
        """Whether a lap takes more than one page."""
        self._newest = 0
        self._moved: set[int] = set()
        self._timed_end: tuple[Any, int] | None = None

    def __bool__(self) -> bool:
        return any(self.stages.values())

    @property
    def tasks(self) -> set[int]:
        """The numbers of all known tasks."""
        return set().union(*(known.fresh for known in self.stages.values()), *(one.due for one in self.stages.values()))

    @property
    def seconds_to_look(self) -> float | None:
        """Seconds until an idle worker should continue its lap; None if the lap is over."""
        if not self._lap and self._timed_end is None:
            return None
        next_look = self._looked_at + self._look_seconds / self._idle_share
        if self._timed_end is None:  # A poll before the next walk is due would find nothing.
            next_look = max(next_look, self._walked_at + self._walk_pause)
        return max(0.0, next_look - time.monotonic())

    @property
    def _walk_pause(self) -> float:
        return min(LONGEST_PAUSE_SECONDS, self._walk_seconds / self._share)

    def hurry(self) -> None:
        """Poll without pauses, because a caller waits for the end of the lap."""
        self._share = self._idle_share = math.inf

    def note_move(self, task: int) -> None:
        """Record that a task has just moved: its cached entry is outdated, and it may have work in its next stage."""
        for known in self.stages.values():
            known.fresh.pop(task, None)
            known.due.pop(task, None)
        if self._is_long:
            self._moved.add(task)

    def look(self, *, urgent: bool, full: Container[Pair] = ()) -> bool:
        """Poll if ``urgent``, or if the pause is over; returns whether it did. Stages in ``full`` can wait."""
        started = time.monotonic()
        if not urgent and started - self._looked_at < min(REFRESH_SECONDS, self._look_seconds / self._share):
            return False
        with self.store.read() as tx:
            if self._is_long:
                self._ask_for_news(tx)
            if not self._is_long or started - self._walked_at >= self._walk_pause:
                self._walk(tx, started, full)
            self._read_due(tx)
            self.seconds_to_next = tx.looking.seconds_to_next()
        for known in self.stages.values():
            if len(known.fresh) > MOST_KNOWN:
                known.fresh = fairest(known.fresh.values())
        self._looked_at = time.monotonic()
        self._look_seconds = self._looked_at - started
        return True

    def _ask_for_news(self, tx: Transaction) -> None:
        moved, self._moved = self._moved, set()
        found, self._newest = tx.looking.news(self.served, self._newest, moved, PAGE)
        self._add(found)

    def _walk(self, tx: Transaction, started: float, full: Container[Pair]) -> None:
        """Continue the lap, or begin a new one, until something is found or the page limit is reached."""
        if not self._lap:
            self._lap_pages = 0
            self._lap = dict.fromkeys(self.served.pairs, TOP)
            self._lap_probes_all = started - self._refreshed_at >= REFRESH_SECONDS
            if self._lap_probes_all:
                self._refreshed_at = started
        for _ in range(PAGES):
            # A full stage with known work needs no more candidates. A full stage without known work may have room by
            # the time of the claim.
            starts = {pair: at for pair, at in self._lap.items() if not (pair in full and self.stages[pair])}
            known = () if self._lap_probes_all else [one for pair in starts for one in self.stages[pair].fresh.values()]
            page = tx.looking.walk(self.served, starts, PAGE, known) if starts else Page()
            self._lap_pages += 1
            if self._lap_probes_all:
                self._forget_unfound(starts, page)
            self._add(page.found)
            self._lap = page.ends
            if page.found or not page.ends:
                break
        was_long, self._is_long = self._is_long, self._lap_pages > 1 or bool(self._lap)
        if self._is_long and not was_long:
            self._newest = tx.looking.newest()
        self._walked_at = time.monotonic()
        self._walk_seconds = self._walked_at - started

    def _forget_unfound(self, starts: dict[Pair, Position], page: Page) -> None:
        """Drop the known tasks that the page has passed without finding work."""
        found = set(page.found)
        for pair, start in starts.items():
            end = page.ends.get(pair)
            fresh = self.stages[pair].fresh
            for ready in [one for one in fresh.values() if one not in found and start.is_before(one)]:
                if end is None or not end.is_before(ready):
                    del fresh[ready.task]

    def _read_due(self, tx: Transaction) -> None:
        before = self._timed_end
        found, self._timed_end = tx.looking.due(self.served, TIMED_PAGE, before)
        if before is None and self._timed_end is None:
            for known in self.stages.values():
                known.due.clear()
        for ready in self._wanted(found):
            self.stages[ready.pipeline, ready.stage].due[ready.task] = ready

    def _add(self, found: Iterable[Ready]) -> None:
        for ready in self._wanted(found):
            self.stages[ready.pipeline, ready.stage].fresh[ready.task] = ready

    def _wanted(self, found: Iterable[Ready]) -> Iterable[Ready]:
        return found if self.only is None else [ready for ready in found if ready.task in self.only]


def fairest(tasks: Iterable[Ready]) -> dict[int, Ready]:
    """Keep at most MOST_KNOWN tasks: by priority, then the oldest of each owner, then the second oldest, and so on."""
    counts: dict[tuple[int, str], int] = {}
    ranked = []
    for ready in sorted(tasks):
        rank = counts[ready.priority, ready.owner] = counts.get((ready.priority, ready.owner), 0) + 1
        ranked.append((-ready.priority, rank, ready))
    return {ready.task: ready for _, _, ready in sorted(ranked)[:MOST_KNOWN]}
