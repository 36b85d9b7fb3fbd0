"""Writes a batch of settlements in one transaction: states (if the lease holds), outputs, errors, events, attempts, costs."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from fanfold.engine.webhooks.notices import tell_held
from fanfold.engine.worker.attempt.attempt_result import MESSAGE_LENGTH, Settlement, clean
from fanfold.engine.worker.attempt.own_costs import charge
from fanfold.model.endings import Ending
from fanfold.model.lifecycle import ItemState
from fanfold.model.money.usage import ledger
from fanfold.model.text.sentences import say
from fanfold.store.rows.money.answers import LATE, OWN, TAKEN
from fanfold.store.store import Transaction

LONGEST_WAIT = 10 * 365 * 86_400.0
"""Seconds; a later time cannot be stored."""
NO_TROUBLE = {"troubled_since": None, "troubled_by": None}
MOST_CRASHES = 32_767
"""The crash limit for an item that was lost with a batch."""
FIRST_KEPT = 20
"""Uncounted failures stored per item; after these only the 32nd, the 64th …, because a rate limit may last for days."""


def settle(
    tx: Transaction, batch: Sequence[Settlement], worker: str, crash_limit: int, used_up: set[int] | None = None
) -> set[int]:
    """Write the settlements whose lease still holds; returns the items that really moved.

    An item whose task no longer wants the result is handed back at once, with its permit. With a lost lease nothing changes,
    but what the attempt has spent is counted. Tasks whose budget is used up by such costs are added to ``used_up``, if given.
    """
    moved: set[int] = set()
    everything, batch = batch, _newest(batch)
    if [one for one in batch if one.out_of_time]:  # Lists: a generator costs a call per item.
        batch = [*(one for one in batch if not one.out_of_time), *_cut_off(tx, batch, worker)]
    # Items are added, and people told, under the task's lock, which is taken before those of items, like everywhere else.
    for task in sorted({one.claimed.task for one in batch if one.added or one.ending is Ending.HOLD}):
        tx.tasks.lock(task)
    groups: dict[Ending, list[Settlement]] = {}
    for one in sorted(batch, key=attrgetter("claimed.id")):
        groups.setdefault(one.ending, []).append(one)
    if len(groups) > 1:
        # Each kind of ending is a separate statement, so lock in id order first, like everyone else.
        tx.settling.lock([one.claimed.id for one in batch])
    for ending in Ending:
        if ending.move and (group := groups.get(ending)):
            done = tx.settling.settle(ending, _move_rows(group, ending, crash_limit))
            kept = group if len(done) == len(group) else [one for one in group if one.claimed.id in done]
            _keep(tx, ending, kept, worker)
            moved |= done
    left = [one for one in batch if one.claimed.id not in moved]
    handed_back = _hand_back(tx, [one for one in left if one.ending.needs_task], worker) if left else set()
    paid = [one for one in batch if one.usage and one.claimed.id in moved | handed_back]
    if left or len(batch) < len(everything):
        settled = {(one.claimed.id, one.claimed.lease) for one in batch if one.claimed.id in moved | handed_back}
        paid += _count_spent(tx, [one for one in everything if (one.claimed.id, one.claimed.lease) not in settled])
    if paid:
        spent_out = charge(tx, paid)
        if used_up is not None:
            used_up |= spent_out
    permits = [one.claimed.id for one in batch if one.claimed.has_permit and one.claimed.id in moved | handed_back]
    if permits:
        tx.settling.free_permits(permits)
        tx.announce()
    return moved


def _hand_back(tx: Transaction, left: Sequence[Settlement], worker: str) -> set[int]:
    """running → pending for items whose task was paused, cancelled or has moved on: their result does not count.

    Items locked by others are left to the sweep: waiting for them here could deadlock.
    """
    if not left:
        return set()
    rows = _move_rows(left, Ending.RELEASE, 0)
    done = tx.settling.release(tx.settling.unlocked(rows))
    group = [one._replace(ending=Ending.RELEASE, output=None, new_items=None) for one in left if one.claimed.id in done]
    _keep(tx, Ending.RELEASE, group, worker)
    return done


def _count_spent(tx: Transaction, lost: Sequence[Settlement]) -> list[Settlement]:
    """Store what attempts with a lost lease have spent, and return them; once, even if a turn is repeated."""
    spent = {(one.claimed.id, one.claimed.lease): one for one in lost if one.usage}
    if not spent:
        return []
    known = tx.calls.own([item for item, _ in spent])
    new = [one for pair, one in spent.items() if pair not in known]
    tx.calls.add([row for one in new if (row := _own_call(one, Ending.LOST))])
    return new


def count_late(tx: Transaction, late: Sequence[Settlement]) -> set[int]:
    """Count what handlers have used after they were told to stop, once for each attempt.

    Returns the tasks whose budget is used up by it.
    """
    known = tx.calls.own_late([one.claimed.id for one in late])
    new = [one for one in late if (one.claimed.id, one.claimed.lease) not in known]
    tx.calls.add([row | {"outcome": LATE} for one in new if (row := _own_call(one, Ending.LOST))])
    return charge(tx, new)


def _newest(batch: Sequence[Settlement]) -> Sequence[Settlement]:
    """One settlement per item: an item reset and claimed again by the same worker may have two in one batch."""
    newest: dict[int, Settlement] = {}
    for one in batch:
        known = newest.get(one.claimed.id)
        if known is None or known.claimed.lease < one.claimed.lease:
            newest[one.claimed.id] = one
    return batch if len(newest) == len(batch) else list(newest.values())


def _cut_off(tx: Transaction, batch: Sequence[Settlement], worker: str) -> list[Settlement]:
    """Count how often the end of a tick has cut these items off; items at the limit now wait for a person.

    Otherwise a step longer than a tick would restart with every tick forever. An item whose task is no longer active is
    only handed back.
    """
    endings: list[Settlement] = []
    for one in sorted(batch, key=lambda one: one.claimed.id):
        if one.out_of_time is None:
            continue
        count = tx.settling.count_hand_back(one.claimed.id, one.claimed.lease)
        if count is not None:
            tx.events.add([_event(one._replace(hold=one.out_of_time.reason), Ending.RELEASE, worker)])
        is_held = count is not None and count >= one.out_of_time.limit
        endings.append(one._replace(ending=Ending.HOLD, hold=one.out_of_time.reason) if is_held else one)
    return endings


def _move_rows(group: Sequence[Settlement], ending: Ending, crash_limit: int) -> list[dict[str, Any]]:
    """The rows that a verb gets, with what its ending needs."""
    now = time.monotonic()
    rows: list[dict[str, Any]] = [
        {
            "id": claimed.id,
            "lease": claimed.lease,
            "began": None if claimed.begun_at is None else now - claimed.begun_at,
        }
        for claimed in [one.claimed for one in group]
    ]
    if ending is not Ending.FINISH and ending is not Ending.RELEASE:
        for row, one in zip(rows, group, strict=True):
            row["delay"] = min(max(0.0, one.delay), LONGEST_WAIT)
            row["counted"] = int(one.counted)
            row["limit"] = MOST_CRASHES if one.shared else crash_limit
    return rows


def _keep(tx: Transaction, ending: Ending, group: Sequence[Settlement], worker: str) -> None:
    """Store what belongs to the new state: outputs, errors, attempts, and events for anything unusual."""
    if ending is Ending.FINISH:
        _keep_outputs(tx, group, worker)
        _add_items(tx, group)
    if ending is Ending.RECLAIM:
        group = _told_of_poison(tx, group)
    if ending.is_error:
        _keep_errors(tx, ending, group)
        group = [one for one in group if _is_kept(one)]
    if ending is Ending.HOLD:
        tx.settling.put_data([{"item": one.claimed.id, "hold": one.hold} for one in group])
        tell_held(tx, {one.claimed.task: one.hold or "" for one in group if _is_told(one)})
    for one in group:
        if one.awaits:
            tx.subtasks.wait(one.claimed.id, one.awaits)
        if one.told and ending is Ending.FAIL:
            tx.subtasks.tell(one.claimed.id, one.told)
    if batched := [one.claimed.id for one in group if one.in_batch]:
        tx.batched.settle_waits(batched)
    if ending.warns:
        tx.events.add([_event(one, ending, worker) for one in group])
    spent = [one for one in group if one.usage]
    tx.calls.add([call for one in spent if (call := _own_call(one, ending))])
    if ending.is_error or spent:
        tx.settling.add_attempts([_attempt(one, ending, worker) for one in group if ending.is_error or one.usage])


def _keep_outputs(tx: Transaction, group: Sequence[Settlement], worker: str) -> None:
    tx.settling.mark_degraded(
        [{"id": one.claimed.id, "reason": one.degraded} for one in group if one.degraded is not None]
    )
    # A first attempt without a model writes its output alone. Others replace what an earlier run has left, even by nothing.
    plain = [one for one in group if one.claimed.lease == 1 and not one.model and not one.usage]
    others = group if not plain else [one for one in group if one.claimed.lease > 1 or one.model or one.usage]
    tx.settling.put_data(
        [{"item": one.claimed.id, "output": one.output, "made_by": worker} for one in plain if one.output is not None]
    )
    tx.settling.put_data(
        [
            {"item": one.claimed.id, "output": one.output, "model": one.model, "usage": one.usage, "made_by": worker}
            for one in others
        ]
    )


def _is_told(one: Settlement) -> bool:
    """Whether webhooks are told that an item waits for a person; not for one that was too long for a tick."""
    return one.ending is Ending.HOLD and one.out_of_time is None


def _add_items(tx: Transaction, finished: Sequence[Settlement]) -> None:
    """Add the items that handlers found while they ran. They appear with the results of the items that add them."""
    for one in finished:
        if one.added:
            new = tx.items.add_more(one.claimed.task, one.claimed.stage, [(item.key, item.input) for item in one.added])
            tx.blobs.give_to_task([key for item in one.added if item.key in new for key in item.files])
            tx.announce()


def _keep_errors(tx: Transaction, ending: Ending, group: Sequence[Settlement]) -> None:
    """Store errors. A counted failure ends the wait for a service; a lost worker says nothing about the service."""
    ended = [one for one in group if one.counted and ending.counts]
    others = [one for one in group if not one.counted or not ending.counts]
    tx.settling.put_data([_error(one) | NO_TROUBLE for one in ended])
    tx.settling.put_data([_error(one) for one in others])
    if ending is Ending.BACK_OFF:
        tx.settling.note_trouble([{"item": one.claimed.id, "by": one.by} for one in others])


def _error(one: Settlement) -> dict[str, Any]:
    return {
        "item": one.claimed.id,
        "error_code": one.error_code,
        "error_message": one.error_message,
        "error_detail": one.error_detail,
    }


def _told_of_poison(tx: Transaction, group: Sequence[Settlement]) -> list[Settlement]:
    """The crashes, with an error for items that reached the limit."""
    poisoned = tx.settling.poisoned([one.claimed.id for one in group])
    told = []
    for one in group:
        if (crashes := poisoned.get(one.claimed.id)) is not None:
            given_up = poison(tx, one.claimed.task, one.claimed.key, crashes)
            message = say("crash_and_poison", crash=one.error_message, poison=given_up)
            one = one._replace(error_code="poison", error_message=clean(message, MESSAGE_LENGTH))
        told.append(one)
    return told


def poison(tx: Transaction, task: int, key: str, crashes: int) -> str:
    """Why an item was given up as poison, and what a person can do."""
    row = tx.tasks.get(task)
    return say("poison", crashes=crashes, task=row.id if row is not None else task, key=key)


def _is_kept(one: Settlement) -> bool:
    """Whether to record this attempt. Uncounted failures can repeat forever, so only some of them are recorded."""
    tries = one.claimed.attempts
    return one.counted or one.usage is not None or tries <= FIRST_KEPT or tries & (tries - 1) == 0


def _own_call(one: Settlement, ending: Ending) -> dict[str, Any] | None:
    """The handler's own reported usage, for the ledger. Calls through Fanfold are already there."""
    known = ledger(json.loads(one.usage or "{}"))
    if all(value is None for value in known.values()):
        return None
    return {
        "item": one.claimed.id,
        "lease": one.claimed.lease,
        "provider": OWN,
        "model": one.model or "unnamed",
        "outcome": TAKEN if ending is Ending.FINISH else one.error_code or ending.outcome,
        "seconds": 0.0,
        **known,
    }


def _event(one: Settlement, ending: Ending, worker: str) -> dict[str, Any]:
    return {
        "task": one.claimed.task,
        "actor": worker,
        "verb": ending.event,
        "source": ItemState.RUNNING.value,
        "target": None if ending.state is None else ending.state.value,
        "stage": one.claimed.stage,
        "item": one.claimed.key,
        "reason": one.hold or one.error_message,
    }


def _attempt(one: Settlement, ending: Ending, worker: str) -> dict[str, Any]:
    return {
        "item": one.claimed.id,
        "lease": one.claimed.lease,
        "worker": worker,
        "outcome": ending.outcome,
        "error_code": one.error_code,
        "error_message": one.error_message,
        "error_detail": one.error_detail,
        "model": one.model,
        "usage": one.usage,
    }
