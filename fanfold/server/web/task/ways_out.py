"""What helps a task that failed: the same again, other options, another model, or only another file."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.engine.client import Client
from fanfold.engine.queries.page import PageQueries
from fanfold.model.lifecycle import TaskState
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.model.text.sentences import Sentence
from fanfold.model.values.files import File
from fanfold.server.web.task.task_header import failed_items, has_items, is_each

MOST = 50
"""With more failed items than this nothing is looked up: a retry is offered as usual."""
POISON = "poison"
"""The code of an item that died with its process: it fails without using up its tries, and may do better elsewhere."""
WAITS_LONG = ("service_since", "waits_since")
"""The sentences that say for how long a task has been waiting for a service."""


@dataclass(frozen=True)
class WayOut:
    """What may help a task that failed, as far as the page knows."""

    same: bool = True
    """Trying the same again: not when everything that failed says that this is no use."""
    options: bool = False
    """Other options: the application declares them for what failed, or does not say what its options help with."""
    file: bool = False
    """Another file, when nothing else does."""


USUAL = WayOut()


def way_out(client: Client, task: Task) -> WayOut:
    """What may help: read from what failed, if that is little."""
    pipeline = client.pipelines.get(task.pipeline)
    is_over = task.state in (TaskState.FAILED, TaskState.PARTIAL)
    if pipeline is None or not is_over or not 0 < failed_items(task) <= MOST:
        return USUAL
    found = PageQueries(client.lookup).failed_items(task.id, MOST)
    if not found or any(not is_final(pipeline, task, *one) for one in found):
        return USUAL
    options = options_help(pipeline, {code for _, code, _ in found})
    return WayOut(False, options, not options and any(isinstance(value, File) for value in task.inputs))


def is_final(pipeline: Pipeline, task: Task, stage: str, code: str, failures: int) -> bool:
    """Whether an item failed though it had tries left: its handler said that trying again is no use.

    A model may answer otherwise when it is asked again, so this says nothing about items that models are asked for.
    """
    known = pipeline.find(stage)
    if known is None or code == POISON or (is_each(task, stage) and "provider" in pipeline.options):
        return False
    limit = known.retry.limit if task.retry_limit is None else task.retry_limit
    return 0 < failures <= limit


def options_help(pipeline: Pipeline, codes: set[str]) -> bool:
    """Whether an option is declared for one of these failures; options that are not declared may help with anything."""
    if not pipeline.declared:
        return bool(pipeline.options)
    return any(codes & set(option.helps) for option in pipeline.declared.values())


def may_switch(client: Client, task: Task) -> bool:
    """Whether a task has been waiting for a service for so long that another model should be offered."""
    pipeline = client.pipelines.get(task.pipeline)
    waits = isinstance(task.needs_you, Sentence) and task.needs_you.code in WAITS_LONG
    asks = pipeline is not None and "provider" in pipeline.options
    return task.state is TaskState.ACTIVE and waits and asks and has_items(task)
