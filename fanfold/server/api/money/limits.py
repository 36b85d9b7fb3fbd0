"""Rate limits: list them, and open or close one for all workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path
from pydantic import BaseModel, Field

from fanfold.engine.queries.money.rate_limits import close_limit, list_limits, open_limit
from fanfold.model.money.rate_limits import LimitRow
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.requests.authentication import At, Managing, Overseeing
from fanfold.server.threads.database_threads import Router

router = Router(tags=["operating"])
Key = Annotated[Text, Path(max_length=300, examples=["openai:gpt-5.4-mini"])]


class CloseLimitRequest(BaseModel):
    """How long a rate limit stays closed."""

    seconds: float = Field(default=600.0, gt=0, le=2_592_000, examples=[600])


@router.get("/limits", responses=may_answer())
def list_rate_limits(place: At, _access: Overseeing) -> list[LimitRow]:
    """List the rate limits that all workers share, with their levels and waiting calls."""
    return list_limits(place.store)


@router.post("/limits/{key:path}/open", responses=may_answer(404))
def open_rate_limit(place: At, _access: Managing, key: Key) -> list[LimitRow]:
    """Open a limit that was closed by a refusal, a used-up daily quota or a person."""
    return open_limit(place.store, key)


@router.post("/limits/{key:path}/close", responses=may_answer(404))
def close_rate_limit(
    place: At,
    _access: Managing,
    key: Key,
    wish: CloseLimitRequest = Body(default_factory=CloseLimitRequest),  # noqa: B008
) -> list[LimitRow]:
    """Let no worker ask this model for some seconds."""
    return close_limit(place.store, key, wish.seconds)
