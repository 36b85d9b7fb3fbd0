"""Locks items in the order of their ids, so that two transactions cannot deadlock."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from fanfold.store.dialects.dialect import Dialect
from fanfold.store.dialects.known import of
from fanfold.store.schema.statements import run
from fanfold.store.schema.tables import items


def lock_items(connection: sa.Connection, ids: Sequence[int]) -> None:
    """Lock these items until the transaction ends, waiting for current writers."""
    dialect = of(connection)
    if ids and dialect.locks_rows:
        run(connection, _locked(dialect), {"ids": list(ids)})


@cache
def _locked(dialect: Dialect) -> sa.Select[Any]:
    return sa.select(items.c.id).where(dialect.among(items.c.id)).order_by(items.c.id).with_for_update(key_share=True)
