"""Routes for budgets of tasks: what may be spent, what is spent, and raising it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from fanfold.model.money.budgets import Budget
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import shallow
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_shapes import TaskShape
from fanfold.server.api.tasks import MAY_CHANGE, TaskId
from fanfold.server.requests.authentication import Looking
from fanfold.server.threads.database_threads import Router

router = Router(tags=["money"])


class BudgetShape(BaseModel):
    """What a task may spend on models, in US dollars."""

    cap: float | None = Field(description="What may be spent; null where the task has no budget.")
    spent: float
    reserved: float = Field(description="Reserved for calls in flight.")
    unknown: float = Field(description="Reserved for calls without an answer, which the service may have charged.")
    unpriced: int = Field(description="Calls whose price is not known.")
    strict: bool
    allow_unknown_cost: bool
    projected: float | None = Field(description="What it will have spent at its end, as far as can be told.")
    left: float | None

    @classmethod
    def of(cls, budget: Budget) -> BudgetShape:
        """The budget as JSON."""
        return cls.model_construct(**shallow(budget), left=budget.left)


class BudgetRequest(BaseModel):
    """Raise the budget by an amount, or set it to one, in US dollars. Null leaves a rule unchanged."""

    by: float | Text | None = None
    to: float | Text | None = None
    strict: bool | None = None
    allow_unknown_cost: bool | None = None

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"by": 2.0}, {"to": 10.0}]})


@router.get("/tasks/{task_id}/budget", responses=may_answer(404, 409))
def get_budget(client: Looking, task_id: TaskId) -> BudgetShape:
    """Get what a task may spend, has spent, and has reserved."""
    return BudgetShape.of(client.budget(task_id))


@router.patch("/tasks/{task_id}/budget", responses=may_answer(404, 409), dependencies=MAY_CHANGE)
def change_budget(client: Looking, task_id: TaskId, wish: BudgetRequest) -> TaskShape:
    """Raise or set a budget; a task that was paused because its budget was used up resumes."""
    known = {"strict": wish.strict, "allow_unknown_cost": wish.allow_unknown_cost}
    return TaskShape.of(client.raise_budget(task_id, wish.by, wish.to, **known))
