"""What calls of each pipeline and model have used: counts by cost, so that quantiles need no scan of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from fanfold.store.dialects.dialect import Row
from fanfold.store.dialects.sql_clock import SqlClock
from fanfold.store.schema.money.budget_tables import usage_history
from fanfold.store.schema.statements import run

KEYS = ("pipeline", "provider", "model", "bucket")
SUMS = ("calls", "cost", "input_tokens", "output_tokens", "guessed_tokens")
COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {
    "pipeline": sa.Text(),
    "provider": sa.Text(),
    "model": sa.Text(),
    "bucket": sa.Integer(),
    **{name: sa.BigInteger() for name in SUMS},
}


class UsageBucket(NamedTuple):
    """Summed calls of about the same cost."""

    bucket: int
    calls: int
    cost: int
    input_tokens: int
    output_tokens: int
    guessed_tokens: int


class UsageHistory:
    """Verbs on the history of usage, inside one transaction."""

    def __init__(self, connection: sa.Connection, clock: SqlClock) -> None:
        self.connection = connection
        self.clock = clock

    def add(self, rows: Sequence[Row]) -> None:
        """Add calls to their buckets, in key order, so that two workers cannot deadlock."""
        if rows:
            run(self.connection, _add(self.clock), {"rows": sorted(rows, key=lambda row: [row[name] for name in KEYS])})

    def of(self, pipeline: str, provider: str, model: str) -> list[UsageBucket]:
        """The buckets of a pipeline and model, cheapest first."""
        mine = sa.and_(
            usage_history.c.pipeline == pipeline,
            usage_history.c.provider == provider,
            usage_history.c.model == model[:200],
        )
        return self._summed(mine)

    def of_model(self, provider: str, model: str) -> list[UsageBucket]:
        """The buckets of a model over all pipelines."""
        return self._summed(
            sa.and_(usage_history.c.provider == provider, usage_history.c.model == model[:200]),
        )

    def _summed(self, chosen: sa.ColumnElement[bool]) -> list[UsageBucket]:
        sums = [sa.func.sum(usage_history.c[name]).label(name) for name in SUMS]
        found = sa.select(usage_history.c.bucket, *sums).where(chosen).group_by(usage_history.c.bucket)
        rows = self.connection.execute(found.order_by(usage_history.c.bucket))
        return [UsageBucket(row.bucket, *(int(row._mapping[name]) for name in SUMS)) for row in rows]


@lru_cache(maxsize=64)
def _add(clock: SqlClock) -> sa.Insert:
    batch = clock.dialect.unfolded(COLUMNS)
    # Without a WHERE, SQLite would read ON CONFLICT after a SELECT as a join.
    chosen = sa.select(*batch.c).where(sa.true()).order_by(*(batch.c[name] for name in KEYS))
    new = clock.dialect.insert(usage_history).from_select([*COLUMNS], chosen)
    summed = {name: usage_history.c[name] + new.excluded[name] for name in SUMS}
    return new.on_conflict_do_update(index_elements=list(KEYS), set_=summed)
