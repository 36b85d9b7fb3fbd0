"""Routes for schedules: add, list, pause, run and remove them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.tasks.submitting.submission import TITLE_LENGTH
from fanfold.model.schedule import CRON_LENGTH, CatchUp, Overlap, RunOutcome, Schedule
from fanfold.model.text.sentences import say
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_requests import GivenFile
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.submitting import check_endings, given, new_item, pipeline_of
from fanfold.server.api.tasks import MAY_CHANGE
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import Asking, At, Looking, NotAllowed
from fanfold.server.threads.database_threads import Router, making, writing

router = Router(tags=["schedules"])
Name = Annotated[Text, Path(max_length=100)]


class RunShape(BaseModel):
    """What became of one due time."""

    due_at: datetime
    outcome: RunOutcome
    task: str | None = Field(description="Its task, which may have been deleted since.")
    reason: str | None
    actor: str
    at: datetime


class ScheduleShape(BaseModel):
    """A schedule with its latest runs."""

    name: str
    cron: str
    zone: str
    pipeline: str
    owner: str
    overlap: Overlap
    catch_up: CatchUp
    paused: bool
    next_at: datetime | None
    queued_at: datetime | None = Field(description="Due time of a run that waits for the one before it to end.")
    actor: str
    created_at: datetime
    title: str | None
    options: dict[str, JsonValue]
    tags: list[str]
    priority: int
    budget: float | None = Field(description="What the calls of each task to models may cost, in US dollars.")
    runs: list[RunShape]

    @classmethod
    def of(cls, schedule: Schedule) -> ScheduleShape:
        """The schedule as JSON."""
        known = {name: value for name, value in shallow(schedule).items() if name in cls.model_fields}
        runs = [
            RunShape(
                due_at=run.due_at,
                outcome=run.outcome,
                task=run.task,
                reason=None if run.reason is None else str(without_commands(run.reason)),
                actor=run.actor,
                at=run.at,
            )
            for run in schedule.runs
        ]
        return cls.model_construct(**known | {"runs": runs, "tags": list(schedule.tags)})


class NewSchedule(BaseModel):
    """A schedule to add."""

    cron: Text = Field(max_length=CRON_LENGTH, description="Minute, hour, day, month, weekday.")
    zone: Text = Field(default="UTC", max_length=100, description="IANA time zone of the expression.")
    pipeline: Text = Field(description="Name of one of the server's pipelines.")
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.ONE
    inputs: list[JsonValue] = Field(default=[], max_length=1000)
    files: list[GivenFile] = Field(
        default=[], max_length=1000, description="Kept with the schedule; each task gets a copy."
    )
    items: list[JsonValue] | None = None
    options: dict[str, JsonValue] = {}
    title: Text | None = Field(default=None, max_length=TITLE_LENGTH)
    priority: int = Field(default=0, gt=-(2**31), lt=2**31, strict=True)
    tags: list[Text] = Field(default=[], max_length=100)
    owner: Text | None = None
    straight_through: bool = False
    budget: float | Text | None = Field(
        default=None, description="What the calls of each task to models may cost, in US dollars."
    )
    strict_budget: bool = Field(default=False, description="Reserve the most that each call can cost.")
    allow_unknown_cost: bool = Field(default=False, description="Ask models even if their price is unknown.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"cron": "0 3 * * *", "zone": "Europe/Berlin", "pipeline": "demo"}]},
    )


@router.get("/schedules", responses=may_answer())
def list_schedules(client: Looking, limit: Annotated[int, Query(ge=1, le=1000)] = 1000) -> list[ScheduleShape]:
    """List the schedules, each with its latest run."""
    return [ScheduleShape.of(one) for one in client.schedules.list(limit=limit)]


@router.get("/schedules/{name}", responses=may_answer(404))
def get_schedule(client: Looking, name: Name, runs: Annotated[int, Query(ge=0, le=200)] = 20) -> ScheduleShape:
    """Get a schedule with its latest runs."""
    return ScheduleShape.of(client.schedules.get(name, runs=runs))


@router.get("/schedules/{name}/next", responses=may_answer(404))
def get_next_times(client: Looking, name: Name, count: Annotated[int, Query(ge=1, le=1000)] = 5) -> list[datetime]:
    """List the next due times."""
    return client.schedules.next_times(name, count)


@router.put("/schedules/{name}", status_code=201, responses=may_answer(404), dependencies=MAY_CHANGE)
async def add_schedule(client: Looking, access: Asking, place: At, name: Name, wish: NewSchedule) -> ScheduleShape:
    """Add a schedule. A name that is taken is refused."""
    if wish.owner is not None and not access.sees_all and wish.owner != access.owner:
        raise NotAllowed(say("owner_not_allowed", token=access.name, owner=access.owner, wanted=wish.owner))
    pipeline = pipeline_of(place, wish.pipeline)
    files = [given(file) for file in wish.files]
    check_endings(pipeline, files)
    added = await making(
        client.schedules.add, name, wish.cron, pipeline, *wish.inputs, *files, zone=wish.zone, overlap=wish.overlap,
        catch_up=wish.catch_up, items=None if wish.items is None else [new_item(one) for one in wish.items],
        options=wish.options, title=wish.title, priority=wish.priority, tags=wish.tags, owner=wish.owner,
        straight_through=wish.straight_through, literal=True, budget=wish.budget, strict_budget=wish.strict_budget,
        allow_unknown_cost=wish.allow_unknown_cost,
    )  # fmt: skip
    return ScheduleShape.of(added)


@router.post("/schedules/{name}/pause", responses=may_answer(404), dependencies=MAY_CHANGE)
def pause_schedule(client: Looking, name: Name) -> ScheduleShape:
    """Submit nothing until it is resumed."""
    return ScheduleShape.of(client.schedules.pause(name))


@router.post("/schedules/{name}/resume", responses=may_answer(404), dependencies=MAY_CHANGE)
def resume_schedule(client: Looking, name: Name) -> ScheduleShape:
    """Continue with the next due time."""
    return ScheduleShape.of(client.schedules.resume(name))


@router.post("/schedules/{name}/run", status_code=201, responses=may_answer(402, 404), dependencies=MAY_CHANGE)
async def run_schedule(client: Looking, name: Name) -> TaskShape:
    """Submit its task now; its due times do not change."""
    return TaskShape.of(await writing(client.schedules.run, name))


@router.delete("/schedules/{name}", status_code=204, responses=may_answer(404), dependencies=MAY_CHANGE)
def remove_schedule(client: Looking, name: Name) -> None:
    """Remove a schedule. Its tasks stay."""
    client.schedules.remove(name)
