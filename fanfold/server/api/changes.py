"""Lists the changes of a task whose items change texts, and decides about all that fit a filter."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.model.decision import DecisionVerdict
from fanfold.model.views.changes import ChangeFilter
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.tasks import MAY_CHANGE, TaskId
from fanfold.server.changes import flat_list
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["changes"])
State = Literal["", "open", "accept", "reject", "replace"]
Kind = Literal["", "insert", "delete", "replace"]
Topic = Literal["", "space", "punctuation", "words"]
Words = Annotated[Text, Query(max_length=200)]


class ChangeShape(BaseModel):
    """One change of a text: where it is, what it does, and what a person decided."""

    item: str = Field(description="Key of the item.")
    part: str = Field(description="Key of the change, for decisions.")
    state: str = Field(description="`open`, or the verdict of a person.")
    kind: str = Field(description="`insert`, `delete` or `replace`.")
    topic: str = Field(description="`space`, `punctuation` or `words`.")
    origin: str = Field(description="`rule:NAME` or `model:NAME`.")
    chapter: str
    paragraph: str
    left: str = Field(description="A few characters before it.")
    before: str
    after: str
    right: str
    replacement: JsonValue = Field(description="The text that a person wrote instead; null if none.")
    decided_by: str | None
    decided_at: str | None


class ChangeList(BaseModel):
    """Changes in the order of the text."""

    changes: list[ChangeShape]
    next: str | None = Field(description="Pass it as `after` to get the next page; null at the end.")


class ChangesRequest(BaseModel):
    """A decision about all changes that fit; an empty text is no condition."""

    verdict: Literal["accept", "reject", "undo"]
    state: State = ""
    kind: Kind = ""
    topic: Topic = ""
    origin: Text = Field(default="", max_length=200)
    chapter: Text = Field(default="", max_length=200)
    text: Text = Field(default="", max_length=200)

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"verdict": "reject", "origin": "dashes"}]}
    )


class Decided(BaseModel):
    """How many changes were decided about."""

    decided: int


@router.get("/tasks/{task_id}/changes", responses=may_answer(404, 409))
def list_changes(
    client: Looking,
    task_id: TaskId,
    state: State = "",
    kind: Kind = "",
    topic: Topic = "",
    origin: Words = "",
    chapter: Words = "",
    text: Words = "",
    after: Annotated[Text, Query(max_length=40, description="The `next` of the previous page.")] = "",
    limit: Annotated[int, Query(ge=1, le=10_000)] = 200,
) -> ChangeList:
    """List the changes of a text in whole paragraphs, so that a page may have a few more than `limit`."""
    wanted = ChangeFilter(state, kind, topic, origin, chapter, text)
    found, last = flat_list.changes(client, client.get(task_id).id, wanted, after, limit)
    shapes = [ChangeShape.model_construct(**one.as_dict()) for one in found]
    return ChangeList.model_construct(changes=shapes, next=last or None)


@router.post("/tasks/{task_id}/changes/decide", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def decide_changes(client: Looking, task_id: TaskId, wish: ChangesRequest) -> Decided:
    """Accept or reject all changes that fit, or undo decisions about them; the result is then merged once."""
    wanted = ChangeFilter(**wish.model_dump(exclude={"verdict"}))
    verdict = DecisionVerdict(wish.verdict)
    return Decided(decided=flat_list.decide_all(client, client.get(task_id).id, wanted, verdict))
