"""What should be done next? Due items of active tasks: by priority, then fairly between tasks, then in order."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from heapq import heapify, heapreplace
from itertools import groupby

from fanfold.errors import BadPipeline
from fanfold.model.item import Claimed
from fanfold.model.pipeline import Pipeline, Stage
from fanfold.model.task import TaskRow
from fanfold.store.items import Ready, Served
from fanfold.store.store import Store, Transaction

CANDIDATES = 500
KNOWN_TASKS = 2_000
REFRESH_SECONDS = 0.5
HALF_LIFE_SECONDS, FADE_STEP_SECONDS = 2.0, 0.05
EQUAL_TURNS = 4
"""Every so many turns all tasks of a priority get the same, whatever they had lately."""
REWIND_SECONDS = 5.0
"""How long what lies behind the cursor may wait; the walk from the start is what the cursor spares every claim."""
LOOK_SHARE = 0.1
"""Of a worker's time, at most what goes into looking for tasks that it does not know yet while it has work: a small task that
comes beside a huge one is seen within some 20 ms, in each of its stages. A hint is not waited for: it may have come, and gone,
while there was no room."""


@dataclass
class Room:
    """How many more items may run now, in all and per stage; and how many run already."""

    free: int
    running: Counter[tuple[str, str]] = field(default_factory=Counter)
    per_task: Counter[int] = field(default_factory=Counter)

    def for_stage(self, pipeline: str, stage: Stage) -> int:
        """Free places for one stage in this worker."""
        own = self.free if stage.concurrency is None else stage.concurrency - self.running[pipeline, stage.name]
        return max(0, min(self.free, own))

    def take(self, ready: Ready, count: int) -> None:
        """Note what was claimed."""
        self.free -= count
        self.running[ready.pipeline, ready.stage] += count
        self.per_task[ready.task] += count


class Lately:
    """How many items of each task were claimed lately; what is longer ago counts less and less."""

    def __init__(self) -> None:
        self._counts: dict[int, float] = {}
        self._faded_at = time.monotonic()

    def add(self, task: int, count: int) -> None:
        """Note what was claimed."""
        self._counts[task] = self._counts.get(task, 0.0) + count

    def counts(self) -> dict[int, float]:
        """By task, faded up to now."""
        now = time.monotonic()
        if now - self._faded_at > FADE_STEP_SECONDS:
            left = 0.5 ** ((now - self._faded_at) / HALF_LIFE_SECONDS)
            self._counts = {task: count * left for task, count in self._counts.items() if count * left > 0.5}
            self._faded_at = now
        return self._counts


class Claimer:
    """Remembers which tasks have work for this worker, and claims from them in turn."""

    def __init__(
        self,
        store: Store,
        pipelines: dict[str, Pipeline],
        stages: Iterable[str] = (),
        tasks_per_stage: int | None = None,
        only: Container[int] | None = None,
    ) -> None:
        self.store = store
        self.pipelines = pipelines
        self.served = Served(_served(pipelines, tuple(stages)))
        self.tasks_per_stage = tasks_per_stage
        self.only = only
        """The tasks to work on, by number; all when None."""
        self.fits: Callable[[Stage], bool] = lambda stage: True
        self.seconds_to_next: float | None = None
        self._order: list[Ready] = []
        self._fresh: set[Ready] = set()
        self._due: set[Ready] = set()
        self._cursors: dict[int, int] = {}
        self._rewound_at: dict[int, float] = {}
        self._rows: OrderedDict[int, TaskRow] = OrderedDict()
        self._looked_at = self._looked_at_all = -1e9
        self._look_seconds = 0.0
        self._turn = 0
        self._lately = Lately()
        self._permits: dict[str, int] = {}
        """By limit, how many more items may be claimed in this turn."""
        self._served_tasks: dict[tuple[str, str], set[int]] = {}

    @property
    def has_candidates(self) -> bool:
        """Whether any task is known to have work."""
        return bool(self._fresh or self._due)

    @property
    def can_claim(self) -> bool:
        """Whether any of them is also allowed: its stage fits the time left, and no more tasks are served than should be."""
        return any(self.fits(self._stage(ready)) and self._admits(ready) for ready in self._due | self._fresh)

    @property
    def known_tasks(self) -> set[int]:
        """The tasks known to have work."""
        return {ready.task for ready in self._fresh} | {ready.task for ready in self._due}

    def look(self, hinted: bool, *, now: bool = False) -> None:
        """Ask which tasks have work: at a hint at once when none is known, else as often as looking is cheap, or ``now``.

        In between only for tasks that are not known to have work: to find the first pending item of one that is being worked
        on, PostgreSQL walks over what was claimed of it before.
        """
        pause = min(REFRESH_SECONDS, self._look_seconds / LOOK_SHARE)
        started = time.monotonic()
        now = now or (hinted and not self.can_claim)
        if not now and started - self._looked_at < pause:
            return
        if now or started - self._looked_at_all >= REFRESH_SECONDS:
            self._fresh = set()
            self._looked_at_all = started
        with self.store.read() as tx:
            self._fresh |= set(self._wanted(tx.items.ready(self.served, CANDIDATES, known=self._fresh)))
            self._due = set(self._wanted(tx.items.due(self.served, CANDIDATES)))
            self.seconds_to_next = tx.items.seconds_to_next()
        self._order = sorted(self._due | self._fresh, key=lambda ready: (-ready.priority, ready.task))
        self._looked_at = time.monotonic()
        self._look_seconds = self._looked_at - started
        known = {ready.task for ready in self._fresh}
        self._cursors = {task: cursor for task, cursor in self._cursors.items() if task in known}
        self._rewound_at = {task: moment for task, moment in self._rewound_at.items() if task in known}

    def _wanted(self, found: list[Ready]) -> list[Ready]:
        return found if self.only is None else [ready for ready in found if ready.task in self.only]

    def claim(self, tx: Transaction, worker: str, room: Room) -> list[tuple[TaskRow, Claimed]]:
        """Claim up to the room there is: by priority, in equal shares; of a task, what waited out its time before what is new."""
        self._turn += 1
        self._permits = tx.workers.free_places(self._limits(room))
        found: list[Claimed] = []
        for _, group in groupby(self._order, key=lambda ready: ready.priority):
            waiting = [ready for ready in group if ready in self._due or ready in self._fresh]
            start = self._turn % max(1, len(waiting))
            waiting = waiting[start:] + waiting[:start]
            while waiting and room.free > 0:
                shares = self._shares(waiting, room)
                waiting = [
                    ready
                    for ready in waiting
                    if not shares[ready] or self._take(tx, worker, room, ready, shares[ready], found)
                ]
        return [(self._row(tx, one.task), one) for one in found]

    def _limits(self, room: Room) -> dict[str, int]:
        """The limits across all workers that a claim may need, with their sizes. They are all taken before the first item."""
        known = {(ready.pipeline, ready.stage): self._stage(ready) for ready in self._due | self._fresh}
        return {
            f"{pipeline}.{name}": stage.limit
            for (pipeline, name), stage in known.items()
            if stage.limit is not None and room.for_stage(pipeline, stage) > 0
        }

    def _shares(self, waiting: list[Ready], room: Room) -> dict[Ready, int]:
        """So many of the free places for each: one after the other to whoever had the least lately, what runs counted in.

        So a small task that comes beside a huge one gets what it needs at once, and two huge ones get the same. Every few
        turns what was had before does not count, so that small tasks without end do not keep a huge one waiting.
        """
        if len(waiting) == 1:
            return {waiting[0]: room.free}
        had = self._lately.counts() if self._turn % EQUAL_TURNS else {}
        line = [
            (max(had.get(ready.task, 0.0), float(room.per_task[ready.task])), place)
            for place, ready in enumerate(waiting)
        ]
        heapify(line)
        shares = dict.fromkeys(waiting, 0)
        for _ in range(room.free):
            amount, place = line[0]
            shares[waiting[place]] += 1
            heapreplace(line, (amount + 1.0, place))
        return shares

    def _take(self, tx: Transaction, worker: str, room: Room, ready: Ready, share: int, found: list[Claimed]) -> bool:
        """Claim a task's share; returns whether it may have more."""
        stage = self._stage(ready)
        wanted = min(share, room.for_stage(ready.pipeline, stage))
        if wanted <= 0 or not self.fits(stage) or not self._admits(ready):
            return False
        name = f"{ready.pipeline}.{ready.stage}"
        if stage.limit is not None:
            wanted = min(wanted, self._permits[name])
        claimed = self._claim_due(tx, worker, ready, stage, wanted)
        claimed += self._claim_fresh(tx, worker, ready, stage, wanted - len(claimed))
        if stage.limit is not None:
            tx.workers.grant(name, [one.id for one in claimed])
            self._permits[name] -= len(claimed)
            claimed = [one._replace(has_permit=True) for one in claimed]
        if claimed:
            if self.tasks_per_stage is not None:
                self._served_tasks.setdefault((ready.pipeline, ready.stage), set()).add(ready.task)
            found += claimed
            room.take(ready, len(claimed))
            self._lately.add(ready.task, len(claimed))
        return len(claimed) == wanted and wanted > 0

    def _claim_due(self, tx: Transaction, worker: str, ready: Ready, stage: Stage, wanted: int) -> list[Claimed]:
        if wanted <= 0 or ready not in self._due:
            return []
        claimed = tx.items.claim(ready, worker, wanted, timed=True, timeout=stage.timeout)
        if len(claimed) < wanted:
            self._due.remove(ready)
        return claimed

    def _claim_fresh(self, tx: Transaction, worker: str, ready: Ready, stage: Stage, wanted: int) -> list[Claimed]:
        if wanted <= 0 or ready not in self._fresh:
            return []
        cursor = self._cursor(ready.task)
        claimed = tx.items.claim(ready, worker, wanted, cursor=cursor, timeout=stage.timeout)
        if cursor and len(claimed) < wanted:
            claimed += tx.items.claim(ready, worker, wanted - len(claimed), timeout=stage.timeout)
        if len(claimed) < wanted:
            self._fresh.remove(ready)
        self._cursors[ready.task] = max((one.id for one in claimed), default=0)
        return claimed

    def _cursor(self, task: int) -> int:
        """Behind which item to go on; now and then from the start, where what was reclaimed, released or retried waits."""
        now = time.monotonic()
        if now - self._rewound_at.setdefault(task, now) >= REWIND_SECONDS:
            self._rewound_at[task] = now
            return 0
        return self._cursors.get(task, 0)

    def _admits(self, ready: Ready) -> bool:
        """At most so many tasks per stage, where a tick is limited so."""
        if self.tasks_per_stage is None:
            return True
        served = self._served_tasks.get((ready.pipeline, ready.stage), set())
        return ready.task in served or len(served) < self.tasks_per_stage

    def _stage(self, ready: Ready) -> Stage:
        stage = self.pipelines[ready.pipeline].find(ready.stage)
        assert stage is not None, "only served stages are looked for"
        return stage

    def _row(self, tx: Transaction, number: int) -> TaskRow:
        """The task's row as the handlers see it: what they read of it does not change while it runs."""
        row = self._rows.get(number)
        if row is None:
            row = tx.tasks.get(number)
            assert row is not None, "an item was claimed of a task that is not there"
            self._rows[number] = row
            if len(self._rows) > KNOWN_TASKS:
                self._rows.popitem(last=False)
        return row


def _served(pipelines: dict[str, Pipeline], wanted: tuple[str, ...]) -> list[tuple[str, str]]:
    """The (pipeline, stage) pairs to serve; ``wanted`` holds names of stages, or `pipeline.stage`."""
    pairs = [(pipeline.name, stage.name) for pipeline in pipelines.values() for stage in pipeline.all_stages()]
    if not wanted:
        return pairs
    known = {stage for _, stage in pairs} | {f"{pipeline}.{stage}" for pipeline, stage in pairs}
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise BadPipeline(
            f"There is no stage {', '.join(unknown)}. There are: {', '.join(f'{p}.{s}' for p, s in pairs)}."
        )
    return [(pipeline, stage) for pipeline, stage in pairs if stage in wanted or f"{pipeline}.{stage}" in wanted]
