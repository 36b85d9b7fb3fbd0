"""Marks degraded results as accepted by a person.

This is not a move: the items stay done, with their mark and reason, and the task stays where it is. These results just
no longer ask for attention. The lease of the result is stored, so a redo that is degraded again must be accepted again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fanfold.errors import IllegalMove, NotFound
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, joined, say
from fanfold.store.items import accept as accepting
from fanfold.store.items.accept import Shortfall
from fanfold.store.store import Store, Transaction

NAMED = 20
"""Most items named in an event."""


@dataclass(frozen=True)
class Keep:
    """What a person accepts: the degraded results of the named items, of one stage, or all of them; and why."""

    items: tuple[str, ...] = ()
    stage: str | None = None
    reason: str | None = None


def accept(store: Store, number: int, keep: Keep, actor: str) -> int:
    """Accept degraded results, with an event that says who did it; returns how many.

    They are looked up first and accepted in short transactions. After a crash in between, the same command accepts the rest.
    """
    with store.read() as tx:
        row = tx.tasks.get(number)
        if row is None:
            raise NotFound(say("deleted_meanwhile"))
        found = _found(tx, row, keep)
    accepted = 0
    for start in range(0, len(found), accepting.AT_ONCE):
        some = found[start : start + accepting.AT_ONCE]
        accepted += store.transact(partial(_accept, number=number, some=some, keep=keep, actor=actor))
    if not accepted:
        raise IllegalMove(_nothing(row, keep))
    return accepted


def _found(tx: Transaction, row: TaskRow, keep: Keep) -> list[Shortfall]:
    """The requested results that are not accepted yet."""
    if keep.stage is not None:
        row.plan.stage(keep.stage)
    found = tx.accepting.shortfalls(row.number, keep.stage)
    if not keep.items:
        return found
    wanted = set(keep.items)
    _check_names(tx, row, keep.stage, sorted(wanted - {one.key for one in found}))
    return [one for one in found if one.key in wanted]


def _check_names(tx: Transaction, row: TaskRow, stage: str | None, keys: Sequence[str]) -> None:
    """NotFound if a key has no item."""
    most = len(keys) * len(row.plan.stages)
    known = (
        {one.key for one in tx.reading.page(row.number, stage=stage, keys=keys, limit=most, bodies=False)}
        if keys
        else ()
    )
    unknown = [key for key in keys if key not in known]
    if unknown:
        anywhere = say("no_such_items", task=row.id, keys=unknown)
        raise NotFound(say("no_such_items_in", task=row.id, keys=unknown, stage=stage) if stage else anywhere)


def _accept(tx: Transaction, number: int, some: Sequence[Shortfall], keep: Keep, actor: str) -> int:
    """Accept the results that have not changed since they were looked up."""
    if tx.tasks.lock(number) is None:
        raise NotFound(say("deleted_meanwhile"))
    known = set(some)
    found = [one for one in tx.accepting.among([one.id for one in some]) if one in known]
    if found:
        tx.accepting.accept(found)
        # Touch the row: open pages reload a finished task only when its row has changed.
        tx.tasks.move(number)
        tx.events.add(
            [_event(number, stage, found, keep, actor) for stage in dict.fromkeys(one.stage for one in found)]
        )
    return len(found)


def _event(number: int, stage: str, found: Sequence[Shortfall], keep: Keep, actor: str) -> dict[str, object]:
    keys = [one.key for one in found if one.stage == stage]
    listed = ", ".join(keys[:NAMED]) + (" …" if len(keys) > NAMED else "")
    what = say("items_accepted", count=len(keys), stage=stage, keys=listed)
    return {
        "task": number,
        "actor": actor,
        "verb": "accept",
        "stage": stage,
        "item": keys[0] if len(keys) == 1 else None,
        "reason": joined(filter(None, (what, keep.reason))),
    }


def _nothing(row: TaskRow, keep: Keep) -> Sentence:
    if keep.items:
        return say("none_degraded_named", task=row.id, state=row.state)
    if keep.stage:
        return say("none_degraded_in", task=row.id, state=row.state, stage=keep.stage)
    return say("none_degraded", task=row.id, state=row.state)
