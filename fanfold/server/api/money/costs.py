"""Routes for costs: what calls to models have cost."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel

from fanfold.model.money.costs import CostRow, total_of
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["money"])
MOST_ROWS = 10_000
Group = Literal["task", "model", "day", "owner", "provider", "pipeline"]
When = Annotated[Text | None, Query(max_length=40, description="A day or time, such as 2026-11-01.")]


class Costs(BaseModel):
    """What was spent, in US dollars, and the sum of the rows."""

    by: Group
    rows: list[CostRow]
    total: CostRow


@router.get("/costs", responses=may_answer())
def costs(client: Looking, by: Group = "task", since: When = None, until: When = None) -> Costs:
    """Get what calls to models have cost: days in order, anything else by cost, highest first."""
    rows = client.costs(by, since=since, until=until, limit=MOST_ROWS)
    return Costs.model_construct(by=by, rows=rows, total=total_of(rows))
