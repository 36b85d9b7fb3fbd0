"""Requests about tasks (submit, retry, accept, many at once) and what came of each, for the OpenAPI description."""

from __future__ import annotations

from datetime import datetime

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.tasks.submitting.submission import LONGEST_DELAY, TITLE_LENGTH
from fanfold.model.lifecycle import TaskState
from fanfold.server.api.shapes.shared_shapes import Command, Said, Text
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.requests.adapted_messages import without_commands


class GivenFile(BaseModel):
    """A file given as text or as base64."""

    name: str = Field(min_length=1, max_length=255)
    text: str | None = None
    base64: str | None = None


class NewTask(BaseModel):
    """A task to submit."""

    pipeline: Text = Field(description="Name of one of the server's pipelines.")
    inputs: list[JsonValue] = Field(default=[], max_length=1000, description="Values; never interpreted as paths.")
    files: list[GivenFile] = Field(default=[], max_length=1000, description="Files, added after the inputs.")
    items: list[JsonValue] | None = Field(
        default=None, description="For a pipeline that begins with `each`: values, or objects with `key` and `input`."
    )
    options: dict[str, JsonValue] = {}
    title: Text | None = Field(default=None, max_length=TITLE_LENGTH)
    key: Text | None = Field(
        default=None,
        description="Idempotency key, like the header `Idempotency-Key`: the same key returns the same task.",
    )
    priority: int = Field(default=0, gt=-(2**31), lt=2**31, strict=True)
    tags: list[Text] = Field(default=[], max_length=100)
    owner: Text | None = Field(
        default=None, description="Owner of the task; only callers who see all owners may set it."
    )
    retry_limit: int | None = Field(default=None, ge=0, le=1_000_000, strict=True)
    metadata: dict[str, JsonValue] = {}
    straight_through: bool = Field(default=False, description="Do not stop at gates.")
    budget: float | Text | None = Field(default=None, description="What its calls to models may cost, in US dollars.")
    strict_budget: bool = Field(default=False, description="Reserve the most that each call can cost.")
    allow_unknown_cost: bool = Field(default=False, description="Ask models even if their price is unknown.")
    sample: int = Field(
        default=0,
        ge=0,
        lt=2**31,
        strict=True,
        description="Process only this many items of a stage, then pause; `GET /tasks/ID/estimate` tells the cost of the rest.",
    )

    run_at: AwareDatetime | None = Field(
        default=None, description="When it starts, with a time zone; without it, at once."
    )
    notify: list[Text] = Field(
        default=[], max_length=10, description="Webhooks, by name or URL, to notify about the task."
    )
    delay: float | None = Field(default=None, ge=0, le=LONGEST_DELAY, description="The same, in seconds from now.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"pipeline": "demo", "options": {"items": 12}, "tags": ["trial"]},
                {"pipeline": "translate", "files": [{"name": "novel.txt", "text": "Chapter 1 …"}], "key": "novel-1"},
            ]
        },
    )


class ManyTasks(BaseModel):
    """Tasks to submit at once."""

    tasks: list[NewTask] = Field(min_length=1, max_length=1_000)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"tasks": [{"pipeline": "demo", "key": "a"}, {"pipeline": "demo", "key": "b"}]}]
        },
    )


class WhyRefused(BaseModel):
    """Why a task was not submitted."""

    code: str
    detail: str


class OneSubmitted(BaseModel):
    """One of many submissions: its task, or why it was refused."""

    task: TaskShape | None
    new: bool = Field(description="Whether this submission created the task.")
    refused: WhyRefused | None


class ManySubmitted(BaseModel):
    """The outcome of many submissions, in order."""

    results: list[OneSubmitted]


class Reason(BaseModel):
    """The reason, recorded with the event."""

    reason: Text | None = Field(default=None, max_length=1000)

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "The provider is down"}]})


class ResumeRequest(BaseModel):
    """The answer at a gate that asks; otherwise empty."""

    answer: dict[str, JsonValue] | None = Field(default=None, description="A value for each option of the gate.")
    stage: Text | None = Field(
        default=None, max_length=200, description="Only if the task still waits before this stage; otherwise 409."
    )

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"answer": {"tone": "formal"}}]})


class GateAnswerShape(BaseModel):
    """What a person answered at the gate of a stage, and when. The latest answer at a gate counts."""

    stage: str
    answer: dict[str, JsonValue]
    actor: str
    at: datetime


class RetryRequest(BaseModel):
    """What to redo: everything that failed, the named items (even done ones), or the degraded ones."""

    items: list[Text] | None = Field(
        default=None, max_length=10_000, description="Redo these items; left out: all that failed. Never empty."
    )
    stage: Text | None = None
    degraded: bool = Field(default=False, description="Redo only the degraded items.")
    options: dict[str, JsonValue] = Field(default={}, description="Override the task's own options for these items.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"items": ["17"], "options": {"provider": "openai", "model": "gpt-5.4"}}]},
    )


class AcceptRequest(BaseModel):
    """The degraded results to accept: all of them, or those of the named items."""

    items: list[Text] | None = Field(
        default=None, max_length=10_000, description="Accept these items; left out: all degraded ones. Never empty."
    )
    stage: Text | None = None
    reason: Text | None = Field(default=None, max_length=1000)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"items": ["17"], "reason": "The text layer is good enough"}]}
    )


class BulkRequest(BaseModel):
    """One command for many tasks: the named ones, or those that match the filter."""

    command: Command
    tasks: list[Text] = Field(default=[], max_length=1000)
    states: list[TaskState] = []
    pipeline: Text | None = None
    tag: Text | None = None
    text: Text | None = None
    dry_run: bool = Field(default=False, description="Only report what would happen.")
    reason: Text | None = Field(default=None, max_length=1000)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"command": "pause", "states": ["active"], "dry_run": True}]}
    )


class Refused(BaseModel):
    """A task for which a command was, or would be, refused."""

    id: str
    reason: str
    sentence: Said | None = None

    @classmethod
    def of(cls, task_id: str, reason: str) -> Refused:
        """A refusal as JSON."""
        said = without_commands(reason)
        return cls.model_construct(id=task_id, reason=said, sentence=Said.of(said))


class BulkReport(BaseModel):
    """The tasks for which the command was, or would be, carried out."""

    command: Command
    dry_run: bool
    done: list[str]
    refused: list[Refused]
    more: bool = Field(
        default=False, description="Whether the filter matches more than the 1000 tasks handled at once."
    )
