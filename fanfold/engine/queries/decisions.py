"""Queries about people's decisions about parts of results."""

from __future__ import annotations

from fanfold.engine.queries.lookup import Lookup, check_limit
from fanfold.engine.queries.results.task_result import decision_of
from fanfold.model.decision import Decision, check_verdict
from fanfold.model.text.texts import is_storable
from fanfold.store.rows.decisions import DecisionFilter

LAST_NUMBER = 2**31 - 1
"""Highest possible number of a decision."""


class DecisionQueries:
    """Read-only queries about decisions."""

    def __init__(self, look: Lookup) -> None:
        self._look = look

    def decisions(
        self,
        task_id: str,
        *,
        stage: str | None = None,
        item: str | None = None,
        part: str | None = None,
        verdict: str | None = None,
        history: bool = False,
        after: int = 0,
        limit: int = 1_000,
    ) -> list[Decision]:
        """The latest decision about each part, in the order they were made.

        ``after`` is the number of the last one seen. ``history`` includes decisions that were undone or replaced.
        """
        check_limit(limit)
        wanted = DecisionFilter(stage, item, part, None if verdict is None else check_verdict(verdict), history)
        row = self._look.row(task_id)
        if stage is not None:
            row.plan.stage(stage)
        if not all(is_storable(name) for name in (item, part) if name is not None):
            return []
        with self._look.store.read() as tx:
            found = tx.decisions.page(row.number, wanted, max(0, min(after, LAST_NUMBER)), limit)
        return [decision_of(one) for one in found]
