"""Finds what may help a failed task: a plain retry, other options, another model, or only another file."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.model.text.sentences import Sentence
from fanfold.model.values.files import File
from fanfold.server.web.task.task_header import failed_items, has_items, is_each

MOST = 50
"""Most failed items to examine; with more, a plain retry is offered."""
POISON = "poison"
"""Code of an item that crashed its process: it fails with attempts left, and may succeed elsewhere."""
WAITS_LONG = ("service_since", "waits_since")
"""Codes of messages that say how long a task has been waiting for a service."""


@dataclass(frozen=True)
class WayOut:
    """What may help a failed task, as far as the page knows."""

    same: bool = True
    """A plain retry; not if every failure says that it is pointless."""
    options: bool = False
    """Other options: the application declares them for these failures, or declares nothing."""
    file: bool = False
    """Another file, if nothing else helps."""


USUAL = WayOut()


def way_out(client: Client, task: Task) -> WayOut:
    """What may help, judged by the failed items if there are few."""
    pipeline = client.pipelines.get(task.pipeline)
    is_over = task.state in (TaskState.FAILED, TaskState.PARTIAL)
    if pipeline is None or not is_over or not 0 < failed_items(task) <= MOST:
        return USUAL
    found = WebQueries(client.lookup).failed_items(task.id, MOST)
    if not found or any(not is_final(pipeline, task, *one) for one in found):
        return USUAL
    options = options_help(pipeline, {code for _, code, _ in found})
    return WayOut(False, options, not options and any(isinstance(value, File) for value in task.inputs))


def is_final(pipeline: Pipeline, task: Task, stage: str, code: str, failures: int) -> bool:
    """Whether an item failed with attempts left, because its handler said that a retry is pointless.

    A model may answer differently next time, so this does not apply to items that call models.
    """
    known = pipeline.find(stage)
    if known is None or code == POISON or (is_each(task, stage) and "provider" in pipeline.options):
        return False
    limit = known.retry.limit if task.retry_limit is None else task.retry_limit
    return 0 < failures <= limit


def options_help(pipeline: Pipeline, codes: set[str]) -> bool:
    """Whether an option is declared to help with one of these failures; undeclared options may help with anything."""
    if not pipeline.declared:
        return bool(pipeline.options)
    return any(codes & set(option.helps) for option in pipeline.declared.values())


def may_switch(client: Client, task: Task) -> bool:
    """Whether a task has waited long enough for a service to offer another model."""
    pipeline = client.pipelines.get(task.pipeline)
    waits = isinstance(task.needs_you, Sentence) and task.needs_you.code in WAITS_LONG
    asks = pipeline is not None and "provider" in pipeline.options
    return task.state is TaskState.ACTIVE and waits and asks and has_items(task)
