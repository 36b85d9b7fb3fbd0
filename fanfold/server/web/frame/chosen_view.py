"""The view that a task's application has chosen."""

from __future__ import annotations

from collections.abc import Mapping

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task


def view_of(pipelines: Mapping[str, Pipeline], task: Task) -> str:
    """The view chosen by the task's application; empty if the server does not know the pipeline."""
    pipeline = pipelines.get(task.pipeline)
    return pipeline.view if pipeline is not None else ""
