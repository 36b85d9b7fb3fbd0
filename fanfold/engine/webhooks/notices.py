"""Stores what is to be delivered, in the transaction of the move that it tells of: no event is lost, and none is invented."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Change, TaskRow
from fanfold.store.rows.money.credits import NewEntry
from fanfold.store.store import Transaction

COMPLETED, FAILED, PARTIAL, PAUSED, NEEDS_YOU, TEST = "completed", "failed", "partial", "paused", "needs_you", "test"
START = "start"
"""A task that starts at its time may come to a gate at once: it waits as before, but now for a person."""
CREDITS, BOOKED = "credits", "credits.booked"
EVENTS = (COMPLETED, FAILED, PARTIAL, PAUSED, NEEDS_YOU)
KNOWN = (*EVENTS, CREDITS)
"""`credits` is not among the usual ones: it is for another ledger, and is retried until that accepts it."""
ENTRIES_AT_ONCE = 500
"""Most entries of the ledger in one delivery."""
OF_STATES = {
    TaskState.COMPLETED.value: COMPLETED,
    TaskState.FAILED.value: FAILED,
    TaskState.PARTIAL.value: PARTIAL,
    TaskState.PAUSED.value: PAUSED,
    TaskState.WAITING.value: NEEDS_YOU,
}


def tell(tx: Transaction, row: TaskRow, change: Change) -> None:
    """Store the deliveries of a move, if anybody wants to know of it."""
    from fanfold.engine.webhooks.deliveries import LEDGER, NAME

    event = OF_STATES.get(str(change.target))
    if event is None or row.pipeline in (NAME, LEDGER):
        return
    if change.source == change.target and change.verb != START:
        return
    if event == NEEDS_YOU and change.verb == "submit" and row.start_at is not None:
        return
    if receivers := _receivers(tx, row, event):
        submit_deliveries(tx, receivers, event, row.owner, described(row, change))


def tell_held(tx: Transaction, reasons: Mapping[int, str]) -> None:
    """Store the deliveries about tasks with items that wait for a person, by number: once per task and stage.

    The caller holds the locks of these tasks. A task's row is not written while its items are processed, so the time of its last
    change identifies its stay in the stage.
    """
    from fanfold.engine.webhooks.deliveries import LEDGER, NAME

    for number, reason in sorted(reasons.items()):
        row = tx.tasks.get(number)
        if row is None or row.pipeline in (NAME, LEDGER) or not (receivers := _receivers(tx, row, NEEDS_YOU)):
            continue
        key = f"held:{row.number}:{row.stage}:{row.updated_at.isoformat()}"
        if tx.tasks.by_key(row.owner, key) is None:
            change = Change(row.id, row.pipeline, "hold", None, row.state, row.stage, "worker", reason, {}, {})
            submit_deliveries(tx, receivers, NEEDS_YOU, row.owner, described(row, change), key)


def tell_ledgers(tx: Transaction, entries: Sequence[NewEntry], pipeline: str) -> None:
    """Store the deliveries of entries of one owner, if another ledger wants them.

    Each entry carries its key, which never changes: a ledger that gets an entry twice counts it once.
    """
    from fanfold.engine.webhooks.deliveries import LEDGER

    owner = entries[0].owner
    hooks = tx.webhooks.wanting(CREDITS, pipeline, owner)
    receivers = [{"name": hook.name, "url": hook.url, "is_stored": True} for hook in hooks]
    for start in range(0, len(entries) if receivers else 0, ENTRIES_AT_ONCE):
        some = [entry_data(one) for one in entries[start : start + ENTRIES_AT_ONCE]]
        data = {"owner": owner, "title": owner, "task": entries[0].task or None, "entries": some}
        submit_deliveries(tx, receivers, CREDITS, owner, data, pipeline=LEDGER)


def entry_data(entry: NewEntry) -> dict[str, Any]:
    """An entry as other ledgers get it."""
    return {
        "key": ":".join((entry.kind.value, entry.task, entry.item, str(entry.generation))),
        "kind": entry.kind.value,
        "amount": entry.amount,
        "task": entry.task or None,
        "item": entry.item if entry.task and entry.item else None,
        "generation": entry.generation,
        "by": entry.actor,
        "reason": None if entry.reason is None else str(entry.reason)[:1_000],
    }


def _receivers(tx: Transaction, row: TaskRow, event: str) -> list[dict[str, Any]]:
    hooks = tx.webhooks.wanting(event, row.pipeline, row.owner)
    found = [{"name": hook.name, "url": hook.url, "is_stored": True} for hook in hooks]
    return found + own_receivers(tx, row, {hook.name for hook in hooks})


def own_receivers(tx: Transaction, row: TaskRow, known: set[str]) -> list[dict[str, Any]]:
    """The receivers that a task names itself, by the name of a webhook or by address."""
    found = []
    for number, wanted in enumerate(json.loads(row.notify) if row.notify else (), 1):
        hook = None if "://" in wanted else tx.webhooks.get(wanted)
        if "://" in wanted:
            found.append({"name": f"notify-{number}", "url": wanted, "is_stored": False})
        elif hook is not None and hook.name not in known and hook.disabled_at is None:
            found.append({"name": hook.name, "url": hook.url, "is_stored": True})
    return found


def described(row: TaskRow, change: Change) -> dict[str, Any]:
    """What receivers are told of a task: no inputs, options or results, which may be private."""
    return {
        "task": row.id,
        "title": row.title,
        "pipeline": row.pipeline,
        "state": change.target,
        "stage": change.stage,
        "owner": row.owner,
        "tags": list(row.tags),
        "reason": None if change.reason is None else str(change.reason)[:1_000],
        "by": change.actor,
    }


def submit_deliveries(
    tx: Transaction,
    receivers: list[dict[str, Any]],
    event: str,
    owner: str,
    data: dict[str, Any],
    key: str | None = None,
    pipeline: str | None = None,
) -> str:
    """A task with one delivery per receiver, stored in this transaction; returns its id."""
    from fanfold.engine.tasks.submitting.submit import new_id
    from fanfold.engine.webhooks.deliveries import NAME, STAGE

    kind = BOOKED if event == CREDITS else f"task.{event}"
    body = json.dumps({"type": kind, "timestamp": tx.time().isoformat(), "data": data}, ensure_ascii=False)
    task_id = new_id()
    row: dict[str, Any] = {
        "id": task_id,
        "pipeline": pipeline or NAME,
        "title": f"{event}: {data.get('title') or data.get('task') or ''}"[:1_000],
    }
    row |= {
        "state": TaskState.ACTIVE.value,
        "stage": STAGE,
        "plan": _plan(pipeline or NAME),
        "input": "[]",
        "options": "{}",
        "key": key,
    }
    number = tx.tasks.add({**row, "extra": json.dumps({"task": data.get("task")}), "owner": owner, "priority": 0}, ())
    items = [(one["name"], json.dumps({**one, "body": body}, ensure_ascii=False)) for one in receivers]
    tx.items.add(number, STAGE, items)
    moved = {"verb": "submit", "target": TaskState.ACTIVE.value, "stage": STAGE}
    tx.events.add([{"task": number, "actor": "webhooks", "source": None, "reason": None, **moved}])
    tx.announce()
    return task_id


@cache
def _plan(pipeline: str) -> str:
    from fanfold.engine.webhooks.deliveries import OWN_PIPELINES

    return next(one for one in OWN_PIPELINES if one.name == pipeline).plan().to_json()
