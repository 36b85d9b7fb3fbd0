"""Runs the actions of applications in the caller's thread, outside transactions.

An action is not durable: if the process dies halfway, what it did so far stays, and no event records it. For durable effects,
an action uses the commands of the client (retry, merge), which the workers carry out.
"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.engine.make_form import FormWork, pipeline_of
from fanfold.errors import ActionFailed, FanfoldError, HandlerError, IllegalMove, NotFound
from fanfold.model.pipelines.actions import Action
from fanfold.model.pipelines.options import read_options
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.store.store import Transaction

if TYPE_CHECKING:
    from fanfold.engine.client import Client

log = logging.getLogger("fanfold.actions")
VERB = "do"


class ActionWork(FormWork):
    """The input of an action: the task, its results, the action's options, and the commands of the client."""

    def __init__(self, client: Client, task: Task, scratch: Path, options: dict[str, Any]) -> None:
        super().__init__(client, task, scratch)
        self.client = self._client
        """Its commands are recorded under the same person: ``work.client.retry(work.task.id, …)``."""
        self.options = options
        """The options of the action, checked, with defaults."""
        self.actor = client.actor
        """The person who asked for it."""


@dataclass(frozen=True)
class ActionOutcome:
    """The result of an action: its message, and the current task, or None if the action deleted it."""

    action: str
    message: str
    task: Task | None


def offered(client: Client, task: Task) -> list[Action]:
    """The actions available now; none if the pipeline's code is not known here."""
    pipeline = client.pipelines.get(task.pipeline)
    return [one for one in pipeline.actions.values() if task.state in one.states] if pipeline is not None else []


def act(client: Client, task_id: str, name: str, given: dict[str, Any] | None = None) -> ActionOutcome:
    """Run an action; its outcome, good or bad, is recorded as an event with the person who asked."""
    task = client.get(task_id)
    action = find(client, task, name)
    options = read_options(action.options, given or {})
    if task.state not in action.states:
        raise IllegalMove(
            say("action_needs_state", task=task.id, state=task.word, action=name, states=action.states),
            available_commands=task.available_commands,
        )
    number = client.lookup.row(task.id).number
    try:
        message = _called(action, client, task, options)
    except FanfoldError as problem:
        _keep(client, number, say("action_failed_event", action=name, why=problem.message))
        raise
    _keep(client, number, say("because", what=name, why=message) if message else name)
    try:
        return ActionOutcome(name, message, client.get(task.id))
    except NotFound:
        return ActionOutcome(name, message, None)


def find(client: Client, task: Task, name: str) -> Action:
    """The action with this name; NotFound lists the existing ones."""
    actions = pipeline_of(client, task, say("action_not_taken", action=name)).actions
    if name not in actions:
        none = say("no_actions", pipeline=task.pipeline, action=name[:100])
        others = say("no_action", pipeline=task.pipeline, action=name[:100], known=list(actions))
        raise NotFound(others if actions else none, code="no_action")
    return actions[name]


def _called(action: Action, client: Client, task: Task, options: dict[str, Any]) -> str:
    with tempfile.TemporaryDirectory(prefix="fanfold-action-") as folder:
        try:
            said = action.run(ActionWork(client, task, Path(folder), options))
        except FanfoldError:
            raise
        except HandlerError as problem:
            raise ActionFailed(say("action_failed", action=action.name, task=task.id, why=problem.message)) from problem
        except Exception as error:
            log.info("[actions] The action %s of task %s failed.", action.name, task.id, exc_info=error)
            text = " ".join(str(error).split())[:300]
            why = type(error).__name__ + (f": {text}" if text else "")
            raise ActionFailed(say("action_failed", action=action.name, task=task.id, why=why)) from error
    if said is not None and not isinstance(said, str):
        raise ActionFailed(say("action_returned", action=action.name, type=type(said).__name__))
    return said or ""


def _keep(client: Client, number: int, reason: str) -> None:
    """Record the outcome, unless the action deleted the task."""

    def add(tx: Transaction) -> None:
        if tx.tasks.lock(number) is not None:
            tx.events.add([{"task": number, "actor": client.actor, "verb": VERB, "reason": reason}])

    client.store.transact(add)
