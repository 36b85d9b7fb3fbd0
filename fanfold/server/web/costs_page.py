"""The page about costs: what was spent, by group, and per day as bars."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import Query, Request
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.model.money.costs import GROUPS, CostRow, total_of
from fanfold.server.requests.authentication import Asking, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.templating import page

router = Router()
DAYS = 30
"""Days in the chart."""
ROWS = 500
WIDTH, HEIGHT = 720.0, 120.0
Group = Literal["task", "model", "day", "owner", "provider", "pipeline"]


@dataclass(frozen=True)
class Bar:
    """A day in the chart."""

    day: str
    cost: float
    x: float
    y: float
    width: float
    height: float


@router.get("/costs")
def show(
    request: Request,
    access: Asking,
    client: Looking,
    by: Group = "task",
    since: Annotated[str, Query(max_length=40)] = "",
) -> Response:
    """The costs as a table and a chart."""
    rows = client.costs(by, since=since or None, limit=ROWS)
    days = days_of(client, datetime.now(UTC).date())
    values: dict[str, Any] = {"by": by, "since": since, "rows": rows, "total": total_of(rows), "groups": GROUPS}
    return page(
        request, "costs.html", access, **values, bars=bars(days), chart=total_of(days), width=WIDTH, height=HEIGHT
    )


def days_of(client: Client, today: date) -> list[CostRow]:
    """The last days, including those without costs; empty if nothing was spent at all."""
    first = today - timedelta(days=DAYS - 1)
    found = {row.name: row for row in client.costs("day", since=first)}
    names = [(first + timedelta(days=number)).isoformat() for number in range(DAYS)]
    return [found.get(name, CostRow(name)) for name in names] if found else []


def bars(days: list[CostRow]) -> list[Bar]:
    """The bars of the chart, with heights in proportion to the costs."""
    most = max((day.cost for day in days), default=0.0)
    step = WIDTH / max(1, len(days))
    return [
        Bar(day.name, day.cost, place * step + 2, HEIGHT - high, step - 4, high)
        for place, day in enumerate(days)
        for high in (day.cost / most * (HEIGHT - 4) if most else 0.0,)
    ]
