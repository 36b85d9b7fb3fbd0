"""Constraints that the database enforces: consistent rows, and only moves that the table of moves has."""

from __future__ import annotations

from collections.abc import Iterable

from fanfold.model.decision import DecisionVerdict
from fanfold.model.lifecycle import (
    FINISHED_TASKS,
    ITEM_MOVES,
    SETTLED_ITEMS,
    TASK_MOVES,
    TIMED_ITEMS,
    ItemState,
    Move,
    TaskState,
    pairs,
)
from fanfold.model.money.batch import BATCH_MOVES, MEMBER_MOVES
from fanfold.store.dialects.dialect import Dialect


def listed(values: Iterable[str]) -> str:
    """The values as a list of SQL texts."""
    return ", ".join(f"'{value}'" for value in values)


ITEM_CHECKS = {
    "state_known": f"state IN ({listed(ItemState)})",
    "running_has_worker": "(state = 'running') = (worker IS NOT NULL)",
    "timed_has_time": f"(state IN ({listed(TIMED_ITEMS)})) = (available_at IS NOT NULL)",
    "settled_has_time": f"(state IN ({listed(SETTLED_ITEMS)})) = (finished_at IS NOT NULL)",
    "leased_once_run": "state NOT IN ('running', 'done') OR lease > 0",
}
TASK_CHECKS = {
    "state_known": f"state IN ({listed(TaskState)})",
    "finished_has_time": f"(state IN ({listed(FINISHED_TASKS)})) = (finished_at IS NOT NULL)",
    "ending_known": f"ending IS NULL OR ending IN ({listed((TaskState.FAILED, TaskState.CANCELLED))})",
}
MOVES = {"items": ITEM_MOVES, "tasks": TASK_MOVES, "batches": BATCH_MOVES, "batch_members": MEMBER_MOVES}
"""The table of moves of each table whose rows have a state."""
APPEND_ONLY = "credit_entries"
DECISION_CHECKS = {"verdict_known": f"verdict IN ({listed(DecisionVerdict)})"}


def trigger_statements(dialect: Dialect) -> list[str]:
    """Triggers that refuse any change of state missing from the table of moves, and any change of the ledger's entries."""
    moves = dialect.trigger_statements({table: _illegal(moves) for table, moves in MOVES.items()})
    return moves + dialect.append_only_statements(APPEND_ONLY)


def _illegal(moves: Iterable[Move]) -> str:
    """The condition, over ``OLD`` and ``NEW``, for a change missing from the table of moves."""
    changes = " OR ".join(f"OLD.state = '{source}' AND NEW.state = '{target}'" for source, target in pairs(moves))
    return f"OLD.state <> NEW.state AND NOT ({changes})"
