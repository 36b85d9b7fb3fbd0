"""Queries about batches at services."""

from __future__ import annotations

from fanfold.engine.queries.lookup import Lookup, check_limit
from fanfold.model.money.batch import Batch


class BatchQueries:
    """Queries about batches."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup

    def batches(self, task_id: str | None = None, *, limit: int = 100) -> list[Batch]:
        """The last batches of questions at services, newest first: of one task, or of all tasks that the owner may see."""
        check_limit(limit)
        number = None if task_id is None else self.lookup.row(task_id).number
        with self.lookup.store.read() as tx:
            return [row.shown() for row in tx.batches.page(number, self.lookup.owner, limit)]
