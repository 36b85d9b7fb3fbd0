"""What is one turn of a worker? Settle what has ended and claim what is next, in one commit; then move tasks on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fanfold.engine.tasks.advance import advance
from fanfold.engine.tasks.commands import Commands
from fanfold.engine.tasks.copy_items import move_on
from fanfold.engine.tasks.leftovers import NotReady
from fanfold.engine.tasks.split import finish_split
from fanfold.engine.tasks.transitions import MirrorFailed, Pipelines, left_for_later, pause_after
from fanfold.engine.worker.attempt_result import MESSAGE_LENGTH, Settlement, clean, settle, unstorable
from fanfold.engine.worker.claim import Claimer, Room
from fanfold.errors import DatabaseProblem, IllegalMove, NotFound
from fanfold.model.item import Claimed
from fanfold.model.task import TaskRow
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
    turn = Turn(settled=len(settled))
    if pausing := [one for one in settled if one.pause]:
        # Results of a task count only while it is active, and what is handed back must not be claimed again at once: so
        # what has ended otherwise comes first, then the pause, then the items that asked for it.
        others = [one for one in settled if not one.pause]
        take_turn(store, claimer, pipelines, worker, others, Room(0), in_flight=in_flight, hinted=hinted, large=large)
        pausing = _pause(store, pipelines, worker, pausing)
        _settle_and_claim(store, claimer, worker, pausing, Room(0))
        return replace(turn, again=True)
    splits = [one for one in settled if one.spool is not None]
    plain = [one for one in settled if one.spool is None]
    for one in splits:
        if _finish_split(store, pipelines, worker, one):
            claimer.candidates.note_move(one.claimed.task)
            turn.again = True
    unsettled = plain
    if over := {one.claimed.task for one in plain} - in_flight - claimer.known_tasks:
        # A task that may move on does so before places are given away, so that it does not wait for them in its next stage.
        _settle_and_claim(store, claimer, worker, plain, Room(0))
        unsettled = []
        turn.again = _advance(store, claimer, pipelines, worker, over, large) or turn.again
    if room.free > 0:
        claimer.look(hinted, now=turn.again, room=room)
    if unsettled or (room.free > 0 and claimer.has_candidates):
        turn.claimed = _settle_and_claim(store, claimer, worker, unsettled, room)
    busy = in_flight | {row.number for row, _ in turn.claimed} | over
    left = {one.claimed.task for one in settled} - busy | _failing_fast(plain, pipelines)
    turn.again = _advance(store, claimer, pipelines, worker, left, large) or turn.again
    return turn


def _advance(
    store: Store, claimer: Claimer, pipelines: Pipelines, worker: str, numbers: set[int], large: set[int] | None
) -> bool:
    """Move these tasks on where their stage is over; whether any moved. Those that take long are noted in ``large``, if given."""
    moved = False
    for number in sorted(numbers):
        with left_for_later(store, worker):
            try:
                row = advance(store, pipelines, number, worker)
            except NotReady:
                if large is not None:
                    large.add(number)
                    continue
                row = move_on(store, pipelines, number, worker)
            if row is not None:
                claimer.candidates.note_move(number)
                moved = True
    return moved


def _finish_split(store: Store, pipelines: Pipelines, worker: str, one: Settlement) -> bool:
    """End a split; whether its task moved. If on_move refuses the move, the split is made again after a pause."""
    moved = False
    with left_for_later(store, worker):
        try:
            moved = finish_split(store, pipelines, worker, one)
        except MirrorFailed as problem:
            later = _refused(one, problem)
            if one.spool is not None:
                one.spool.remove()
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
    return one._replace(verb="back_off", counted=False, delay=delay, spool=None, output=None, pause=None, **known)


def _settle_and_claim(
    store: Store, claimer: Claimer, worker: str, settled: list[Settlement], room: Room
) -> list[tuple[TaskRow, Claimed]]:
    """Both in one transaction: the finish of the last items and the claim of the next cost one commit.

    More endings than one short transaction can hold are written before, in transactions of their own.
    """
    while len(settled) > AT_ONCE:
        some, settled = settled[:AT_ONCE], settled[AT_ONCE:]
        _settle_and_claim(store, claimer, worker, some, Room(0))
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
    failed = unstorable(one, "The database refused its result.")
    store.transact(lambda tx: settle(tx, [failed], worker, limit))


def _failing_fast(settled: Sequence[Settlement], pipelines: Pipelines) -> set[int]:
    """Tasks of which an item has failed in a stage that does not wait for the others."""
    return {one.claimed.task for one in settled if one.verb == "fail" and _is_fail_fast(one, pipelines)}


def _is_fail_fast(one: Settlement, pipelines: Pipelines) -> bool:
    return any(
        stage.planned.fail_fast for pipeline in pipelines.values() if (stage := pipeline.find(one.claimed.stage))
    )
