"""Starts the tasks of sources, or continues those of an earlier run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from fanfold.engine.tasks.submitting import inputs
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submit_many import submit_many
from fanfold.errors import FanfoldError, HandlerError, KeyReused
from fanfold.model.shortage import told
from fanfold.model.task import Task, TaskRow
from fanfold.running.many_files.earlier_runs import go_on, is_done, leave
from fanfold.running.many_files.many import Document, FileCommand, Run

TROUBLE = (OSError, FanfoldError, HandlerError, ValueError)
"""Errors that concern one source only."""


def begin_all(run: Run, documents: Sequence[Document]) -> None:
    """Start the tasks of some sources, those without an earlier task in one transaction. Sets ``problem`` where that fails."""
    alone = run.secret is not None or run.fresh
    before = {} if alone else _before(run, documents)
    new: list[tuple[Document, Submission]] = []
    for document in documents:
        try:
            if alone:
                begin(run, document)
            elif document.key in before:
                _continued(run, document, before[document.key])
            elif document.key is not None:
                new.append((document, _submission(run, document, document.path, document.key)))
        except TROUBLE as problem:
            document.problem = _said(problem)
    if new:
        _begin_new(run, new)


def _before(run: Run, documents: Sequence[Document]) -> dict[str, TaskRow]:
    """The tasks of earlier runs, by key. A source that cannot be read gets its problem."""
    for document in documents:
        try:
            document.key = document.key or key_of(run.command, document)
        except OSError as problem:
            document.problem = _said(problem)
    keys = [document.key for document in documents if document.key is not None]
    with run.client.store.read() as tx:
        return tx.tasks.by_keys("", keys)


def _begin_new(run: Run, new: Sequence[tuple[Document, Submission]]) -> None:
    store, pipeline = run.client.store, run.command.pipeline
    made = submit_many(store, pipeline, [wanted for _, wanted in new])
    for (document, wanted), row in zip(new, made, strict=True):
        try:
            if isinstance(row, KeyReused):
                row = _other(run, wanted.key or "", row)
            if isinstance(row, Exception):
                raise row
            _followed(run, document, row)  # Its state is read with those of the others.
        except TROUBLE as problem:
            document.problem = _said(problem)


def begin(run: Run, document: Document, sample: int = 0) -> Task:
    """The task of a source: a new one, or that of an earlier run, made ready to resume; with ``sample``, as it is."""
    with ExitStack() as used:
        source = _prepared(run, document.path, used)
        key = key_of(run.command, document, prepared=source != document.path)
        with run.client.store.read() as tx:
            before = tx.tasks.by_key("", key)
        if before is not None and run.fresh:
            leave(run.client, before)
        # The key is made from the content, so a task with this key is the right one.
        elif before is not None:
            return (
                _noted(run, document, before, run.client.get(before.id))
                if sample
                else _continued(run, document, before)
            )
        wanted = _submission(run, document, source, key, sample)
        [row] = submit_many(run.client.store, run.command.pipeline, [wanted])
        if isinstance(row, KeyReused):
            row = _other(run, key, row)
        if isinstance(row, Exception):
            raise row
        return _noted(run, document, row, run.client.get(row.id))


def _continued(run: Run, document: Document, before: TaskRow) -> Task:
    """The task of an earlier run, with its remaining items to be done."""
    task = _noted(run, document, before, run.client.get(before.id))
    document.was_done_before = is_done(task)
    document.task = go_on(run.client, task, run.budget)
    return document.task


def _noted(run: Run, document: Document, row: TaskRow, task: Task) -> Task:
    document.task = task
    _followed(run, document, row)
    return task


def _followed(run: Run, document: Document, row: TaskRow) -> None:
    document.number = row.number
    run.tasks.add(row.number)


def _other(run: Run, key: str, problem: KeyReused) -> TaskRow:
    """The task that another process has just submitted with this key, for the same content."""
    with run.client.store.read() as tx:
        found = tx.tasks.by_key("", key)
    if found is None:
        raise problem
    return found


def key_of(command: FileCommand, document: Document, *, prepared: bool = False) -> str:
    """Idempotency key: the same content with the same options finds the same task."""
    # An unlocked copy is a different file from the one that could not be read.
    kind = f"{command.name}-unlocked:" if prepared else f"{command.name}:"
    return kind + inputs.fingerprint(command.pipeline.name, [document.path], document.options)


def _submission(run: Run, document: Document, source: Path, key: str, sample: int = 0) -> Submission:
    options = document.options | ({"fresh": f"{time.time_ns():x}"} if run.fresh else {})
    return Submission(
        [source], options=options, key=key, budget=run.budget, actor=run.client.actor,
        title=inputs.shown_name(document.path), metadata={"source": document.name}, sample=sample,
        straight_through=run.command.straight_through,
    )  # fmt: skip


def _prepared(run: Run, path: Path, used: ExitStack) -> Path:
    """A copy of the source that needs no secret, if one was given, so that the secret is not stored with the task.

    The copy is in the data folder: if this process dies, workers remove old scratch files there.
    """
    if run.secret is None or run.children is None or run.command.prepare is None:
        return path
    home = run.client.store.scratch
    home.mkdir(parents=True, exist_ok=True)
    scratch = used.enter_context(tempfile.TemporaryDirectory(prefix="unlocked-", dir=home))
    target = Path(scratch) / inputs.shown_name(path)
    child = run.children.take()
    try:
        child.run(run.command.prepare, (path, run.secret, target), {"name": inputs.shown_name(path)})
    except BaseException:
        run.children.discard(child)
        raise
    run.children.give_back(child)
    return target


def _said(problem: Exception) -> str:
    if isinstance(problem, OSError):
        return told(problem) or f"cannot be read: {problem.strerror or problem}"
    return str(problem)
