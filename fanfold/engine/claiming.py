"""What should be done next? Due items of active tasks: by priority, then fairly between tasks, then in order."""

from __future__ import annotations

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace
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


@dataclass
class Room:
    """How many more items may run now: in all, and per stage."""

    free: int
    running: Counter[tuple[str, str]] = field(default_factory=Counter)

    def for_stage(self, pipeline: str, stage: Stage) -> int:
        """Free places for one stage in this worker."""
        own = self.free if stage.concurrency is None else stage.concurrency - self.running[pipeline, stage.name]
        return max(0, min(self.free, own))

    def take(self, pipeline: str, stage: str, count: int) -> None:
        """Note what was claimed."""
        self.free -= count
        self.running[pipeline, stage] += count


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
        self._fresh: list[Ready] = []
        self._due: list[Ready] = []
        self._cursors: dict[int, int] = {}
        self._rows: OrderedDict[int, TaskRow] = OrderedDict()
        self._looked_at = -1e9
        self._turn = 0
        self._served_tasks: dict[tuple[str, str], set[int]] = {}

    @property
    def has_candidates(self) -> bool:
        """Whether any task is known to have work."""
        return bool(self._fresh or self._due)

    @property
    def can_claim(self) -> bool:
        """Whether any of them is also allowed: its stage fits the time left, and no more tasks are served than should be."""
        return any(self.fits(self._stage(ready)) and self._admits(ready) for ready in (*self._due, *self._fresh))

    def look(self, hinted: bool) -> None:
        """Ask which tasks have work: now and then while some are known, at a hint or now and then when none is."""
        if not (hinted and not self.can_claim) and time.monotonic() - self._looked_at < REFRESH_SECONDS:
            return
        with self.store.read() as tx:
            self._fresh = self._wanted(tx.items.ready(self.served, CANDIDATES))
            self._due = self._wanted(tx.items.due(self.served, CANDIDATES))
            self.seconds_to_next = tx.items.seconds_to_next()
        self._looked_at = time.monotonic()
        known = {ready.task for ready in self._fresh}
        self._cursors = {task: cursor for task, cursor in self._cursors.items() if task in known}

    def _wanted(self, found: list[Ready]) -> list[Ready]:
        return found if self.only is None else [ready for ready in found if ready.task in self.only]

    def claim(self, tx: Transaction, worker: str, room: Room) -> list[tuple[TaskRow, Claimed]]:
        """Claim up to the room there is: what waited out its time first, then what is new."""
        self._turn += 1
        claimed = self._from(tx, worker, room, self._due, timed=True) + self._from(
            tx, worker, room, self._fresh, timed=False
        )
        return [(self._row(tx, one.task), one) for one in claimed]

    def _from(self, tx: Transaction, worker: str, room: Room, candidates: list[Ready], *, timed: bool) -> list[Claimed]:
        found: list[Claimed] = []
        for _, group in groupby(list(candidates), key=lambda ready: ready.priority):
            waiting = list(group)
            start = self._turn % len(waiting)
            waiting = waiting[start:] + waiting[:start]
            while waiting and room.free > 0:
                share = -(-room.free // len(waiting))
                waiting = [
                    ready for ready in waiting if self._take(tx, worker, room, ready, share, found, timed, candidates)
                ]
        return found

    def _take(
        self,
        tx: Transaction,
        worker: str,
        room: Room,
        ready: Ready,
        share: int,
        found: list[Claimed],
        timed: bool,
        candidates: list[Ready],
    ) -> bool:
        """Claim a task's share; returns whether it may have more."""
        stage = self._stage(ready)
        wanted = min(share, room.for_stage(ready.pipeline, stage))
        if wanted <= 0 or not self.fits(stage) or not self._admits(ready):
            return False
        name = f"{ready.pipeline}.{ready.stage}"
        if stage.limit is not None:
            wanted = min(wanted, tx.workers.free_places(name, stage.limit))
        ids = self._claim_ids(tx, worker, ready, stage, wanted, timed) if wanted else []
        if stage.limit is not None:
            tx.workers.grant(name, ids)
        if ids:
            if self.tasks_per_stage is not None:
                self._served_tasks.setdefault((ready.pipeline, ready.stage), set()).add(ready.task)
            found += [replace(one, has_permit=stage.limit is not None) for one in tx.items.load(ids)]
            room.take(ready.pipeline, ready.stage, len(ids))
        if wanted and len(ids) < wanted:
            candidates.remove(ready)
        return len(ids) == wanted and wanted > 0

    def _claim_ids(
        self, tx: Transaction, worker: str, ready: Ready, stage: Stage, wanted: int, timed: bool
    ) -> list[int]:
        if timed:
            return tx.items.claim(ready, worker, wanted, timed=True, timeout=stage.timeout)
        cursor = self._cursors.get(ready.task, 0)
        ids = tx.items.claim(ready, worker, wanted, cursor=cursor, timeout=stage.timeout)
        if cursor and len(ids) < wanted:
            ids += tx.items.claim(ready, worker, wanted - len(ids), timeout=stage.timeout)
        self._cursors[ready.task] = max(ids, default=0)
        return ids

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
