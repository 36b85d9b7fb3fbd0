"""Lists external jobs and resolves those with an unknown outcome."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Body
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.client import Client
from fanfold.model.awaited.external import ExternalJob, JobState
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import plain, shallow
from fanfold.server.api.shapes.shared_shapes import SENTENCES, Said, Text, said_in
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import MAY_CHANGE, TaskId
from fanfold.server.requests.adapted_messages import neutral
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["tasks"])


class ExternalShape(BaseModel):
    """An external job and its idempotency key."""

    item: str
    stage: str
    name: str
    state: JobState
    key: str
    job: JsonValue = Field(description="Id assigned by the service; null while unknown.")
    intended_at: datetime
    updated_at: datetime
    held: str | None = Field(description="Why its item waits for a person; null if it does not.")
    sentences: dict[str, Said] = SENTENCES

    @classmethod
    def of(cls, job: ExternalJob, task_id: str) -> ExternalShape:
        """The job as JSON."""
        known = shallow(neutral(job))
        known |= {"job": plain(job.job, task_id), "sentences": said_in(known["sentences"])}
        return cls.model_construct(**known)


class ExternalList(BaseModel):
    """External jobs in item order."""

    jobs: list[ExternalShape]


class ExternalRequest(BaseModel):
    """The jobs to act on, and the reason."""

    items: list[Text] | None = Field(
        default=None, max_length=10_000, description="Only jobs of these items; left out: all. Never empty."
    )
    stage: Text | None = None
    reason: Annotated[Text | None, Field(max_length=1_000)] = None

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"items": ["17"], "reason": "it is not in their list"}]}
    )


NO_REQUEST = Body(default_factory=ExternalRequest)


@router.get("/tasks/{task_id}/external", responses=may_answer(404, 409))
def list_external_jobs(client: Looking, task_id: TaskId) -> ExternalList:
    """List the external jobs of a task."""
    task = client.get(task_id)
    return ExternalList.model_construct(jobs=[ExternalShape.of(job, task.id) for job in client.external_jobs(task.id)])


def decided(client: Client, task_id: str, verb: str, wish: ExternalRequest) -> TaskShape:
    """The task after the decision."""
    return TaskShape.of(client.external(task_id, verb, wish.items, stage=wish.stage, reason=wish.reason))


@router.post("/tasks/{task_id}/external/check", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def check_external_jobs(client: Looking, task_id: TaskId, wish: ExternalRequest = NO_REQUEST) -> TaskShape:
    """Query the service about external jobs again now."""
    return decided(client, task_id, "check", wish)


@router.post("/tasks/{task_id}/external/lost", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def give_up_external_jobs(client: Looking, task_id: TaskId, wish: ExternalRequest = NO_REQUEST) -> TaskShape:
    """Mark jobs with an unknown outcome, or those of the named items, as lost; new ones start with new keys."""
    return decided(client, task_id, "lost", wish)


@router.post("/tasks/{task_id}/external/resend", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def resend_external_jobs(client: Looking, task_id: TaskId, wish: ExternalRequest = NO_REQUEST) -> TaskShape:
    """Send jobs with an unknown outcome again with the same keys, for services that remove duplicates."""
    return decided(client, task_id, "resend", wish)
