"""Runs one command for many tasks: first a preview, then the command for the same tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form, Request
from starlette.responses import HTMLResponse

from fanfold.errors import BadInput
from fanfold.model.money.questions import Spending, money
from fanfold.model.task import Task
from fanfold.model.words import ACCEPT
from fanfold.server.api.shapes.shared_shapes import Command, Text
from fanfold.server.api.shapes.task_requests import BulkRequest
from fanfold.server.api.tasks import MOST_AT_ONCE, bulk, filtered, named
from fanfold.server.requests.authentication import Access, Changing, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.server.web.task.task_header import LABELS, failed_items
from fanfold.server.web.task_list.list_filter import Filtered, ListFilter, known

router = Router()
COMMANDS = ("retry", "resume", "merge", "accept", "pause", "cancel", "rerun", "delete")
"""Most useful first; the first one possible for the selection is preselected."""
SHOWN = 8
Ids = Annotated[list[Annotated[Text, Form(max_length=64)]], Form(max_length=MOST_AT_ONCE)]
Said = Annotated[str, Form(max_length=500)]


@dataclass(frozen=True)
class LeftAlone:
    """Why some of the tasks are left alone."""

    reason: str
    tasks: list[Task]

    @property
    def number(self) -> int:
        """Number of these tasks."""
        return len(self.tasks)


@dataclass(frozen=True)
class Preview:
    """Effect of a command: tasks, number of items, cost, and tasks left alone."""

    command: str
    able: list[Task]
    refused: list[LeftAlone]
    items: int
    cost: str
    more: bool


@router.get("/bulk/possible")
def possible(access: Changing, client: Looking, wanted: Filtered) -> dict[str, int]:
    """Number of matching tasks for which each command is possible, without commands possible for none."""
    found = filtered(client, **wanted.asking()).tasks
    counts = {command: sum(command in task.plain_commands for task in found) for command in COMMANDS}
    return {command: many for command, many in counts.items() if many}


@router.post("/bulk/preview")
def preview(
    request: Request,
    access: Changing,
    client: Looking,
    command: Annotated[Command, Form()],
    task: Ids = [],  # noqa: B006
    every: Said = "",
    show: Said = "all",
    pipeline: Said = "",
    owner: Said = "",
    tag: Said = "",
    text: Said = "",
) -> HTMLResponse:
    """Preview the command for the selected tasks, or for all that match the filter."""
    wanted = known(ListFilter(show, pipeline, owner, tag, text))
    found = filtered(client, **wanted.asking()) if every else named(client, task)
    if not found.tasks:
        raise BadInput("Choose at least one task first.")
    made = previewed(command, found.tasks, Words(language_of(request)), more=found.more)
    return answered(request, access, "_bulk.html", preview=made)


@router.post("/bulk")
def carry_out_all(
    request: Request, access: Changing, client: Looking, command: Annotated[Command, Form()], task: Ids
) -> HTMLResponse:
    """Carry out the command for the previewed tasks; a refusal does not affect the others."""
    report = bulk(client, BulkRequest(command=command, tasks=task))
    answer = answered(request, access, "_bulk_report.html", report=report)
    answer.headers["hx-trigger"] = "fanfold:changed"
    return answer


def previewed(command: str, tasks: Sequence[Task], t: Words, *, more: bool = False) -> Preview:
    """Split the tasks by whether the command is possible now."""
    able = [task for task in tasks if command in task.plain_commands]
    reasons: dict[str, list[Task]] = {}
    for task in tasks:
        if command not in task.plain_commands:
            reasons.setdefault(reason(task, command, t), []).append(task)
    return Preview(
        command,
        able,
        [LeftAlone(why, which) for why, which in reasons.items()],
        sum(items_again(task, command) for task in able),
        cost_of([(task, items_again(task, command)) for task in able]),
        more,
    )


def items_again(task: Task, command: str) -> int:
    """Number of a task's items that the command would redo."""
    return failed_items(task) if command == "retry" else task.total if command == "rerun" else 0


def reason(task: Task, command: str, t: Words) -> str:
    """Why the command is not possible for a task."""
    if command == "retry" and not failed_items(task):
        return t("nothing has failed")
    if command == ACCEPT:
        return t("it has no degraded results that still need accepting")
    return t("it is {state}", state=t.status(task))


def cost_of(again: Sequence[tuple[Task, int]]) -> str:
    """Estimated cost of these items per task, from the cost of finished ones; empty if unknown."""
    cost = sum(task.spending.cost / task.done * items for task, items in again if task.done and task.spending.cost)
    return money(Spending(calls=1, cost=cost)) if cost else ""


def answered(request: Request, access: Access, name: str, **values: Any) -> HTMLResponse:
    """A fragment for the dialog; a whole page for a browser without scripts."""
    if "hx-request" in request.headers:
        return HTMLResponse(
            fragment(name, Words(language_of(request)), shown=SHOWN, whole=False, command_words=LABELS, **values)
        )
    return page(request, "bulk.html", access, part=name, shown=SHOWN, whole=True, command_words=LABELS, **values)
