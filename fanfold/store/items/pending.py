"""Column values of a pending item: new, handed back, or started over.

Every move to `pending` writes these values, and readers show them for items that a reset has not reached yet.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.model.lifecycle import ItemState
from fanfold.store.items.large.reset_queue import OUTDATE, OVER
from fanfold.store.schema.tables import item_data

NEW_COLUMNS = ("task", "stage", "state", "lease", "attempts", "failures", "crashes", "seq", "key")
HANDED_BACK: dict[str, Any] = {
    "state": ItemState.PENDING.value,
    **dict.fromkeys(("worker", "deadline_at", "available_at")),
}
"""No worker, no due time. The counters of its attempts stay."""
STARTED_OVER: dict[str, Any] = {
    **HANDED_BACK,
    **dict.fromkeys(("attempts", "failures", "crashes"), 0),
    **dict.fromkeys(("finished_at", "degraded")),
}
"""As if never tried, except that the lease is kept: a lease only grows."""
CRASHES = ("crash_progress", "crash_memory", "forgiven_crashes")
FORGOTTEN: dict[str, Any] = dict.fromkeys(
    ("memory", "waiting_since", "progress", "message", "hold", "handed_back", "troubled_since", "troubled_by", *CRASHES)
)
"""Data of earlier attempts that a redo clears. Results stay until there are new ones."""
KEPT = {OUTDATE: ("item", "input", "generation", "options"), OVER: ("item", "input")}
"""Data columns that survive when the results are dropped, by kind of reset."""


def new_item(task: Any, stage: Any, seq: Any, key: Any) -> tuple[Any, ...]:
    """The values of NEW_COLUMNS."""
    return (task, stage, sa.literal_column(f"'{ItemState.PENDING}'"), *[sa.literal_column("0")] * 4, seq, key)


def without_results(kind: str) -> dict[str, Any]:
    """The data of an item that starts over."""
    return {column.name: None for column in item_data.c if column.name not in KEPT[kind]}
