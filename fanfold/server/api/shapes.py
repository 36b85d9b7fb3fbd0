"""Request and response models with examples, as shown in the OpenAPI description."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.tasks.submitting.submission import LONGEST_DELAY, TITLE_LENGTH
from fanfold.model.item import Attempt, Item, ItemDetail, Result
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.batch import LaneCounts
from fanfold.model.money.questions import Spending
from fanfold.model.task import StageView, Task
from fanfold.model.text.sentences import Sentence
from fanfold.model.values.files import File
from fanfold.server.requests.adapted_messages import neutral, without_commands
from fanfold.server.requests.hiding import without_secrets

API = "/api/v1"
Command = Literal["pause", "resume", "cancel", "retry", "accept", "rerun", "merge", "delete"]
TASK_ID = "t-8hk2mq"
Text = Annotated[str, Field(pattern=r"^[^\x00]*$")]
"""Text that every database can store and compare: anything without NUL."""


class Said(BaseModel):
    """Code and parameters of a message, for programs and other languages. A parameter may be a message itself."""

    code: str
    parameters: dict[str, JsonValue]

    @classmethod
    def of(cls, text: str | None) -> Said | None:
        """Code and parameters of a text, if it has them."""
        return cls(code=text.code, parameters=dict(text.parameters)) if isinstance(text, Sentence) else None


def said_in(sentences: dict[str, Any]) -> dict[str, Said]:
    """Codes and parameters of a record's texts."""
    return {name: Said.model_construct(**known) for name, known in sentences.items()}


SENTENCES: Any = Field(default={}, description="Codes and parameters of Fanfold's own texts, by field.")


class Problem(BaseModel):
    """An error: a stable code, a fact and a way out."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    sentence: Said | None = Field(default=None, description="Code and parameters of the detail, if it has them.")
    available_commands: list[str] = Field(
        default=[], description="With `illegal_move` and `task_stopped`: the commands possible instead."
    )

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not possible now",
                    "status": 409,
                    "detail": f"Task {TASK_ID} is completed: pause needs an active task.",
                    "code": "illegal_move",
                    "available_commands": ["merge", "rerun", "delete"],
                }
            ]
        },
    )


class TaskShape(BaseModel):
    """A task as people see it: status, progress and available commands."""

    id: str
    pipeline: str
    title: str
    state: TaskState
    word: str = Field(
        description="Its state in the words of its application: `pending`, `splitting`, `ready to merge` …"
    )
    status: str = Field(description="The same as `word`.")
    phase: str = Field(description="Current phase of the work, in the words of its application.")
    item_words: dict[str, str] = Field(
        description="The application's names for item states, if they differ from the states themselves."
    )
    stage: str
    stages: list[StageView]
    progress: float = Field(description="From 0 to 100; it only decreases after a retry.")
    message: str | None
    total: int
    done: int
    failed: int
    open: int
    options: dict[str, JsonValue]
    metadata: dict[str, JsonValue]
    owner: str
    priority: int
    tags: list[str]
    key: str | None
    retries: int
    retry_limit: int | None
    wait_reason: str | None = Field(
        description="Why nothing happens right now, or what waits for a person; otherwise null."
    )
    available_commands: list[str]
    error_code: str | None
    error_message: str | None
    missing: int
    created_at: datetime
    updated_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    inputs: list[JsonValue]
    spending: Spending
    batched: LaneCounts = Field(description="Questions in the batch lane, while some of its items wait.")
    degraded: int = Field(description="Number of items that are done but degraded.")
    accepted: int = Field(description="Number of these that a person has accepted.")
    still_running: str | None = Field(
        description="That a handler was told to stop and runs on in a worker, where nobody can end it; otherwise null."
    )
    needs_you: str | None = Field(description="Why a person should look at it; null if nobody needs to.")
    held: int = Field(description="Number of items of its stage that wait for a person; `wait_reason` says why.")
    cursor: str = Field(description="Its position in the list, for `after`; stays valid if the task is deleted.")
    start_at: datetime | None = Field(description="When it starts, if it was submitted for later; null once it has.")
    parent: str | None = Field(description="Id of the task that it is a subtask of; otherwise null.")
    parent_stage: str | None = Field(description="The stage of the item that submitted it.")
    parent_item: str | None = Field(description="The key of the item that submitted it.")
    subtasks: dict[str, int] = Field(description="How many subtasks it has, by state.")
    asks: dict[str, JsonValue] | None = Field(
        description="What it asks at the gate where it waits, as a JSON Schema: give the `answer` to resume; otherwise null."
    )
    counted: str = Field(
        description="Stage counted by `total`, `done`, `failed` and `open`; the split until there are items."
    )
    sentences: dict[str, Said] = SENTENCES

    @classmethod
    def of(cls, task: Task) -> TaskShape:
        """The task as JSON, with files as links."""
        known = shallow(neutral(task))
        known |= {name: without_secrets(plain(known[name], task.id)) for name in ("options", "metadata", "inputs")}
        known["sentences"] = said_in(known["sentences"])
        return cls.model_construct(**known)


class TaskList(BaseModel):
    """Tasks, newest first."""

    tasks: list[TaskShape]
    next: str | None = Field(description="Give it as `after` to get the next ones; null at the end.")


class ItemList(BaseModel):
    """Items in order."""

    items: list[Item]
    next: str | None = Field(description="Give it as `after` to get the next ones; null at the end.")


class ItemShape(BaseModel):
    """An item with everything stored about it."""

    item: Item
    input: JsonValue
    output: JsonValue
    options: dict[str, JsonValue]
    previous: JsonValue = Field(description="Its previous output, as long as that is stored.")
    previous_model: str | None
    made_by: str | None
    error_detail: str | None
    attempts: list[Attempt]
    before: str | None
    after: str | None

    @classmethod
    def of(cls, detail: ItemDetail, task_id: str) -> ItemShape:
        """The item as JSON, with files as links."""
        known = shallow(detail)
        known |= {name: plain(known[name], task_id) for name in ("input", "output", "options", "previous")}
        known["options"] = without_secrets(known["options"])
        known |= {"item": neutral(detail.item), "attempts": [neutral(attempt) for attempt in detail.attempts]}
        return cls.model_construct(**known)


class Failure(BaseModel):
    """Items that failed for the same reason."""

    stage: str
    code: str
    message: str
    count: int
    sentence: Said | None = None

    @classmethod
    def of(cls, stage: str, code: str, message: str, count: int) -> Failure:
        """A group of failures as JSON."""
        said = without_commands(message)
        return cls(stage=stage, code=code, message=str(said), count=count, sentence=Said.of(said))


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

    items: list[Text] = Field(default=[], max_length=10_000)
    stage: Text | None = None
    degraded: bool = Field(default=False, description="Redo only the degraded items.")
    options: dict[str, JsonValue] = Field(default={}, description="Override the task's own options for these items.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"items": ["17"], "options": {"provider": "openai", "model": "gpt-5.4"}}]},
    )


class AcceptRequest(BaseModel):
    """The degraded results to accept: all of them, or those of the named items."""

    items: list[Text] = Field(default=[], max_length=10_000)
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


def shallow(record: Any) -> dict[str, Any]:
    """The fields of a record, with tuples as lists for JSON."""
    known = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in known.items()}


def plain(value: Any, task_id: str) -> Any:
    """A value as JSON; a file becomes its name, size and URL."""
    if isinstance(value, File):
        return {"name": value.name, "size": value.size, "url": file_url(value, task_id)}
    if isinstance(value, dict):
        return {str(key): plain(inner, task_id) for key, inner in value.items()}
    if isinstance(value, Result):
        return plain(neutral(value)._asdict(), task_id)
    if isinstance(value, list | tuple | set):
        return [plain(inner, task_id) for inner in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), task_id) for field in fields(value)}
    return value


def file_url(file: File, task_id: str) -> str:
    """URL of a task's file."""
    return f"{API}/tasks/{task_id}/files/{quote(file.key.rpartition('/')[2])}"
