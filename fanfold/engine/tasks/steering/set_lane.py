"""Changes how the rest of a task asks its models: live, in batches, or in batches if the time allows it.

It is no move: the task stays where it is. Questions that no batch has yet are asked live at once. A batch whose questions are
all wanted live is cancelled at the service; what it has answered by then is used, and only the rest is asked live.
"""

from __future__ import annotations

from fanfold.errors import BadInput, IllegalMove, NotFound
from fanfold.model.batch import LANE, LANES, LIVE
from fanfold.model.lifecycle import FINISHED_TASKS
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.store import Store, Transaction


def set_lane(store: Store, number: int, lane: str, actor: str) -> None:
    """Change the lane of a task that is not finished, with an event that says who did."""
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
