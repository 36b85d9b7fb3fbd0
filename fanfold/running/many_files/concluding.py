"""Saves the result of a source, or records why there is none."""

from __future__ import annotations

from fanfold.engine.queries.results.outputs import OutputQueries
from fanfold.errors import FanfoldError
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.questions import money
from fanfold.running.many_files.many import Document, Run


def conclude(run: Run, document: Document) -> None:
    """Save the result, or record why there is none and what it cost."""
    task = document.task
    assert task is not None
    if task.state is not TaskState.COMPLETED:
        document.problem = _reason(run, document)
        if task.spending:
            document.problem = f"{document.problem.rstrip('.')} ({money(task.spending)})"
        return
    outputs = OutputQueries(run.client.lookup)
    row = document.row or run.client.lookup.row(task.id)
    for result in outputs.results_of(row):
        if run.command.made_by is not None:
            document.engines[run.command.made_by(result.output)] += 1
        if result.degraded is not None:
            document.degraded[result.key] = result.degraded
    if document.target is None:
        return
    try:
        stamp = f"{task.id} {task.finished_at}"
        placed = run.command.place(outputs.result_of(row), document.target)
        saved = run.saving.save(placed, document.target, document.path, again=document.was_done_before, stamp=stamp)
        document.moved, document.left = saved.moved, saved.left
    except FanfoldError as problem:
        document.problem = str(problem)


def _reason(run: Run, document: Document) -> str:
    task = document.task
    assert task is not None
    why = task.error_message or task.wait_reason or f"it is {task.status}"
    if not task.failed:
        return why
    [(_, _, first, _), *_] = run.client.failures(task.id) or [("", "", why, 0)]
    units = run.command.pipeline.unit[1]
    return f"all {task.failed} {units} failed: {first}" if task.failed > 1 else first
