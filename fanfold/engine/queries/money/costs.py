"""Queries about the costs of an installation, or of one owner."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from fanfold.engine.queries.lookup import Lookup, check_limit
from fanfold.errors import BadInput
from fanfold.model.money.costs import GROUPS, CostRow
from fanfold.model.text.sentences import say
from fanfold.model.text.texts import shown


class CostQueries:
    """Queries about what was spent."""

    def __init__(self, lookup: Lookup) -> None:
        self.lookup = lookup

    def costs(
        self, by: str = "task", *, since: Any = None, until: Any = None, limit: int | None = None
    ) -> list[CostRow]:
        """What calls to models have cost, by `task`, `model`, `day`, `owner`, `provider` or `pipeline`.

        ``since`` and ``until`` are days or times; a time without a zone is in UTC. Deleted tasks are not included.
        """
        if by not in GROUPS:
            raise BadInput(say("costs_group", value=shown(by), known=list(GROUPS)))
        check_limit(limit)
        with self.lookup.store.read() as tx:
            return tx.costs.by(by, since=moment(since), until=moment(until), owner=self.lookup.owner, limit=limit)


def moment(value: Any) -> datetime | None:
    """A given day or time; text is in ISO 8601."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        if not isinstance(value, datetime):
            raise ValueError
    except ValueError:
        raise BadInput(say("costs_time", value=shown(value))) from None
    return value if value.tzinfo is not None else value.replace(tzinfo=UTC)
