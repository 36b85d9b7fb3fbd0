"""Skips sources that are already done, with one query per 200 sources and no worker."""

from __future__ import annotations

from collections.abc import Sequence

from fanfold.engine.queries.task_view import view
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task
from fanfold.running.many_files.beginning import key_of
from fanfold.running.many_files.many import Document, Run

AT_ONCE = 200
"""Sources looked up in one query."""


def pass_over(run: Run, documents: Sequence[Document]) -> list[Document]:
    """Conclude the sources that are done; return the rest in order."""
    if run.fresh or run.secret is not None:
        return list(documents)
    left: list[Document] = []
    for start in range(0, len(documents), AT_ONCE):
        some = documents[start : start + AT_ONCE]
        keys = [_key(run, document) for document in some]
        done = _done(run, [key for key in keys if key is not None])
        for document, key in zip(some, keys, strict=True):
            if key is None or key not in done:
                left.append(document)
                continue
            document.task, document.was_done_before = done[key], True
            if not _stands(run, document, done[key]):
                from fanfold.running.many_files.concluding import conclude

                conclude(run, document)
            run.finish(document)
    return left


def _key(run: Run, document: Document) -> str | None:
    try:
        document.key = key_of(run.command, document)
        return document.key
    except OSError:
        return None  # The error is reported when the source is processed.


def _done(run: Run, keys: list[str]) -> dict[str, Task]:
    """Tasks completed without a failed item, by key."""
    with run.client.store.read() as tx:
        rows = {key: row for key, row in tx.tasks.by_keys("", keys).items() if row.state is TaskState.COMPLETED}
        tasks = view(run.client.store, tx, list(rows.values()))
    return {key: task for key, task in zip(rows, tasks, strict=True) if not task.failed}


def _stands(run: Run, document: Document, task: Task) -> bool:
    """Whether the saved result is unchanged, so that its items need not be read or reported."""
    plain = run.brief and not task.degraded and not run.command.apart(document.options)
    if not plain or document.target is None:
        return False
    return run.saving.stands(document.target, document.path, f"{task.id} {task.finished_at}")
