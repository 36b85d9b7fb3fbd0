"""Routes for batches of questions at services, and for the lane in which a task asks its models."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

from fanfold.model.money.batch import Batch, BatchState
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import SENTENCES, Said, said_in
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import MAY_CHANGE, TaskId
from fanfold.server.requests.adapted_messages import neutral
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["tasks"])
Limit = Annotated[int, Query(ge=1, le=1_000, description="Maximum number of batches.")]


class BatchShape(BaseModel):
    """A batch of questions at a service."""

    id: str
    provider: str
    model: str
    state: BatchState
    job: str | None = Field(description="The service's id for it; null until the service has accepted it.")
    questions: int
    tokens: int = Field(description="Estimated input tokens.")
    answered: int
    failed: int
    created_at: datetime
    ended_at: datetime | None
    reason: str | None = Field(description="Why it failed, or what it waits for.")
    cancelling: bool
    sentences: dict[str, Said] = SENTENCES

    @classmethod
    def of(cls, batch: Batch) -> BatchShape:
        """The batch as JSON."""
        known = shallow(neutral(batch))
        return cls.model_construct(**{**known, "sentences": said_in(known["sentences"])})


class BatchList(BaseModel):
    """Batches, newest first."""

    batches: list[BatchShape]


class LaneRequest(BaseModel):
    """How the rest of a task asks its models."""

    lane: Literal["live", "batch", "auto"]

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"lane": "live"}]})


@router.get("/batches", responses=may_answer())
def list_batches(client: Looking, limit: Limit = 100) -> BatchList:
    """List the last batches of questions at services."""
    return BatchList.model_construct(batches=[BatchShape.of(one) for one in client.batches(limit=limit)])


@router.get("/tasks/{task_id}/batches", responses=may_answer(404, 409))
def list_batches_of_task(client: Looking, task_id: TaskId, limit: Limit = 100) -> BatchList:
    """List the last batches with questions of a task."""
    return BatchList.model_construct(batches=[BatchShape.of(one) for one in client.batches(task_id, limit=limit)])


@router.post("/tasks/{task_id}/lane", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def set_lane(client: Looking, task_id: TaskId, wish: LaneRequest) -> TaskShape:
    """Ask the models for the rest of a task live, or in batches at a lower price."""
    return TaskShape.of(client.set_lane(task_id, wish.lane))
