"""Merges a task in this process after decisions if no worker serves it: only the merge and the steps after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fanfold.engine.installed import find_installed
from fanfold.engine.tasks.recovery.sweep import recover
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.signals import heeded
from fanfold.model.lifecycle import TaskState
from fanfold.model.plan import Kind
from fanfold.running.one import RunWatcher
from fanfold.running.terminal.display import Display
from fanfold.running.terminal.exit_codes import Exit

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.pipelines.pipeline import Pipeline
    from fanfold.model.task import Task

INTERRUPTED = "Interrupted; the decisions are stored, and a worker or the next decision will merge them"


def stages_to_merge(task: Task) -> list[str]:
    """The last merge stage and the steps after it; empty if the task is not active or has not reached that merge."""
    names = [stage.name for stage in task.stages]
    merges = [stage.name for stage in task.stages if stage.kind == Kind.MERGE]
    if task.state is not TaskState.ACTIVE or not merges or task.stage not in names[names.index(merges[-1]) :]:
        return []
    return names[names.index(merges[-1]) :]


def is_served(client: Client, task: Task) -> bool:
    """Whether a live worker serves the task's current stage."""
    return any((task.pipeline, task.stage) in worker.serves for worker in client.workers() if worker.alive)


def known_pipeline(client: Client, task: Task) -> Pipeline | None:
    """The task's pipeline, if it was named or is installed."""
    return client.pipelines.get(task.pipeline) or find_installed(task.pipeline)


def merge_here(client: Client, task: Task, pipeline: Pipeline, shown: Display) -> Task:
    """Merge in this process until the task is no longer active. Raises KeyboardInterrupt if a signal comes first."""
    recover(client.store, "decide")
    with client.store.read() as tx:
        number = tx.tasks.resolve(task.id).number
    worker = Worker([pipeline], store=client.store, stages=stages_to_merge(task), name="decide", only={number})
    watcher = RunWatcher(client, task, shown, worker)
    watcher.start()
    try:
        with heeded(watcher.interrupt):
            worker.run(exit_code=Exit.INTERRUPTED)
    finally:
        watcher.leave()
        shown.close()
    if watcher.problem is not None:
        raise watcher.problem
    if watcher.task is None or (watcher.task.state is TaskState.ACTIVE and not watcher.task.stalled):
        raise KeyboardInterrupt(INTERRUPTED)
    return watcher.task
