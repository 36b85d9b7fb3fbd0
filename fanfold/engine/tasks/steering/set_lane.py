"""Changes how the rest of a task asks its models: live, in batches, or in batches if the time allows it.

This is not a move: the task stays where it is. Questions that are not in a batch yet are asked live at once. If all questions
of a batch should be asked live, the batch is cancelled at the service; its answers so far are used, and only the rest is asked
live.
"""

from __future__ import annotations

from fanfold.errors import BadInput, IllegalMove, NotFound
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.money.batch import LANE, LANES, LIVE
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.store import Store, Transaction


def set_lane(store: Store, number: int, lane: str, actor: str) -> None:
    """Change the lane of an unfinished task, with an event that says who did it."""
    if lane not in LANES:
        raise BadInput(say("no_lane", lane=lane))
    store.transact(lambda tx: _set(tx, number, lane, actor))


def _set(tx: Transaction, number: int, lane: str, actor: str) -> None:
    row = tx.tasks.lock(number)
    if row is None:
        raise NotFound(say("deleted_meanwhile"))
    if row.state in FINISHED_TASKS:
        raise IllegalMove(say("lane_of_finished", task=row.id, state=row.state))
    options = {**(serial.load(row.options) or {}), LANE: lane}
    tx.tasks.move(number, options=serial.dump(options, "The options"))
    if lane == LIVE:
        tx.batched.go_live(number)
        tx.batches.cancel_unwanted()
    reason = say("lane_changed", lane=lane)
    tx.events.add([{"task": number, "actor": actor, "verb": "lane", "stage": row.stage, "reason": reason}])
    tx.batched.free_budgets()
