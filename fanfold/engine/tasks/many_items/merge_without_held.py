"""Gives up on items that wait for a person: they fail, with the reason why they were held.

The task then accepts these failures like others. Many items are given up in short transactions before the task moves. After a
crash in between, the rest is still held, and the same command continues with it.
"""

from __future__ import annotations

from fanfold.engine.tasks.many_items.leftovers import NotReady
from fanfold.model.endings import Ending
from fanfold.model.lifecycle import ItemState, TaskState
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import say
from fanfold.store.store import Store, Transaction

AT_ONCE = 300
"""Most items given up in one transaction: up to four rows each."""


class ManyHeld(NotReady):
    """More items are held than one short transaction can give up."""

    def __init__(self, row: TaskRow, actor: str) -> None:
        super().__init__(f"many items of {row.stage} are held")
        self.row = row
        self.actor = actor


def give_up_held(tx: Transaction, row: TaskRow, actor: str) -> int:
    """Fail the held items of the task's current stage; returns how many. ManyHeld if there are too many."""
    if tx.settling.count_held(row.number, row.stage, AT_ONCE + 1) > AT_ONCE:
        raise ManyHeld(row, actor)
    return _give_up(tx, row, actor)


def give_up_most(store: Store, many: ManyHeld) -> bool:
    """Give up held items in short transactions until few are left; False if the task was steered meanwhile."""

    def step(tx: Transaction) -> bool | None:
        row = tx.tasks.lock(many.row.number)
        if row is None or row.state is not TaskState.ACTIVE or row.stage != many.row.stage or row.resetting:
            return None
        if tx.settling.count_held(row.number, row.stage, AT_ONCE + 1) <= AT_ONCE:
            return False
        failed = tx.items.count_failed(row.number, row.stage) if not passed else passed[-1]
        passed.append(failed + _give_up(tx, row, many.actor))
        # In the same transaction: a stage that fails fast must not see failures that nobody has accepted.
        tx.tasks.move(row.number, plan=row.plan.passing({row.stage: passed[-1]}).to_json())
        return True

    passed: list[int] = []
    while went_on := store.transact(step):
        pass
    return went_on is not None


def _give_up(tx: Transaction, row: TaskRow, actor: str) -> int:
    given_up = tx.settling.give_up_held(row.number, row.stage, actor, AT_ONCE)
    reasons = {one.id: one.hold or say("no_reason_kept") for one in given_up}
    tx.settling.put_data(
        [
            {"item": item, "error_code": "held", "error_message": reason, "error_detail": None, "hold": None}
            for item, reason in reasons.items()
        ]
    )
    tx.events.add(
        [
            {
                "task": row.number,
                "actor": actor,
                "verb": Ending.FAIL.event,
                "source": ItemState.WAITING.value,
                "target": ItemState.FAILED.value,
                "stage": row.stage,
                "item": one.key,
                "reason": say("goes_on_without", why=reasons[one.id]),
            }
            for one in given_up
        ]
    )
    return len(given_up)
