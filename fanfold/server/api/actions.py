"""Lists and runs the actions that applications define for a task."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.take_action import offered
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Said, Text
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import TaskId, harmless
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import Changing, Looking
from fanfold.server.threads.database_threads import Router, making

router = Router(tags=["actions"])


class ActionShape(BaseModel):
    """An action of an application."""

    name: str
    label: str
    help: str
    states: list[str] = Field(description="Task states in which it is offered.")
    options_schema: dict[str, Any] = Field(description="JSON Schema of its options.")


class ActionRequest(BaseModel):
    """The options of an action."""

    options: dict[str, JsonValue] = {}

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"options": {"note": "read by both"}}]})


class ActionDone(BaseModel):
    """Outcome of an action."""

    action: str
    message: str
    sentence: Said | None = Field(description="Code and parameters of the message, if it has them.")
    task: TaskShape | None = Field(description="The task after the action; null if the action deleted it.")


@router.get("/tasks/{task_id}/actions", responses=may_answer(404, 409))
def list_actions(client: Looking, task_id: TaskId) -> list[ActionShape]:
    """List the actions possible for the task now; empty if the server does not know its pipeline."""
    return [ActionShape(**one.described()) for one in offered(client, client.get(task_id))]


@router.post("/tasks/{task_id}/actions/{name}", responses=may_answer(404, 409, 500))
async def take_action(
    client: Looking, _access: Changing, task_id: TaskId, name: Annotated[Text, Path(max_length=63)], wish: ActionRequest
) -> ActionDone:
    """Run an action in the server now; its outcome is recorded as an event of the task."""
    done = await making(client.do, task_id, name, harmless(wish.options))
    task = TaskShape.of(done.task) if done.task is not None else None
    said = without_commands(done.message)
    return ActionDone.model_construct(action=done.action, message=said, sentence=Said.of(said), task=task)
