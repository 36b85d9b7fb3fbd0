"""Estimates the cost of a task for the client: without any call, or from a sample of items processed for real."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fanfold.engine.discovery import beside_service
from fanfold.engine.tasks.steering.set_sample import set_sample
from fanfold.engine.tasks.submitting import inputs as given
from fanfold.engine.tasks.submitting.option_checks import check_options
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.unpack import unpacked
from fanfold.engine.templates import with_templates
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import HandlerError, IllegalMove
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.estimates import Estimate, EstimateWork, Sample
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.plan import Kind
from fanfold.model.task import Task, TaskRow
from fanfold.model.text.sentences import say
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.client import Client

log = logging.getLogger("fanfold.estimate")
MOST_AT_ONCE = 10
"""Most items of a sample that this process works on at the same time."""


def estimate_task(client: Client, pipeline: Pipeline, wanted: Submission) -> Estimate:
    """Estimate the cost of a task from what its pipeline declares or has cost before; nothing is submitted."""
    wanted = replace(wanted, options=with_templates(client.store, pipeline, wanted.options)[0])
    check_options(pipeline, wanted.options)
    inputs = given.check(wanted.inputs, text_is_path=not (pipeline.calls_with_arguments or wanted.literal))
    items = None if wanted.items is None else list(wanted.items)
    children = _ChildRunner(client.store.settings)
    try:
        with unpacked(client.store, pipeline, inputs) as found:
            work = EstimateWork(found, items, dict(wanted.options), children.run)
            made: Estimate = beside_service("ask", "estimate")(client.store, pipeline, work)
        return made
    except HandlerError as problem:
        why = say("estimate_failed", why=problem.message)
        unknown: Estimate = beside_service("ask", "UNKNOWN")
        return replace(unknown, why=why, items=None if items is None else len(items))
    finally:
        children.close()


def estimate_sample(client: Client, pipeline: Pipeline, task: Task, count: int) -> Estimate:
    """Process the first ``count`` items of a task in this process, and extrapolate; their results are kept.

    The task is paused afterwards. Workers beside this process may help, but none takes more than the sample.
    """
    number = client.lookup.row(task.id).number
    if task.done + task.failed < count:
        set_sample(client.store, client.pipelines | {pipeline.name: pipeline}, number, count, client.actor)
    if client.get(task.id).state is TaskState.ACTIVE:
        at_once = min(count, MOST_AT_ONCE)
        worker = Worker([pipeline], store=client.store, concurrency=at_once, name="sample", only={number})
        worker.run(until=_stopping(worker, client, task.id), signals=True)
        _pause(client, task.id)
    return extrapolate(client, task.id)


def extrapolate(client: Client, task_id: str) -> Estimate:
    """Estimate the cost of a task from what its items have cost so far."""
    task, row = client.get(task_id), client.lookup.row(task_id)
    with client.store.read() as tx:
        stage, later = _sampled(row)
        rows, over = tx.costs.of_task(row.number), task.done + task.failed
        free, begun = over - tx.costs.asking_items(row.number, stage), tx.costs.of_stage(row.number, stage)[1]
    model = task.spending.model or ""
    sample = Sample(stage, later, task.total, over, max(0, free), model, failed=task.failed, begun=begun)
    made: Estimate = beside_service("ask", "extrapolated")(rows, sample)
    return replace(made, task=task.id)


def _sampled(row: TaskRow) -> tuple[str, list[str]]:
    """The stage whose items were sampled, and the stages after it, which may ask models too."""
    names = [stage.name for stage in row.plan.stages]
    at = names.index(row.stage) if row.stage in names else len(names) - 1
    while at > 0 and row.plan.stages[at].kind is not Kind.EACH:
        at -= 1  # All items are done, and the task has moved on.
    return names[at], names[at + 1 :]


def _stopping(worker: Worker, client: Client, task_id: str) -> Callable[[], bool]:
    """Stops the worker when the task is paused or stalled. Running items are paid for, so they are waited for."""
    is_told = False

    def look() -> bool:
        nonlocal is_told
        task = client.get(task_id)
        if not is_told and (task.state is not TaskState.ACTIVE or task.stalled):
            is_told = True
            worker.stop()
        return False

    return look


def _pause(client: Client, task_id: str) -> None:
    """Pause a task whose sample was interrupted, until somebody resumes it."""
    task = client.get(task_id)
    if task.state is TaskState.ACTIVE:
        try:
            client.pause(task_id, say("sampled", count=task.done + task.failed, total=task.total))
        except IllegalMove:
            log.debug("Task %s has moved on by itself", task_id)


class _ChildRunner:
    """Runs functions of applications in a child process, started when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._children: Children | None = None

    def run(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """The function's result."""
        if self._children is None:
            self._children = Children(self.settings, at_once=1)
        child = self._children.take()
        try:
            return child.run(function, arguments, named)
        finally:
            self._children.discard(child)

    def close(self) -> None:
        """End the child."""
        if self._children is not None:
            self._children.close()
