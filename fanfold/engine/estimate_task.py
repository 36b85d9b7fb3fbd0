"""Estimates the cost of a task for the client: without any call, or from a sample of items that are processed for real."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fanfold.engine.discovery import beside_service
from fanfold.engine.tasks.submitting import inputs as given
from fanfold.engine.tasks.submitting.option_checks import check_options
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import HandlerError, IllegalMove
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.model.values.estimates import Estimate, EstimateWork
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.client import Client


def estimate_task(client: Client, pipeline: Pipeline, wanted: Submission) -> Estimate:
    """What a task will cost, from what its pipeline declares or has cost before; nothing is submitted."""
    check_options(pipeline, wanted.options)
    inputs = given.check(wanted.inputs, text_is_path=not (pipeline.calls_with_arguments or wanted.literal))
    items = None if wanted.items is None else list(wanted.items)
    children = _ChildRunner(client.store.settings)
    work = EstimateWork(inputs, items, dict(wanted.options), children.run)
    try:
        made: Estimate = beside_service("ask", "estimate")(client.store, pipeline, work)
        return made
    except HandlerError as problem:
        why = say("estimate_failed", why=problem.message)
        unknown: Estimate = beside_service("ask", "UNKNOWN")
        return replace(unknown, why=why, items=None if items is None else len(items))
    finally:
        children.close()


def estimate_sample(client: Client, pipeline: Pipeline, task: Task, count: int) -> Estimate:
    """Process so many items of a task here and now, pause it, and extrapolate; their results are kept.

    One item more may be done, as a worker takes the next when it hands in the last.
    """
    number = client.lookup.row(task.id).number
    if task.state is TaskState.PAUSED and task.done < count:
        task = client.resume(task.id)
    if task.state is TaskState.ACTIVE:
        worker = Worker([pipeline], store=client.store, concurrency=1, name="sample", only={number})
        worker.run(until=_stopping(worker, client, task.id, count), signals=True)
        task = _paused(client, task.id)
    with client.store.read() as tx:
        rows = tx.costs.of_task(number)
    model = task.spending.model or ""
    made: Estimate = beside_service("ask", "extrapolated")(rows, task.total, task.done + task.failed, model)
    return replace(made, task=task.id)


def _stopping(worker: Worker, client: Client, task_id: str, count: int) -> Callable[[], bool]:
    """Stops the worker when enough items are done. What it has begun by then is paid, so it is waited for."""
    is_told = False

    def look() -> bool:
        nonlocal is_told
        task = client.get(task_id)
        enough = task.total > 0 and task.counts_items and task.done + task.failed >= count
        if not is_told and (enough or task.state is not TaskState.ACTIVE or task.stalled):
            is_told = True
            worker.stop()
        return False

    return look


def _paused(client: Client, task_id: str) -> Task:
    """The task, left alone until somebody resumes it."""
    task = client.get(task_id)
    if task.state is TaskState.ACTIVE:
        try:
            return client.pause(task_id, say("sampled", count=task.done + task.failed, total=task.total))
        except IllegalMove:
            return client.get(task_id)  # It has moved on by itself.
    return task


class _ChildRunner:
    """Runs functions of applications in a child process, which is started when it is needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._children: Children | None = None

    def run(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What the function returns."""
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
