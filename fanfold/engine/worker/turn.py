"""One turn of a worker as a list of steps: settle, advance tasks, poll for work, claim. The loop then starts what was claimed."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.engine.tasks.moving.advance import advance
from fanfold.engine.tasks.moving.advance_together import advance_together
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.moving.split import finish_split
from fanfold.engine.tasks.moving.transitions import MirrorFailed, Pipelines, left_for_later, pause_after
from fanfold.engine.tasks.moving.used_up import close_task
from fanfold.engine.tasks.steering.commands import Commands
from fanfold.engine.worker.attempt.attempt_result import MESSAGE_LENGTH, Settlement, clean, unstorable
from fanfold.engine.worker.attempt.settle_batch import settle
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.room import Room
from fanfold.errors import DatabaseProblem, IllegalMove, NotFound
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.database_errors import REFUSED
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
AT_ONCE = 1_000
"""Most settlements written in one transaction: up to six rows each, about 70 ms on SQLite."""


@dataclass
class Turn:
    """The result of a turn."""

    claimed: list[tuple[TaskRow, Claimed]] = field(default_factory=list)
    settled: int = 0
    again: bool = False
    """Whether a task advanced, so that there may be new work at once."""
    cut_short: bool = False
    """Whether more could be claimed at once."""
    stopped: set[int] = field(default_factory=set)
    """Tasks that were paused, closed or moved on: their items that wait for a slot are no longer wanted."""


def take_turn(
    store: Store,
    claimer: Claimer,
    pipelines: Pipelines,
    worker: str,
    settled: Sequence[Settlement],
    room: Room,
    *,
    in_flight: set[int],
    hinted: bool,
    large: set[int] | None = None,
    begun: Sequence[Mapping[str, Any]] = (),
) -> Turn:
    """Take one turn. It may be repeated after a lost connection: work that was already committed is detected and skipped.

    Tasks that must copy many items to advance are added to ``large``, if given, and left to the caller. ``begun`` are items
    claimed ahead that run for a while now: their start is noted.
    """
    if begun:
        store.transact(lambda tx: tx.settling.note_begun(begun))
    steps = _Steps(store, claimer, pipelines, worker, list(settled), room, in_flight, hinted, large)
    steps.settle()
    steps.advance()
    steps.look()
    steps.claim()
    steps.close_used_up()
    steps.advance_left()
    steps.pause()
    return steps.turn


class _Steps:
    """The steps of one turn, in order; what a step does not settle or advance is left to the next."""

    def __init__(
        self,
        store: Store,
        claimer: Claimer,
        pipelines: Pipelines,
        worker: str,
        settled: list[Settlement],
        room: Room,
        in_flight: set[int],
        hinted: bool,
        large: set[int] | None,
    ) -> None:
        self.turn = Turn(settled=len(settled))
        self._store = store
        self._claimer = claimer
        self._pipelines = pipelines
        self._worker = worker
        self._in_flight = in_flight
        self._hinted = hinted
        self._large = large
        self._room = room
        self._settled = settled
        self._pausing: list[Settlement] = []
        if pausing := [one for one in settled if one.pause]:
            # Results of a task count only while it is active, and items handed back must not be claimed again at once. So
            # settle the other items first, then pause, then hand back the items that asked for the pause.
            self._settled, self._pausing = [one for one in settled if not one.pause], pausing
            self._room = Room(0)
        self._plain = [one for one in self._settled if one.new_items is None]
        self._unwritten = self._plain
        """Settlements to write in the claim's transaction."""
        self._growing = {one.claimed.task for one in self._plain if one.added}
        """Tasks that get items with these settlements."""
        self._over = ({one.claimed.task for one in self._plain} - in_flight - claimer.known_tasks) | self._growing
        """Tasks whose stage may be over after these settlements, or that have new work."""
        self._used_up = set[int]()
        """Tasks whose budget is used up by costs that these settlements report."""

    def settle(self) -> None:
        """Finish splits, and write settlements after which a task may advance; the others are written with the claim."""
        for one in self._settled:
            if one.new_items is not None and _finish_split(self._store, self._pipelines, self._worker, one):
                self._claimer.candidates.note_move(one.claimed.task)
                self.turn.again = True
        if self._over:
            self._settle_and_claim(self._plain, Room(0))
            self._unwritten = []
        for task in self._growing:
            self._claimer.candidates.note_move(task)
            self.turn.again = True

    def advance(self) -> None:
        """Advance tasks before slots are given away, so that their next stage need not wait for slots."""
        self._advance(self._over)

    def look(self) -> None:
        """Poll for tasks with work, if there is room."""
        if self._room.free > 0:
            self._claimer.look(self._hinted, now=self.turn.again, room=self._room)

    def claim(self) -> None:
        """Claim for the free slots, in one commit with the settlements not yet written."""
        if self._unwritten or (self._room.free > 0 and self._claimer.has_candidates):
            self.turn.claimed = self._settle_and_claim(self._unwritten, self._room)

    def close_used_up(self) -> None:
        """Claim no more items of tasks whose budget is used up; those without a running item are paused."""
        for number in sorted(self._used_up):
            close_task(self._store, number)
        self.turn.stopped |= self._used_up
        self._advance(self._used_up - self._in_flight)

    def advance_left(self) -> None:
        """Advance the remaining tasks that have settled items and none running."""
        busy = self._in_flight | {row.number for row, _ in self.turn.claimed} | self._over
        left = {one.claimed.task for one in self._settled} - busy
        self._advance(left | _failing_fast(self._plain, self._pipelines))

    def pause(self) -> None:
        """Pause the tasks whose handlers ask for it, then hand back their items."""
        if self._pausing:
            pausing = _pause(self._store, self._pipelines, self._worker, self._pausing)
            self._settle_and_claim(pausing, Room(0))
            self.turn.stopped |= {one.claimed.task for one in pausing}
            self.turn.again = True

    def _settle_and_claim(self, settled: list[Settlement], room: Room) -> list[tuple[TaskRow, Claimed]]:
        return _settle_and_claim(self._store, self._claimer, self._worker, settled, room, self._used_up)

    def _advance(self, numbers: set[int]) -> None:
        """Advance these tasks if their stage is over. Slow ones are added to ``large``, if given."""
        if len(numbers) > 1:
            numbers = self._advance_together(numbers)
        for number in sorted(numbers):
            with left_for_later(self._store, self._worker):
                try:
                    state = advance(self._store, self._pipelines, number, self._worker)
                except NotReady:
                    if self._large is not None:
                        self._large.add(number)
                        continue
                    state = move_on(self._store, self._pipelines, number, self._worker)
                if state is not None:
                    self._note_move(number)

    def _advance_together(self, numbers: set[int]) -> set[int]:
        """Advance most of these tasks with few commits; returns those that are left, and those that may fail fast."""
        settled = (one for one in self._plain if one.claimed.task in numbers)
        hasty = {one.claimed.task for one in settled if _is_fail_fast(one, self._pipelines)}
        together = advance_together(self._store, self._pipelines, numbers - hasty, self._worker)
        for number in sorted(together.moved):
            self._note_move(number)
        return hasty | together.alone

    def _note_move(self, number: int) -> None:
        self.turn.stopped.add(number)
        self._claimer.candidates.note_move(number)
        self.turn.again = True


def _finish_split(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> bool:
    """End a split; returns whether its task moved. If on_move refuses the move, the split runs again after a pause."""
    moved = False
    with left_for_later(store, worker):
        try:
            moved = finish_split(store, pipelines, worker, one)
        except MirrorFailed as problem:
            later = _refused(one, problem)
            if one.new_items is not None:
                one.new_items.remove()
            store.transact(lambda tx: settle(tx, [later], worker, store.settings.crash_limit))
            raise
    return moved


def _pause(store: Store, pipelines: Pipelines, worker: str, settled: Sequence[Settlement]) -> list[Settlement]:
    """Pause the tasks whose handlers ask for it; returns the settlements of their items.

    If on_move refuses, these items back off: handed back, they would ask for the pause again at once, forever.
    """
    refused: dict[int, MirrorFailed] = {}
    for task, reason in {one.claimed.task: one.pause for one in settled if one.pause}.items():
        try:
            with left_for_later(store, worker):
                try:
                    if Commands(store, pipelines, actor=worker).pause(task, reason):
                        log.warning("[%s] Paused a task: %s", worker, reason)
                except MirrorFailed as problem:
                    refused[task] = problem
                    raise
        except (IllegalMove, NotFound):
            log.debug("[%s] The task to pause has moved meanwhile", worker)
    return [_refused(one, refused[one.claimed.task]) if one.claimed.task in refused else one for one in settled]


def _refused(one: Settlement, problem: MirrorFailed) -> Settlement:
    """The settlement of an item whose task's move on_move refused: retried later, without using up a retry."""
    known: dict[str, Any] = {"error_code": problem.code, "error_message": clean(problem.told, MESSAGE_LENGTH)}
    delay = pause_after(max(1, one.claimed.attempts - one.claimed.failures))
    return one._replace(
        ending=Ending.BACK_OFF, counted=False, delay=delay, new_items=None, output=None, pause=None, **known
    )


def _settle_and_claim(
    store: Store, claimer: Claimer, worker: str, settled: list[Settlement], room: Room, used_up: set[int]
) -> list[tuple[TaskRow, Claimed]]:
    """Settle the last items and claim the next in one transaction, which saves a commit.

    If there are too many settlements for one short transaction, the others are written before, in separate ones. Nothing is
    claimed of tasks in ``used_up``, to which this adds those whose budget is used up now.
    """
    while (count := _fitting(settled)) < len(settled):
        some, settled = settled[:count], settled[count:]
        _commit(store, claimer, worker, some, Room(0), used_up)
    return _commit(store, claimer, worker, settled, room, used_up)


def _fitting(settled: Sequence[Settlement]) -> int:
    """How many of the settlements one short transaction can write, with the items that they add; at least one."""
    if len(settled) <= AT_ONCE and not [one for one in settled if one.added]:  # A generator would cost a call per item.
        return len(settled)
    size = 0
    for count, one in enumerate(settled):
        size += 1 + len(one.added)
        if size > AT_ONCE and count:
            return count
    return len(settled)


def _commit(
    store: Store, claimer: Claimer, worker: str, settled: list[Settlement], room: Room, used_up: set[int]
) -> list[tuple[TaskRow, Claimed]]:
    """One transaction. If the database refuses it, write the settlements one by one and claim nothing."""
    try:
        with store.write() as tx:
            settle(tx, settled, worker, store.settings.crash_limit, used_up)
            return claimer.claim(tx, worker, room, without=used_up)
    except DatabaseProblem as problem:
        if problem.code != REFUSED or not settled:
            raise
    for one in settled:
        _settle_alone(store, worker, one)
    return []


def _settle_alone(store: Store, worker: str, one: Settlement) -> None:
    """Settle one item by itself, as a failure if the database refuses its data: a bad result must not hold up the others."""
    limit = store.settings.crash_limit
    try:
        store.transact(lambda tx: settle(tx, [one], worker, limit))
        return
    except DatabaseProblem as problem:
        if problem.code != REFUSED:
            raise
    with store.read() as tx:
        misfit = tx.misfit()
    if misfit is not None:
        # An upgrade may have added a constraint that this code does not know; the result is not at fault.
        raise misfit
    failed = unstorable(one, say("result_refused"))
    store.transact(lambda tx: settle(tx, [failed], worker, limit))


def _failing_fast(settled: Sequence[Settlement], pipelines: Pipelines) -> set[int]:
    """Tasks with a failed item in a stage that does not wait for the other items."""
    return {one.claimed.task for one in settled if one.ending is Ending.FAIL and _is_fail_fast(one, pipelines)}


def _is_fail_fast(one: Settlement, pipelines: Pipelines) -> bool:
    """Whether a stage of this name is, in any pipeline: `advance` looks at the right one, so a look too many does no harm."""
    return any(
        stage.planned.fail_fast for pipeline in pipelines.values() if (stage := pipeline.find(one.claimed.stage))
    )
