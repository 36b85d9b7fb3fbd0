"""Tasks, items and failures as the API answers with them, for the OpenAPI description."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field, JsonValue

from fanfold.model.item import Attempt, Item, ItemDetail
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.batch import LaneCounts
from fanfold.model.money.questions import Spending
from fanfold.model.task import StageView, Task
from fanfold.server.api.shapes.json_values import plain, shallow
from fanfold.server.api.shapes.shared_shapes import SENTENCES, Said, said_in
from fanfold.server.requests.adapted_messages import neutral, without_commands
from fanfold.server.requests.hiding import without_secrets


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
    changed_subtasks: str | None = Field(
        description="That subtasks were redone after their results were used here, and the way out; null in lists."
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
