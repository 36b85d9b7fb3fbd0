"""One turn of a worker, a list of steps: settle what has ended, advance tasks, look for work, claim. The loop then starts it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.engine.tasks.moving.advance import advance
from fanfold.engine.tasks.moving.copy_items import move_on
from fanfold.engine.tasks.moving.split import finish_split
from fanfold.engine.tasks.moving.transitions import MirrorFailed, Pipelines, left_for_later, pause_after
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
"""Most endings that one transaction writes: each is up to six rows, some 70 ms on SQLite for all."""


@dataclass
class Turn:
    """What came of a turn."""

    claimed: list[tuple[TaskRow, Claimed]] = field(default_factory=list)
    settled: int = 0
    again: bool = False
    """Whether a task moved on, so that there may be new work at once."""
    cut_short: bool = False
    """Whether more could be claimed at once."""


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
) -> Turn:
    """One turn. It may be repeated after a lost connection: what was committed before is simply found done.

    Tasks that move on only after many items were copied are noted in ``large``, if given, and left to the caller.
    """
    steps = _Steps(store, claimer, pipelines, worker, list(settled), room, in_flight, hinted, large)
    steps.settle()
    steps.advance()
    steps.look()
    steps.claim()
    steps.advance_left()
    steps.pause()
    return steps.turn


class _Steps:
    """The steps of one turn, in their order; each leaves to the next what it did not settle or advance."""

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
            # Results of a task count only while it is active, and what is handed back must not be claimed again at once: so
            # what has ended otherwise comes first, then the pause, then the items that asked for it.
            self._settled, self._pausing = [one for one in settled if not one.pause], pausing
            self._room = Room(0)
        self._plain = [one for one in self._settled if one.new_items is None]
        self._unwritten = self._plain
        """Endings for the claim's transaction."""
        self._over = {one.claimed.task for one in self._plain} - in_flight - claimer.known_tasks
        """Tasks whose stage may be over with these endings."""

    def settle(self) -> None:
        """Finish splits, and write the endings after which a task may move on; the others are written with the claim."""
        for one in self._settled:
            if one.new_items is not None and _finish_split(self._store, self._pipelines, self._worker, one):
                self._claimer.candidates.note_move(one.claimed.task)
                self.turn.again = True
        if self._over:
            _settle_and_claim(self._store, self._claimer, self._worker, self._plain, Room(0))
            self._unwritten = []

    def advance(self) -> None:
        """Move tasks on before places are given away, so that they do not wait for them in their next stage."""
        self._advance(self._over)

    def look(self) -> None:
        """Look for tasks with work, if there is room for it."""
        if self._room.free > 0:
            self._claimer.look(self._hinted, now=self.turn.again, room=self._room)

    def claim(self) -> None:
        """Claim for the free places, in one commit with what is not written yet."""
        if self._unwritten or (self._room.free > 0 and self._claimer.has_candidates):
            self.turn.claimed = _settle_and_claim(self._store, self._claimer, self._worker, self._unwritten, self._room)

    def advance_left(self) -> None:
        """Move the other tasks on of which something has ended and nothing is under way."""
        busy = self._in_flight | {row.number for row, _ in self.turn.claimed} | self._over
        left = {one.claimed.task for one in self._settled} - busy
        self._advance(left | _failing_fast(self._plain, self._pipelines))

    def pause(self) -> None:
        """Pause the tasks whose handlers ask for it, then hand their items back."""
        if self._pausing:
            pausing = _pause(self._store, self._pipelines, self._worker, self._pausing)
            _settle_and_claim(self._store, self._claimer, self._worker, pausing, Room(0))
            self.turn.again = True

    def _advance(self, numbers: set[int]) -> None:
        """Move these tasks on where their stage is over. Those that take long are noted in ``large``, if given."""
        for number in sorted(numbers):
            with left_for_later(self._store, self._worker):
                try:
                    row = advance(self._store, self._pipelines, number, self._worker)
                except NotReady:
                    if self._large is not None:
                        self._large.add(number)
                        continue
                    row = move_on(self._store, self._pipelines, number, self._worker)
                if row is not None:
                    self._claimer.candidates.note_move(number)
                    self.turn.again = True


def _finish_split(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> bool:
    """End a split; whether its task moved. If on_move refuses the move, the split is made again after a pause."""
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
    """Pause the tasks whose handlers ask for it; returns the endings of their items.

    Where on_move refuses it, these items wait: handed back, they would ask for the pause again at once, without end.
    """
    refused: dict[int, MirrorFailed] = {}
    for task, reason in {one.claimed.task: one.pause for one in settled if one.pause}.items():
        try:
            with left_for_later(store, worker):
                try:
                    Commands(store, pipelines, actor=worker).pause(task, reason)
                    log.warning("[%s] Paused a task: %s", worker, reason)
                except MirrorFailed as problem:
                    refused[task] = problem
                    raise
        except (IllegalMove, NotFound):
            log.debug("[%s] The task to pause has moved on meanwhile", worker)
    return [_refused(one, refused[one.claimed.task]) if one.claimed.task in refused else one for one in settled]


def _refused(one: Settlement, problem: MirrorFailed) -> Settlement:
    """The ending of an item whose task on_move did not let move: tried again later, which uses up no retry."""
    known: dict[str, Any] = {"error_code": problem.code, "error_message": clean(problem.told, MESSAGE_LENGTH)}
    delay = pause_after(max(1, one.claimed.attempts - one.claimed.failures))
    return one._replace(
        ending=Ending.BACK_OFF, counted=False, delay=delay, new_items=None, output=None, pause=None, **known
    )


def _settle_and_claim(
    store: Store, claimer: Claimer, worker: str, settled: list[Settlement], room: Room
) -> list[tuple[TaskRow, Claimed]]:
    """Both in one transaction: the finish of the last items and the claim of the next cost one commit.

    More endings than one short transaction can hold are written before, in transactions of their own.
    """
    while len(settled) > AT_ONCE:
        some, settled = settled[:AT_ONCE], settled[AT_ONCE:]
        _commit(store, claimer, worker, some, Room(0))
    return _commit(store, claimer, worker, settled, room)


def _commit(
    store: Store, claimer: Claimer, worker: str, settled: list[Settlement], room: Room
) -> list[tuple[TaskRow, Claimed]]:
    """One transaction; if the database refuses it, the endings one by one, and nothing is claimed."""
    try:
        with store.write() as tx:
            settle(tx, settled, worker, store.settings.crash_limit)
            return claimer.claim(tx, worker, room)
    except DatabaseProblem as problem:
        if problem.code != REFUSED or not settled:
            raise
    for one in settled:
        _settle_alone(store, worker, one)
    return []


def _settle_alone(store: Store, worker: str, one: Settlement) -> None:
    """One bad result must not hold up the others: settle it by itself, as a failure if the database refuses its data."""
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
        # An upgrade may have brought a constraint that this code does not know: no fault of the result.
        raise misfit
    failed = unstorable(one, say("result_refused"))
    store.transact(lambda tx: settle(tx, [failed], worker, limit))


def _failing_fast(settled: Sequence[Settlement], pipelines: Pipelines) -> set[int]:
    """Tasks of which an item has failed in a stage that does not wait for the others."""
    return {one.claimed.task for one in settled if one.ending is Ending.FAIL and _is_fail_fast(one, pipelines)}


def _is_fail_fast(one: Settlement, pipelines: Pipelines) -> bool:
    return any(
        stage.planned.fail_fast for pipeline in pipelines.values() if (stage := pipeline.find(one.claimed.stage))
    )
