"""How did the attempt end? One value per ending, and the one place that writes a batch of them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from fanfold.engine.redaction import without_keys
from fanfold.engine.tasks.split_file import Spool
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError, HandlerError, Permanent, Temporary
from fanfold.model.item import Claimed
from fanfold.model.pipeline import Stage
from fanfold.model.shortage import shortage
from fanfold.model.usage import ledger
from fanfold.store.answers import OWN
from fanfold.store.database_errors import DAMAGED, MISFIT, UNREACHABLE
from fanfold.store.store import Transaction

MESSAGE_LENGTH = 4_000
LONGEST_WAIT = 10 * 365 * 86_400.0
"""Seconds; beyond this a time cannot be told."""
DETAIL_LENGTH = 20_000
DEGRADED_LENGTH = 300
SERVICE_LENGTH = 63
NOT_COUNTED_STEPS = 5
"""The wait after what is no fault of the item grows so many times: with the usual back-off to 16 s, not to minutes."""
NO_FAULT = (UNREACHABLE, MISFIT, DAMAGED)
NO_TROUBLE = {"troubled_since": None, "troubled_by": None}
FOR_ACTIVE_TASKS = ("finish", "fail", "back_off", "postpone", "hold")
"""Endings that count only while the task stands in the item's stage."""
SPENT = "lost"
"""The ending of an attempt whose lease is known to be lost: it changes nothing, only what it has spent is counted."""
FIRST_KEPT = 20
"""Of failures that do not count, so many are kept of an item, then the 32nd, the 64th …: a rate limit may last for days."""


class OutOfTime(NamedTuple):
    """Why an item was cut off at the end of a time budget, and after how many times in a row it waits for a person."""

    reason: str
    limit: int
    begun_by: float = 0.0
    """Only attempts that began by this moment had a fair share of the budget; those that began later are not counted."""


class Settlement(NamedTuple):
    """The end of one attempt: the verb that settles it and what is to be kept."""

    claimed: Claimed
    verb: str
    output: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_detail: str | None = None
    delay: float = 0.0
    counted: bool = True
    model: str | None = None
    usage: str | None = None
    spool: Spool | None = None
    pause: str | None = None
    """Why the task is to be paused, if it is."""
    degraded: str | None = None
    """Why the result is not what was asked for; None when it is."""
    hold: str | None = None
    """Why the item waits for a person, if it does."""
    out_of_time: OutOfTime | None = None
    """For an item that is handed back because a tick's budget is over."""
    by: str | None = None
    """The service that is waited for, where a failure does not count."""
    short: bool = False
    """Whether the machine was short of open files or disk space."""


def failed(claimed: Claimed, stage: Stage, error: BaseException, retry_limit: int | None = None) -> Settlement:
    """The ending for an exception: permanent, or another try after a while as long as there are retries left."""
    code, message, detail = describe(error)
    known: dict[str, Any] = {"error_code": code, "error_message": message, "error_detail": detail}
    advice = None if _is_final(error) else shortage(error)
    if advice is not None and not isinstance(error, HandlerError | FanfoldError):  # These say themselves what to do.
        known["error_message"] = clean(f"{message[: MESSAGE_LENGTH // 2].rstrip('.')}. {advice}", MESSAGE_LENGTH)
    if advice is not None or not _counts(error):
        asked = error.after if isinstance(error, Temporary) else None
        step = min(NOT_COUNTED_STEPS, max(1, claimed.attempts - claimed.failures))
        delay = stage.retry.delay(step) if asked is None else asked
        by = clean(str(error.by), SERVICE_LENGTH) if isinstance(error, Temporary) and error.by else None
        return Settlement(claimed, "back_off", delay=delay, counted=False, by=by, short=advice is not None, **known)
    limit = stage.retry.limit if retry_limit is None else retry_limit
    if _is_final(error) or claimed.failures + 1 > limit:
        return Settlement(claimed, "fail", **known)
    asked = error.after if isinstance(error, Temporary) else None
    return Settlement(
        claimed, "back_off", delay=stage.retry.delay(claimed.failures + 1) if asked is None else asked, **known
    )


def _is_final(error: BaseException) -> bool:
    """Whether trying again is no use, because the handler says so or its result cannot be kept."""
    return isinstance(error, Permanent | BadInput)


def _counts(error: BaseException) -> bool:
    """Whether the work itself failed: not when nothing was tried, nor for want of a database."""
    if isinstance(error, DatabaseProblem):
        return error.code not in NO_FAULT
    return not isinstance(error, Temporary) or error.counts


def describe(error: BaseException) -> tuple[str, str, str]:
    """A code, a message and a detail that any database can keep."""
    code = str(error.code) if isinstance(error, HandlerError | FanfoldError) else type(error).__name__
    try:
        message = str(error) or f"{type(error).__name__} without a message"
    except Exception:
        message = f"{type(error).__name__} with a message that cannot be shown"
    detail = "".join(traceback.format_exception(error))
    return clean(code, 100), clean(message, MESSAGE_LENGTH), clean(without_keys(detail)[-DETAIL_LENGTH:], DETAIL_LENGTH)


def clean(text: str, length: int) -> str:
    """Text from outside as it is kept: without keys, and without what databases refuse (NUL, halves of surrogate pairs)."""
    plain = without_keys(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return plain.encode("utf-8", "replace").decode("utf-8")[:length]


def shortfall(reasons: Sequence[str]) -> str | None:
    """The reasons why a result is degraded as one text that any database can keep; None when there are none."""
    return clean("; ".join(dict.fromkeys(reasons)), DEGRADED_LENGTH) if reasons else None


def settle(tx: Transaction, batch: Sequence[Settlement], worker: str, crash_limit: int) -> set[int]:
    """Write the endings whose lease still holds; returns the items that really moved.

    An item whose task no longer wants the result is handed back at once, with its permit. Where the lease is lost nothing
    changes, but what the attempt has spent is counted.
    """
    moved: set[int] = set()
    everything, batch = batch, _newest(batch)
    if any(one.out_of_time for one in batch):
        batch = [*(one for one in batch if not one.out_of_time), *_cut_off(tx, batch, worker)]
    groups: dict[str, list[Settlement]] = {}
    for one in sorted(batch, key=lambda one: one.claimed.id):
        groups.setdefault(one.verb, []).append(one)
    if len(groups) > 1:
        # Each verb is a statement of its own: lock by id first, as everybody else does.
        tx.settling.lock([one.claimed.id for one in batch])
    for verb in ("finish", "fail", "back_off", "postpone", "hold", "release", "crash"):
        if group := groups.get(verb):
            done = getattr(tx.settling, verb)([_move_row(one, crash_limit) for one in group])
            _keep(
                tx, verb, group if len(done) == len(group) else [one for one in group if one.claimed.id in done], worker
            )
            moved |= done
    left = [one for one in batch if one.claimed.id not in moved]
    handed_back = _hand_back(tx, [one for one in left if one.verb in FOR_ACTIVE_TASKS], worker) if left else set()
    if left or len(batch) < len(everything):
        settled = {(one.claimed.id, one.claimed.lease) for one in batch if one.claimed.id in moved | handed_back}
        _count_spent(tx, [one for one in everything if (one.claimed.id, one.claimed.lease) not in settled])
    permits = [one.claimed.id for one in batch if one.claimed.has_permit and one.claimed.id in moved | handed_back]
    if permits:
        tx.settling.free_permits(permits)
        tx.announce()
    return moved


def _hand_back(tx: Transaction, left: Sequence[Settlement], worker: str) -> set[int]:
    """running → pending for items whose task was paused or cancelled, or stands elsewhere: their result does not count.

    Items that somebody else writes just now are left to the sweep: waiting for them here could end in a deadlock.
    """
    if not left:
        return set()
    rows = [{"id": one.claimed.id, "lease": one.claimed.lease} for one in left]
    done = tx.settling.release(tx.settling.unlocked(rows))
    group = [one._replace(verb="release", output=None, spool=None) for one in left if one.claimed.id in done]
    _keep(tx, "release", group, worker)
    return done


def _count_spent(tx: Transaction, lost: Sequence[Settlement]) -> None:
    """Keep what attempts have spent whose lease is lost; once, also when a turn is repeated after a lost connection."""
    spent = {(one.claimed.id, one.claimed.lease): one for one in lost if one.usage}
    if spent:
        known = tx.calls.own([item for item, _ in spent])
        rows = [_own_call(one, SPENT) for pair, one in spent.items() if pair not in known]
        tx.calls.add([row for row in rows if row is not None])


def _newest(batch: Sequence[Settlement]) -> Sequence[Settlement]:
    """One ending per item: an item that was reset and claimed again by the same worker may have two in one batch."""
    newest: dict[int, Settlement] = {}
    for one in batch:
        known = newest.get(one.claimed.id)
        if known is None or known.claimed.lease < one.claimed.lease:
            newest[one.claimed.id] = one
    return batch if len(newest) == len(batch) else list(newest.values())


def _cut_off(tx: Transaction, batch: Sequence[Settlement], worker: str) -> list[Settlement]:
    """Count how often these items were cut off by the end of a budget; those at the limit wait for a person from now on.

    Otherwise a step that takes longer than the budget would begin again with every tick, for ever. An item whose task is no
    longer active is only handed back.
    """
    endings: list[Settlement] = []
    for one in sorted(batch, key=lambda one: one.claimed.id):
        if one.out_of_time is None:
            continue
        count = tx.settling.count_hand_back(one.claimed.id, one.claimed.lease)
        if count is not None:
            tx.events.add([_event(one._replace(hold=one.out_of_time.reason), "release", worker)])
        is_held = count is not None and count >= one.out_of_time.limit
        endings.append(one._replace(verb="hold", hold=one.out_of_time.reason) if is_held else one)
    return endings


def _move_row(one: Settlement, crash_limit: int) -> dict[str, Any]:
    if one.verb == "finish":
        return {"id": one.claimed.id, "lease": one.claimed.lease}
    return {
        "id": one.claimed.id,
        "lease": one.claimed.lease,
        "delay": min(max(0.0, one.delay), LONGEST_WAIT),
        "counted": int(one.counted),
        "limit": crash_limit,
    }


def _keep(tx: Transaction, verb: str, group: Sequence[Settlement], worker: str) -> None:
    """What is kept besides the state: outputs, errors, attempts, and an event for what is not the plain course of things."""
    if verb == "finish":
        tx.settling.mark_degraded(
            [{"id": one.claimed.id, "reason": one.degraded} for one in group if one.degraded is not None]
        )
        # An item that ran before may have an output; the one that counts is this one, also when it is none.
        tx.settling.put_data(
            [
                {
                    "item": one.claimed.id,
                    "output": one.output,
                    "model": one.model,
                    "usage": one.usage,
                    "made_by": worker,
                }
                for one in group
                if one.output is not None or one.model or one.usage or one.claimed.lease > 1
            ]
        )
    if verb == "crash":
        group = _told_of_poison(tx, group)
    if verb in ("fail", "back_off", "crash"):
        # A counted failure ends the time for which a service was waited for; a lost worker tells nothing about it.
        ended = [one for one in group if one.counted and verb != "crash"]
        others = [one for one in group if not one.counted or verb == "crash"]
        tx.settling.put_data([_error(one) | NO_TROUBLE for one in ended])
        tx.settling.put_data([_error(one) for one in others])
        if verb == "back_off":
            tx.settling.note_trouble([{"item": one.claimed.id, "by": one.by} for one in others])
        group = [one for one in group if _is_kept(one)]
        tx.events.add([_event(one, verb, worker) for one in group])
    if verb == "hold":
        tx.settling.put_data([{"item": one.claimed.id, "hold": one.hold} for one in group])
        tx.events.add([_event(one, verb, worker) for one in group])
    tx.calls.add([call for one in group if one.usage and (call := _own_call(one, verb))])
    if verb in ("fail", "back_off", "crash") or any(one.usage for one in group):
        outcome = {"finish": "done", "fail": "failed", "back_off": "retrying", "crash": "lost"}.get(verb, verb)
        tx.settling.add_attempts(
            [_attempt(one, outcome, worker) for one in group if verb in ("fail", "back_off", "crash") or one.usage]
        )


def _error(one: Settlement) -> dict[str, Any]:
    return {
        "item": one.claimed.id,
        "error_code": one.error_code,
        "error_message": one.error_message,
        "error_detail": one.error_detail,
    }


def _told_of_poison(tx: Transaction, group: Sequence[Settlement]) -> list[Settlement]:
    """The crashes, with a sentence for those that were one too many."""
    poisoned = tx.settling.poisoned([one.claimed.id for one in group])
    told = []
    for one in group:
        if (crashes := poisoned.get(one.claimed.id)) is not None:
            message = f"{one.error_message} {poison(tx, one.claimed.task, one.claimed.key, crashes)}"
            one = one._replace(error_code="poison", error_message=clean(message, MESSAGE_LENGTH))
        told.append(one)
    return told


def poison(tx: Transaction, task: int, key: str, crashes: int) -> str:
    """Why an item was given up as poison, and what a person can do."""
    row = tx.tasks.get(task)
    again = f"fanfold retry {row.id if row is not None else task} --item {key}"
    return (
        f"It was lost with its process {crashes} times without getting further: given up as poison, as it may be what kills "
        f"the process. If the process was killed from outside, the item is harmless; to run it again: {again}"
    )


def _is_kept(one: Settlement) -> bool:
    """Whether an attempt gets rows in the history: all but most of those that do not count, where they come without end."""
    tries = one.claimed.attempts
    return one.counted or one.usage is not None or tries <= FIRST_KEPT or tries & (tries - 1) == 0


def _own_call(one: Settlement, verb: str) -> dict[str, Any] | None:
    """What a handler says it has used itself, for the ledger; what it asked through Fanfold is there already."""
    known = ledger(json.loads(one.usage or "{}"))
    if all(value is None for value in known.values()):
        return None
    return {
        "item": one.claimed.id,
        "lease": one.claimed.lease,
        "provider": OWN,
        "model": one.model or "unnamed",
        "outcome": "taken" if verb == "finish" else one.error_code or verb,
        "seconds": 0.0,
        **known,
    }


def _event(one: Settlement, verb: str, worker: str) -> dict[str, Any]:
    target = {"fail": "failed", "back_off": "retrying", "hold": "waiting", "release": "pending", "crash": None}[verb]
    name = {"crash": "reclaim", "hold": "hold", "release": "release"}.get(verb, "fail")
    return {
        "task": one.claimed.task,
        "actor": worker,
        "verb": name,
        "source": "running",
        "target": target,
        "stage": one.claimed.stage,
        "item": one.claimed.key,
        "reason": one.hold or one.error_message,
    }


def _attempt(one: Settlement, outcome: str, worker: str) -> dict[str, Any]:
    return {
        "item": one.claimed.id,
        "lease": one.claimed.lease,
        "worker": worker,
        "outcome": outcome,
        "error_code": one.error_code,
        "error_message": one.error_message,
        "error_detail": one.error_detail,
        "model": one.model,
        "usage": one.usage,
    }


def unstorable(one: Settlement, reason: str) -> Settlement:
    """The ending for a result that the database itself refused: this item fails, the others are not held up."""
    return one._replace(
        verb="fail",
        output=None,
        usage=None,
        model=None,
        spool=None,
        degraded=None,
        error_code="unstorable",
        error_message=clean(reason, MESSAGE_LENGTH),
        error_detail=None,
    )
