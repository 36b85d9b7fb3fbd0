"""Lists and makes people's decisions about parts of results."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from fanfold.engine.tasks.steering.decide import KEY_LENGTH
from fanfold.model.decision import PART_LENGTH, Decision, DecisionVerdict, NewDecision
from fanfold.server.api.documented import may_answer
from fanfold.server.api.items import Stage
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import MAY_CHANGE, TaskId
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["decisions"])
MOST_AT_ONCE = 10_000
ItemKey = Annotated[Text, Field(min_length=1, max_length=KEY_LENGTH)]
PartKey = Annotated[Text, Field(min_length=1, max_length=PART_LENGTH)]


class DecisionShape(BaseModel):
    """A decision: who decided what about which part, and when."""

    number: int = Field(description="Sequence number within the task; the cursor of the list.")
    stage: str
    item: str
    part: str
    verdict: DecisionVerdict
    value: JsonValue = Field(description="Replacement of the part; null if the part is removed or not replaced.")
    actor: str
    at: datetime

    @classmethod
    def of(cls, decision: Decision) -> DecisionShape:
        """The decision as JSON."""
        return cls.model_construct(**shallow(decision))


class DecisionList(BaseModel):
    """Decisions in the order they were made."""

    decisions: list[DecisionShape]
    next: int | None = Field(description="Pass it as `after` to get the next page; null at the end.")


class DecisionRequest(BaseModel):
    """A decision about one part of an item's output."""

    item: ItemKey = Field(description="Key of the item.")
    part: PartKey = Field(description="Key of the part, derived from its content by the application.")
    verdict: DecisionVerdict = Field(description="`undo` withdraws the decision about this part.")
    value: JsonValue = Field(default=None, description="With `replace`: the replacement; null removes the part.")
    stage: Text | None = Field(default=None, max_length=63)

    model_config = ConfigDict(extra="forbid")


class DecisionsRequest(BaseModel):
    """Decisions made together: all of them, or none if one cannot be made."""

    decisions: list[DecisionRequest] = Field(min_length=1, max_length=MOST_AT_ONCE)
    stage: Text | None = Field(
        default=None, max_length=63, description="Stage of the items; by default the one the last merge reads."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "decisions": [
                        {"item": "p17", "part": "1f0c64a2b9d37e5510ac", "verdict": "reject"},
                        {"item": "p17", "part": "77a0c1d2e3f405162738", "verdict": "replace", "value": "the"},
                    ]
                }
            ]
        },
    )


@router.get("/tasks/{task_id}/decisions", responses=may_answer(404, 409))
def list_decisions(
    client: Looking,
    task_id: TaskId,
    stage: Stage = None,
    item: Annotated[Text | None, Query(max_length=KEY_LENGTH)] = None,
    part: Annotated[Text | None, Query(max_length=PART_LENGTH)] = None,
    verdict: DecisionVerdict | None = None,
    history: Annotated[bool, Query(description="Include decisions that were undone or replaced later.")] = False,
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="The `next` of the previous page.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> DecisionList:
    """List the latest decision on each part of a task's results."""
    found = client.decisions(
        task_id, stage=stage, item=item, part=part, verdict=verdict, history=history, after=after, limit=limit
    )
    shapes = [DecisionShape.of(one) for one in found]
    return DecisionList.model_construct(decisions=shapes, next=found[-1].number if len(found) == limit else None)


@router.post("/tasks/{task_id}/decisions", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def decide(client: Looking, task_id: TaskId, wish: DecisionsRequest) -> TaskShape:
    """Accept, reject or replace parts of results, or undo that; the last merge then runs once for all of them.

    No item is redone. A decision equal to the last one on the same part changes nothing.
    """
    wanted = [NewDecision(one.item, one.part, one.verdict, one.value, one.stage) for one in wish.decisions]
    return TaskShape.of(client.decide_many(task_id, wanted, stage=wish.stage))
