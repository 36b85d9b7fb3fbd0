"""Claims due items of active tasks: by priority, then fairly between owners and tasks, then in order."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from dataclasses import replace

from fanfold.engine.worker.claiming.candidates import Candidates, Known
from fanfold.engine.worker.claiming.fairness import PriorityLevel
from fanfold.engine.worker.claiming.handler_batches import into_calls
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.claiming.suspects import SparingClaim
from fanfold.errors import BadPipeline
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.model.task import TaskRow
from fanfold.store.items.find_work import Pair, Ready, Served
from fanfold.store.store import Store, Transaction

KNOWN_TASKS = 2_000
REWIND_SECONDS = 5.0
"""Longest wait of pending items before the cursor. Scanning from the start is the cost that the cursor avoids."""


class Claimer:
    """Caches which tasks have work for this worker, and claims from them in turn."""

    def __init__(
        self,
        store: Store,
        pipelines: dict[str, Pipeline],
        stages: Iterable[str] = (),
        tasks_per_stage: int | None = None,
        only: Container[int] | None = None,
        fits: Callable[[Stage], bool] = lambda stage: True,
    ) -> None:
        """``only``: numbers of the tasks to work on; all if None. ``fits``: whether a stage may start now."""
        self.store = store
        self.pipelines = pipelines
        self.served = Served(_served(pipelines, tuple(stages)))
        self.tasks_per_stage = tasks_per_stage
        self.candidates = Candidates(store, self.served, only)
        self.fits = fits
        self.has_claimed = False
        """Whether any item was claimed so far."""
        self._without_permit: set[Pair] = set()
        """Stages whose limit across all workers was reached at the last claim."""
        self._permits: dict[Pair, int] = {}
        """Items that may still be claimed in stages with such a limit."""
        self._per_call: dict[int, int] = {}
        """Items to claim per call of a batch handler, for tasks whose items need small batches."""
        self._levels: dict[int, PriorityLevel] = {}
        self._cursors: dict[int, int] = {}
        self._rewound_at: dict[int, float] = {}
        self._rows: OrderedDict[int, TaskRow] = OrderedDict()
        self._served_tasks: dict[Pair, set[int]] = {}
        self._suspected: set[int] = set()
        """Tasks with more suspects than could start."""
        self._looks_again = False
        """Whether a task was forgotten that may have items left which are not claimed ahead."""

    def served_stages(self) -> list[tuple[Pipeline, Stage]]:
        """The stages to serve, with their pipelines."""
        return [(self.pipelines[pair[0]], self._stage(pair)) for pair in self.served.pairs]

    @property
    def has_candidates(self) -> bool:
        """Whether any task is known to have work."""
        return bool(self.candidates)

    @property
    def can_claim(self) -> bool:
        """Whether any candidate may be claimed: its stage fits the time left, and the limit of tasks is not reached."""
        return self._can_claim(())

    def _can_claim(self, full: Container[Pair]) -> bool:
        return any(
            pair not in full and self.fits(self._stage(pair)) and any(map(self._admits, known.tasks()))
            for pair, known in self.candidates.stages.items()
            if known
        )

    @property
    def known_tasks(self) -> set[int]:
        """The tasks known to have work."""
        return self.candidates.tasks

    @property
    def seconds_to_next(self) -> float | None:
        """Seconds until the next timed item is due, as of the last poll; None if there is none."""
        return self.candidates.seconds_to_next

    def waiting_in(self, condition: Callable[[Stage], bool]) -> tuple[str, ...]:
        """The stages with work that meet the condition, as `pipeline.stage`."""
        known = (pair for pair, tasks in self.candidates.stages.items() if tasks and condition(self._stage(pair)))
        return tuple(sorted(".".join(pair) for pair in known))

    def look(self, hinted: bool, *, now: bool = False, room: Room | None = None) -> None:
        """Poll for tasks with work: at once if ``now``, or on a hint if no candidate can be claimed; otherwise at intervals."""
        full = self._full(room)
        again = self._looks_again and room is not None and room.slots > 0
        if self.candidates.look(urgent=now or ((hinted or again) and not self._can_claim(full)), full=full):
            self._looks_again = self._looks_again and not again
            known = self.known_tasks
            self._cursors = {task: cursor for task, cursor in self._cursors.items() if task in known}
            self._rewound_at = {task: moment for task, moment in self._rewound_at.items() if task in known}
            self._suspected &= known
            self._per_call = {task: size for task, size in self._per_call.items() if task in known}

    def _full(self, room: Room | None) -> set[Pair]:
        """Stages without room for another item, here or across all workers."""
        if room is None:
            return self._without_permit
        return self._without_permit | {
            pair for pair in self.served.pairs if room.for_stage(pair[0], self._stage(pair)) <= 0
        }

    def claim(
        self, tx: Transaction, worker: str, room: Room, *, without: Container[int] = ()
    ) -> list[tuple[TaskRow, Claimed]]:
        """Claim until the room is used: by priority, in fair shares; within a task, due timed items before pending ones.

        Nothing is claimed of the tasks in ``without``.
        """
        found: list[Claimed] = []
        if room.free > 0:
            left = self._room_per_stage(tx, room)
            levels: dict[int, list[Ready]] = {}
            for pair in left:
                for ready in (one for one in self.candidates.stages[pair].tasks() if one.task not in without):
                    levels.setdefault(ready.priority, []).append(ready)
            self._levels = {priority: level for priority, level in self._levels.items() if priority in levels}
            for priority in sorted(levels, reverse=True):
                self._claim_level(tx, worker, room, left, priority, levels[priority], found)
        rows = {
            of_task: self._row(tx, one)
            for of_task, one in {(one.task, one.task_generation): one for one in found}.items()
        }
        return [(rows[one.task, one.task_generation], one) for one in found]

    def _room_per_stage(self, tx: Transaction, room: Room) -> dict[Pair, int]:
        """Items that may be claimed in each stage with known work and room."""
        left = {
            pair: places
            for pair, known in self.candidates.stages.items()
            if known and self.fits(stage := self._stage(pair)) and (places := room.for_stage(pair[0], stage)) > 0
        }
        limits = {pair: limit for pair in left if (limit := self._stage(pair).limit) is not None}
        # Lock all limits before the first item, so that no two claims deadlock.
        permits = tx.workers.free_places({".".join(pair): limit for pair, limit in limits.items()})
        self._permits = {pair: permits[".".join(pair)] for pair in limits}
        self._without_permit = {pair for pair in limits if self._permits[pair] <= 0}
        for pair in limits:
            left[pair] = min(left[pair], self._permits[pair])
        return {pair: places for pair, places in left.items() if places > 0}

    def _claim_level(
        self,
        tx: Transaction,
        worker: str,
        room: Room,
        left: dict[Pair, int],
        priority: int,
        tasks: list[Ready],
        found: list[Claimed],
    ) -> None:
        """Claim for the tasks of one priority until no room or no work is left."""
        level = self._levels.get(priority)
        if level is None:
            level = self._levels[priority] = PriorityLevel(self.store.settings.weights)
        waiting = set(tasks)
        while waiting and room.free > 0:
            waiting = {ready for ready in waiting if left[ready.pipeline, ready.stage] > 0 and self._admits(ready)}
            for ready, share in level.shares(waiting, room.free, left).items():
                # Earlier tasks of a stage may have used up the task limit of a tick.
                claimed, calls = self._take(tx, worker, ready, share, room) if self._admits(ready) else ([], 0)
                found += claimed
                left[ready.pipeline, ready.stage] -= calls
                if calls < share:
                    level.take_back(ready, share - calls)
                    waiting.discard(ready)

    def _take(self, tx: Transaction, worker: str, ready: Ready, share: int, room: Room) -> tuple[list[Claimed], int]:
        """Claim a task's share, or as much of it as there is: for slots first, then ahead.

        Returns the items, and how many calls they need.
        """
        pair = (ready.pipeline, ready.stage)
        stage = self._stage(pair)
        claim = SparingClaim(tx.claiming, ready, worker, stage, room, self._suspected)
        # Other tasks of this turn may have taken slots that the shares counted on.
        slots = min(share, room.slots_for(pair[0], stage))
        if stage.batch is None:
            claimed = self._claim_items(tx, claim, slots)
            room.take(ready, len(claimed), 0)
            if len(claimed) == slots:
                known = self.candidates.stages[pair]
                claimed += self._claim_ahead(claim, known, min(share - slots, room.ahead.get(pair, 0)))
            calls = len(claimed)
        else:
            claimed, calls = self._claim_batches(tx, claim, slots, stage.batch)
            room.take(ready, calls, 0)
            room.items -= len(claimed)
        if stage.limit is not None:
            self._permits[pair] -= len(claimed)
            tx.workers.grant(".".join(pair), [one.id for one in claimed])
            claimed = [one._replace(has_permit=True) for one in claimed]
        self.has_claimed = self.has_claimed or bool(claimed)
        if claimed and self.tasks_per_stage is not None:
            self._served_tasks.setdefault(pair, set()).add(ready.task)
        return claimed, calls

    def _claim_batches(self, tx: Transaction, claim: SparingClaim, share: int, batch: int) -> tuple[list[Claimed], int]:
        """Claim for ``share`` calls of a batch handler. Items that need more calls are handed back, as if never claimed."""
        ready, room = claim.ready, claim.room
        per_call = self._per_call.get(ready.task, batch)
        wanted = min(share * per_call, room.items, self._permits.get((ready.pipeline, ready.stage), room.items))
        claimed = self._claim_items(tx, claim, wanted)
        calls = into_calls(claimed, batch)
        kept = [one for call in calls[:share] for one in call]
        if surplus := [one.id for call in calls[share:] for one in call]:
            tx.claiming.hand_back(surplus)
            self.candidates.stages[ready.pipeline, ready.stage].fresh[ready.task] = ready
            self._cursors[ready.task] = min(self._cursors.get(ready.task, 0), min(surplus) - 1)
            self._per_call[ready.task] = max(1, len(kept) // share)  # Else as many would be handed back next time.
        elif len(calls) < share:
            self._per_call.pop(ready.task, None)
        return kept, min(share, len(calls))

    def _claim_items(self, tx: Transaction, claim: SparingClaim, wanted: int) -> list[Claimed]:
        known = self.candidates.stages[claim.ready.pipeline, claim.ready.stage]
        claimed = self._claim_due(claim, known, wanted)
        claimed += self._claim_fresh(claim, known, wanted - len(claimed))
        # Candidates do not say whether a task has a sample: that would cost every poll more than this costs a claim in vain.
        if not claimed and wanted > 0 and tx.tasks.has_sample(claim.ready.task):
            claimed = replace(claim, sampled=True)(wanted)
        return claimed

    def _claim_due(self, claim: SparingClaim, known: Known, wanted: int) -> list[Claimed]:
        task = claim.ready.task
        if wanted <= 0 or task not in known.due:
            return []
        claimed = claim(wanted, timed=True)
        if len(claimed) < wanted:
            del known.due[task]
        return claimed

    def _claim_fresh(self, claim: SparingClaim, known: Known, wanted: int) -> list[Claimed]:
        task = claim.ready.task
        if wanted <= 0 or task not in known.fresh:
            return []
        cursor = self._cursor(task)
        claimed = claim(wanted, cursor=cursor)
        if cursor and len(claimed) < wanted:
            claimed += claim(wanted - len(claimed))
        if len(claimed) < wanted:
            del known.fresh[task]
        self._cursors[task] = max(claimed).id if claimed else 0
        return claimed

    def _claim_ahead(self, claim: SparingClaim, known: Known, wanted: int) -> list[Claimed]:
        """Claim items that wait for a slot. Items that were tried before are left for free slots, so look for them again."""
        task = claim.ready.task
        if wanted <= 0 or task not in known.fresh:
            return []
        cursor = self._cursor(task)
        claimed = claim(wanted, cursor=cursor, ahead=True)
        if cursor and len(claimed) < wanted:
            claimed += claim(wanted - len(claimed), ahead=True)
        if len(claimed) < wanted:
            del known.fresh[task]
            self._looks_again = True
        self._cursors[task] = max(claimed).id if claimed else 0
        claim.room.take(claim.ready, 0, len(claimed))
        return claimed

    def _cursor(self, task: int) -> int:
        """The item after which to continue; at intervals the start, because reclaimed, released and retried items wait there."""
        now = time.monotonic()
        if now - self._rewound_at.setdefault(task, now) >= REWIND_SECONDS:
            self._rewound_at[task] = now
            return 0
        return self._cursors.get(task, 0)

    def _admits(self, ready: Ready) -> bool:
        """Whether a tick with a limit of tasks per stage may serve this one."""
        if self.tasks_per_stage is None:
            return True
        served = self._served_tasks.get((ready.pipeline, ready.stage), set())
        return ready.task in served or len(served) < self.tasks_per_stage

    def _stage(self, pair: Pair) -> Stage:
        stage = self.pipelines[pair[0]].find(pair[1])
        assert stage is not None, "only served stages are polled"
        return stage

    def _row(self, tx: Transaction, claimed: Claimed) -> TaskRow:
        """The task's row for handlers. It is cached: what they read of it changes only with its generation."""
        row = self._rows.get(claimed.task)
        if row is None or row.generation != claimed.task_generation:
            row = tx.tasks.get(claimed.task)
            assert row is not None, "the task of a claimed item does not exist"
            self._rows[claimed.task] = row
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
        raise BadPipeline(f"Unknown stage {', '.join(unknown)}. Use one of: {', '.join(f'{p}.{s}' for p, s in pairs)}.")
    return [(pipeline, stage) for pipeline, stage in pairs if stage in wanted or f"{pipeline}.{stage}" in wanted]
