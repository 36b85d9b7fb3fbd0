"""Rate limits: list them, and open or close one for all workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path

from fanfold.engine.queries.rate_limits import close_limit, list_limits, open_limit
from fanfold.model.rate_limits import LimitRow
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes import Text
from fanfold.server.requests.access import At, Managing, Overseeing
from fanfold.server.threads.database_threads import Router

router = Router(tags=["operating"])
Key = Annotated[Text, Path(max_length=300, examples=["openai:gpt-5.4-mini"])]


@router.get("/limits", responses=may_answer())
def list_rate_limits(place: At, _access: Overseeing) -> list[LimitRow]:
    """List the rate limits that all workers share, with their levels, and who waits."""
    return list_limits(place.store)


@router.post("/limits/{key:path}/open", responses=may_answer(404))
def open_rate_limit(place: At, _access: Managing, key: Key) -> list[LimitRow]:
    """Open a limit that a refusal, a used-up day or a person has closed."""
    return open_limit(place.store, key)


@router.post("/limits/{key:path}/close", responses=may_answer(404))
def close_rate_limit(
    place: At,
    _access: Managing,
    key: Key,
    seconds: Annotated[float, Body(embed=True, gt=0, le=2_592_000, examples=[600])] = 600.0,
) -> list[LimitRow]:
    """Let no worker ask this model for so many seconds."""
    return close_limit(place.store, key, seconds)
