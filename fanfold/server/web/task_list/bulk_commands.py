"""What would happen to all of them? One command for many tasks: first a preview, then the same tasks for real."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Form, Request
from starlette.responses import HTMLResponse

from fanfold.errors import BadInput
from fanfold.model.task import Task
from fanfold.model.values.questions import Spending, money
from fanfold.model.words import ACCEPT
from fanfold.server.api.shapes import BulkWish, Command, Text
from fanfold.server.api.tasks import MOST_AT_ONCE, bulk, filtered, named
from fanfold.server.requests.access import Access, Changing, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.languages import Words, language_of
from fanfold.server.web.frame.templating import fragment, page
from fanfold.server.web.task.task_header import LABELS, failed_items
from fanfold.server.web.task_list.list_filter import Filtered, ListFilter, known

router = Router()
COMMANDS = ("retry", "resume", "merge", "accept", "pause", "cancel", "rerun", "delete")
"""The most useful first: the first that is possible for what is selected is proposed."""
SHOWN = 8
Ids = Annotated[list[Annotated[Text, Form(max_length=64)]], Form(max_length=MOST_AT_ONCE)]
Said = Annotated[str, Form(max_length=500)]


@dataclass(frozen=True)
class Refusal:
    """Why some of the tasks are left alone."""

    reason: str
    tasks: list[Task]

    @property
    def number(self) -> int:
        """How many."""
        return len(self.tasks)


@dataclass(frozen=True)
class Preview:
    """What a command would do: to which tasks, to how many of their items, at what cost, and who is left alone."""

    command: str
    able: list[Task]
    refused: list[Refusal]
    items: int
    cost: str
    more: bool


@router.get("/bulk/possible")
def possible(access: Changing, client: Looking, wanted: Filtered) -> dict[str, int]:
    """For how many of the tasks that the filter has each command is possible; those that are for none are left out."""
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
    """What the command would do to the chosen tasks, or to all that the filter has."""
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
    """Do it, to the tasks that were previewed; one that refuses does not keep the others from it."""
    report = bulk(client, BulkWish(command=command, tasks=task))
    answer = answered(request, access, "_bulk_report.html", report=report)
    answer.headers["hx-trigger"] = "fanfold:changed"
    return answer


def previewed(command: str, tasks: Sequence[Task], t: Words, *, more: bool = False) -> Preview:
    """Who would do it and who would not, from what each task says is possible now."""
    able = [task for task in tasks if command in task.plain_commands]
    reasons: dict[str, list[Task]] = {}
    for task in tasks:
        if command not in task.plain_commands:
            reasons.setdefault(reason(task, command, t), []).append(task)
    return Preview(
        command,
        able,
        [Refusal(why, which) for why, which in reasons.items()],
        sum(items_again(task, command) for task in able),
        cost_of([(task, items_again(task, command)) for task in able]),
        more,
    )


def items_again(task: Task, command: str) -> int:
    """How many items of a task the command has done once more."""
    return failed_items(task) if command == "retry" else task.total if command == "rerun" else 0


def reason(task: Task, command: str, t: Words) -> str:
    """Why the command is not possible for a task."""
    if command == "retry" and not failed_items(task):
        return t("nothing in it has failed")
    if command == ACCEPT:
        return t("nothing in it is by fallback, or it is accepted")
    return t("it is {state}", state=t(task.status))


def cost_of(again: Sequence[tuple[Task, int]]) -> str:
    """What so many items of each task will cost, by what its done ones have cost; nothing when that is not known."""
    cost = sum(task.spending.cost / task.done * items for task, items in again if task.done and task.spending.cost)
    return money(Spending(calls=1, cost=cost)) if cost else ""


def answered(request: Request, access: Access, name: str, **values: Any) -> HTMLResponse:
    """A fragment for the dialog; a whole page for a browser without scripts."""
    if "hx-request" in request.headers:
        return HTMLResponse(
            fragment(name, Words(language_of(request)), shown=SHOWN, whole=False, command_words=LABELS, **values)
        )
    return page(request, "bulk.html", access, part=name, shown=SHOWN, whole=True, command_words=LABELS, **values)
