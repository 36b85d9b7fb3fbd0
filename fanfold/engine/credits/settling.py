"""Refunds what a task did not deliver when it comes to rest, and charges again what a person has redone.

Both happen in the transaction that moves the task, so no crash can separate them from the move. The rules:

- a completed task costs what it delivered: items that are not done in the last `each` stage are refunded;
- a partial task gets back its failed items;
- a failed task costs nothing, unless it had delivered a result before: then its unfinished items are refunded;
- a cancelled or deleted task costs the items that are done;
- a retry or rerun charges what was refunded and will be worked on, and done items that are redone on purpose, once more;
- a rerun costs what the task's own options cost: what retries changed for single items is dropped;
- a retry with other options costs what these options cost, also for items that were never refunded, or that it will add.

Only the latest charge of an item is ever refunded: a delivered result was paid for, even if it is redone later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fanfold.engine.credits.booking import book
from fanfold.engine.credits.price import AskedPrice, is_asked_again, priced_stages
from fanfold.errors import IllegalMove
from fanfold.model.lifecycle import FINISHED_TASKS, ItemState, TaskState
from fanfold.model.money.credits import WHOLE_TASK, EntryKind
from fanfold.model.plan import Kind
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.rows.money.credits import NewEntry, Unit
from fanfold.store.store import Transaction


@dataclass(frozen=True)
class NewPrice:
    """What a task costs with the options of a retry."""

    units: Mapping[str, int]
    """Amounts by item key."""
    everywhere: bool
    """Whether the options become those of the task; otherwise they are those of the retried items."""


AT_REST = (*FINISHED_TASKS, None)
"""States in which a task is settled; None stands for its removal."""


def refund_undelivered(tx: Transaction, row: TaskRow, target: TaskState | None, actor: str) -> None:
    """Refund what the task did not deliver. ``row`` is the task before its move to ``target``, and is locked."""
    if not row.plan.priced or target not in AT_REST:
        return
    units = [unit for unit in tx.credits.units(row.id) if not unit.is_refunded]
    delivered = _delivered(tx, row, target, units)
    refund_units(tx, row, [unit for unit in units if unit.item not in delivered], actor, _reason(row, target))


def refund_units(tx: Transaction, row: TaskRow, units: Iterable[Unit], actor: str, reason: str) -> int:
    """Refund the latest charge of these items; returns the amount. What was refunded before is left out."""
    refunds = [
        NewEntry(row.owner, EntryKind.REFUND, unit.amount, row.id, unit.item, unit.generation, actor, reason)
        for unit in units
    ]
    return sum(one.amount for one in book(tx, refunds, pipeline=row.pipeline))


def charge_retry(
    tx: Transaction,
    row: TaskRow,
    actor: str,
    stage: str,
    *,
    keys: Sequence[str] = (),
    degraded: bool = False,
    new: NewPrice | None = None,
) -> None:
    """Charge for a retry, before its items are reset: what was refunded and continues, and done items that are named."""
    if not row.plan.priced:
        return
    units = tx.credits.units(row.id)
    refunded = [unit.item for unit in units if unit.is_refunded]
    again = _going_on(tx, row, refunded, stage, keys, degraded)
    if keys and row.plan.stage(stage).kind is Kind.EACH:
        again |= tx.reading.known_keys(row.number, stage, keys, (ItemState.DONE,))
    if new is not None:
        units, moved = _at_new_price(tx, row, units, stage, keys, new)
        moved = [unit for unit in moved if unit.item not in again]
        refund_units(tx, row, moved, actor, say("credits_repriced"))
        again |= {unit.item for unit in moved} | {unit.item for unit in units if unit.generation < 0}
    _charge_again(tx, row, [unit for unit in units if unit.item in again], actor)


def _at_new_price(
    tx: Transaction, row: TaskRow, units: Sequence[Unit], stage: str, keys: Sequence[str], new: NewPrice
) -> tuple[list[Unit], list[Unit]]:
    """All units with the amounts that hold from now on, and those that are paid at another one and not delivered.

    Items that the new options add have the generation -1: they were never charged.
    """
    done, known = _done(tx, row, units), {unit.item for unit in units}
    candidates = sorted((known | set(new.units)) - {WHOLE_TASK})
    if new.everywhere:
        concerned = (known | set(new.units)) - (done - set(keys))
    else:
        concerned = set(keys) or tx.reading.known_keys(row.number, stage, candidates, (ItemState.FAILED,))
    changed = [unit._replace(amount=new.units.get(unit.item, 0)) if unit.item in concerned else unit for unit in units]
    moved = [
        before
        for before, after in zip(units, changed, strict=True)
        if before.amount != after.amount and not before.is_refunded and before.item not in done
    ]
    added = [Unit(item, -1, new.units[item], False) for item in sorted(concerned & set(new.units) - known)]
    return [*changed, *added], moved


def charge_rerun(tx: Transaction, row: TaskRow, actor: str, price: AskedPrice | None) -> None:
    """Charge for a rerun, before its items are reset: what was refunded, and what was delivered and is made once more.

    Items lose the options of their own, so they cost what they did when the task was submitted. What was paid at another price
    and is not delivered is refunded. IllegalMove if the options of the task have changed since ``price`` was asked.
    """
    if not row.plan.priced:
        return
    units = _at_own_price(tx, row, price)
    paid = [unit for unit in tx.credits.units(row.id) if not unit.is_refunded]
    delivered = _done(tx, row, paid) | ({WHOLE_TASK} if _has_completed(tx, row) else set())
    now = {unit.item: unit.amount for unit in units}
    moved = [unit for unit in paid if unit.item not in delivered and unit.amount != now[unit.item]]
    refund_units(tx, row, moved, actor, say("credits_repriced"))
    kept = {unit.item for unit in paid} - delivered - {unit.item for unit in moved}
    _charge_again(tx, row, [unit for unit in units if unit.item not in kept], actor)


def _at_own_price(tx: Transaction, row: TaskRow, price: AskedPrice | None) -> list[Unit]:
    """All units with what they cost with the task's own options. Items that were never charged have the generation -1."""
    units, submitted = tx.credits.units(row.id), tx.credits.submitted(row.id)
    if price is None:  # Nothing here can be asked.
        before = {} if row.plan.repriced else submitted
        return [unit._replace(amount=before.get(unit.item, unit.amount)) for unit in units]
    if not is_asked_again(tx, row):
        return [unit._replace(amount=submitted[unit.item]) for unit in units]
    if price.units is None or price.options != row.options:
        raise IllegalMove(say("steered_by_others"))
    now = price.units if row.plan.repriced else price.units | submitted
    new = set(now) - {unit.item for unit in units} if row.plan.repriced else set()
    added = [Unit(item, -1, now[item], False) for item in sorted(new)]
    return [*(unit._replace(amount=now.get(unit.item, 0)) for unit in units), *added]


def _charge_again(tx: Transaction, row: TaskRow, units: Sequence[Unit], actor: str) -> None:
    """Charge these items once more; 0 too where an earlier charge would otherwise stay the one that is refunded or repeated."""
    reason = say("credits_again")
    entries = [
        NewEntry(row.owner, EntryKind.CHARGE, -unit.amount, row.id, unit.item, unit.generation + 1, actor, reason)
        for unit in units
        if unit.amount or unit.generation >= 0
    ]
    book(tx, entries, pipeline=row.pipeline)


def _going_on(
    tx: Transaction, row: TaskRow, refunded: Sequence[str], stage: str, keys: Sequence[str], degraded: bool
) -> set[str]:
    """Refunded items that a retry works on or delivers after all: all but those that stay failed, or do not exist."""
    chain = priced_stages(row.plan)
    if not chain or row.plan.index(stage) < row.plan.index(chain[0]) or not tx.items.exist(row.number, chain[0]):
        return set(refunded)
    items = [item for item in refunded if item != WHOLE_TASK]
    stay_failed: set[str] = set()
    for name in chain:
        failed = tx.reading.known_keys(row.number, name, items, (ItemState.FAILED,))
        if name == stage and not degraded:
            failed -= set(keys) if keys else failed
        stay_failed |= failed
    existing = tx.reading.known_keys(row.number, chain[0], items)
    return (existing - stay_failed) | (set(refunded) & {WHOLE_TASK})


def _delivered(tx: Transaction, row: TaskRow, target: TaskState | None, units: Sequence[Unit]) -> set[str]:
    """The items, and WHOLE_TASK, that the owner has to pay for."""
    everything = {unit.item for unit in units}
    if target is TaskState.PARTIAL:
        return everything - _failed(tx, row, units)
    has_completed = target is TaskState.COMPLETED or _has_completed(tx, row)
    if target is TaskState.FAILED and not has_completed:
        return set()
    if not priced_stages(row.plan):
        return everything if has_completed else set()
    return _done(tx, row, units) | ({WHOLE_TASK} if has_completed else set())


def _done(tx: Transaction, row: TaskRow, units: Sequence[Unit]) -> set[str]:
    chain = priced_stages(row.plan)
    return tx.reading.known_keys(row.number, chain[-1], _keys(units), (ItemState.DONE,)) if chain else set()


def _failed(tx: Transaction, row: TaskRow, units: Sequence[Unit]) -> set[str]:
    keys = _keys(units)
    found = [tx.reading.known_keys(row.number, name, keys, (ItemState.FAILED,)) for name in priced_stages(row.plan)]
    return set().union(*found)


def _keys(units: Sequence[Unit]) -> list[str]:
    return [unit.item for unit in units if unit.item != WHOLE_TASK]


def _has_completed(tx: Transaction, row: TaskRow) -> bool:
    """Whether the task has delivered a result since it was submitted or last rerun."""
    return row.state is TaskState.COMPLETED or tx.events.has_completed(row.number)


def _reason(row: TaskRow, target: TaskState | None) -> str:
    return say("credits_refunded_deleted") if target is None else say("credits_refunded", state=target.value)
