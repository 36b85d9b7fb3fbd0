"""Handles form posts that steer a task. The client carries out each command and enforces the rules."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from fastapi import Form, Request
from starlette.responses import Response

from fanfold.engine.client import Client
from fanfold.errors import BadInput
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.server.api.shapes.shared_shapes import Command
from fanfold.server.api.tasks import carry_out
from fanfold.server.requests.authentication import Changing, Looking
from fanfold.server.threads.database_threads import Router
from fanfold.server.web.frame.command_answer import answered
from fanfold.server.web.frame.positions import keys_at
from fanfold.server.web.task.failures import keys_of
from fanfold.server.web.task.task_header import has_items

router = Router()
AGAIN = {
    "failed": (ItemState.FAILED,),
    "all": (ItemState.DONE, ItemState.FAILED, ItemState.RETRYING, ItemState.WAITING),
}
"""States in which selected items are redone; pending and running ones are left alone."""
UNDONE = (ItemState.PENDING, ItemState.FAILED, ItemState.RETRYING, ItemState.WAITING)
MOST = 10_000
HANDED_BACK_SECONDS = 3.0
"""Longest wait for running items to be handed back before switching models."""
POLL_SECONDS = 0.05
Field = Annotated[str, Form(max_length=1_000)]


@router.post("/tasks/{task_id}/retry")
def retry(
    request: Request,
    client: Looking,
    access: Changing,
    task_id: str,
    item: Annotated[list[str], Form(max_length=10_000)] = [],  # noqa: B006
    stage: Field = "",
    positions: Annotated[str, Form(max_length=200_000)] = "",
    which: Annotated[Literal["failed", "all"], Form()] = "all",
    group: Annotated[str, Form(max_length=64)] = "",
    provider: Field = "",
    model: Field = "",
    degraded: Annotated[bool, Form()] = False,
) -> Response:
    """Redo failed, named, selected or degraded items, or those of one failure group, optionally with another model."""
    if degraded and client.get(task_id).unaccepted:
        client.retry(task_id, degraded=True, options=said(provider, model) or None)
        return answered(request, task_id)
    keys: list[str] = list(item)
    if degraded:
        stage, keys = _accepted(client, task_id)
    if positions:
        keys = keys_at(client, task_id, stage, positions, AGAIN[which])
    elif group:
        stage, keys = keys_of(client, task_id, group)
    elif (provider or model) and not keys:
        keys = _failed(client, task_id, stage)
    if (positions or group) and not keys:
        raise BadInput(say("items_not_retried"))
    client.retry(task_id, keys or None, stage=stage or None, options=said(provider, model) or None)
    return answered(request, task_id)


@router.post("/tasks/{task_id}/accept")
def accept(
    request: Request,
    client: Looking,
    access: Changing,
    task_id: str,
    item: Annotated[list[str], Form(max_length=10_000)] = [],  # noqa: B006
    stage: Field = "",
) -> Response:
    """Accept degraded results: all of them, or the named items."""
    client.accept(task_id, item or None, stage=stage or None)
    return answered(request, task_id)


@router.post("/tasks/{task_id}/resume")
def resume(
    request: Request, client: Looking, access: Changing, task_id: str, provider: Field = "", model: Field = ""
) -> Response:
    """Resume, optionally with another model for everything not done yet."""
    task = client.get(task_id)
    go_on_with(client, task, said(provider, model))
    return answered(request, task.id)


@router.post("/tasks/{task_id}/switch")
def switch(
    request: Request, client: Looking, access: Changing, task_id: str, provider: Field = "", model: Field = ""
) -> Response:
    """Switch to another model now, for example during a long outage: pause and resume in one step."""
    options = said(provider, model)
    if not options:
        raise BadInput(say("choose_model"))
    if client.get(task_id).open >= MOST:
        raise BadInput(say("too_many_undone", most=MOST))
    task = client.pause(task_id)
    until = time.monotonic() + HANDED_BACK_SECONDS
    # Only items that no worker holds can get another model; workers hand back the rest within a moment.
    while client.items(task.id, states=[ItemState.RUNNING], limit=1) and time.monotonic() < until:
        time.sleep(POLL_SECONDS)
    go_on_with(client, task, options)
    return answered(request, task.id)


def go_on_with(client: Client, task: Task, options: dict[str, Any]) -> None:
    """Resume a paused task, applying the options to everything not done yet."""
    if options and has_items(task):
        open_ones = client.items(task.id, states=UNDONE, limit=MOST)
        if len(open_ones) == MOST:
            raise BadInput(say("too_many_undone", most=MOST))
        if open_ones:
            client.retry(task.id, [one.key for one in open_ones], stage=open_ones[0].stage, options=options)
    client.resume(task.id)


@router.post("/tasks/{task_id}/budget")
def raise_budget(
    request: Request, client: Looking, access: Changing, task_id: str, by: Annotated[str, Form(max_length=20)]
) -> Response:
    """Raise the budget of a task by an amount in dollars; a task that was paused because of it resumes."""
    client.raise_budget(task_id, by=by)
    return answered(request, task_id)


@router.post("/tasks/{task_id}/external/{verb}")
def decide(
    request: Request,
    client: Looking,
    access: Changing,
    task_id: str,
    verb: Literal["check", "lost", "resend"],
    item: Annotated[list[str], Form(max_length=10_000)] = [],  # noqa: B006
    stage: Field = "",
) -> Response:
    """Resolve external jobs with an unknown outcome."""
    client.external(task_id, verb, item or None, stage=stage or None)
    return answered(request, task_id)


@router.post("/tasks/{task_id}/lane")
def set_lane(
    request: Request,
    client: Looking,
    access: Changing,
    task_id: str,
    lane: Annotated[Literal["live", "batch", "auto"], Form()],
) -> Response:
    """Change how the rest of a task asks its models."""
    client.set_lane(task_id, lane)
    return answered(request, task_id)


def said(provider: str, model: str) -> dict[str, Any]:
    """The options for another model."""
    return {name: value.strip() for name, value in (("provider", provider), ("model", model)) if value.strip()}


@router.post("/tasks/{task_id}/{command}")
def steer(
    request: Request, client: Looking, access: Changing, task_id: str, command: Command, reason: Field = ""
) -> Response:
    """Carry out one command for the whole task."""
    carry_out(client, task_id, command, reason.strip() or None)
    return answered(request, task_id, gone=command == "delete")


def _accepted(client: Client, task_id: str) -> tuple[str, list[str]]:
    """The first stage with accepted degraded items, and their keys, for a person who retries them after all."""
    for stage in client.get(task_id).stages:
        if found := client.items(task_id, stage=stage.name, degraded=True, limit=MOST):
            return stage.name, [one.key for one in found]
    raise BadInput("There are no degraded results left.")


def _failed(client: Client, task_id: str, stage: str) -> list[str]:
    """Keys of all failed items of a stage: only named items can get another model."""
    states = [ItemState.FAILED]
    found = client.items(task_id, stage=stage or None, states=states, limit=10_000)
    return [one.key for one in found]
