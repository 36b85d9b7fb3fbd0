"""Runs many sources with one worker: a few tasks at a time, in order. Each result is saved as soon as it is ready."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanfold.engine.client import Client
from fanfold.engine.tasks.recovery.sweep import close, recover
from fanfold.engine.tasks.submitting import inputs
from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.processes.children import Children
from fanfold.engine.worker.signals import heeded
from fanfold.errors import DatabaseProblem, FanfoldError, HandlerError, IllegalMove, KeyReused
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.budgets import BudgetWish
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.shortage import told
from fanfold.model.task import Task
from fanfold.running.follow import LostDatabase
from fanfold.running.many_files.earlier_runs import go_on, is_done, leave
from fanfold.running.many_files.saving import Placed, Saving, whole
from fanfold.running.many_files.sources import Endings
from fanfold.running.terminal.display import Display
from fanfold.running.terminal.exit_codes import Exit

AT_ONCE = 8
"""Number of quick sources that run at the same time: enough to keep all slots busy while one ends."""
MOST_AT_ONCE = 64
LONG_SECONDS = 3.0
LOOK_SECONDS = 0.05
SHOW_SECONDS = 0.4
SHOW_SHARE = 20
"""At most 1/20 of the time is spent counting items."""


@dataclass(frozen=True)
class FileCommand:
    """An application's definition of a command that converts files into files."""

    name: str
    """Name as typed, such as `convert`."""
    pipeline: Pipeline
    endings: Endings
    noun: tuple[str, str] = ("document", "documents")
    main: Callable[[Any], Any] = field(default=lambda result: result)
    """Selects the part of a result that goes to standard output."""
    place: Callable[[Any, Path], Placed] = whole
    """Maps a result to its files, given the path of the first one."""
    made_by: Callable[[Any], str] | None = None
    """Names the engine that made an item, from its output; None if engines are not reported."""
    kinds: Callable[[Counter[str]], str] = field(default=lambda _: "")
    """Describes how many items each engine made, or returns nothing."""
    prepare: Callable[..., object] | None = None
    """``prepare(path, secret, target, name=…)`` writes a readable copy of a source, in a child process."""
    apart: Callable[[dict[str, Any]], bool] = field(default=lambda _: False)
    """Whether a result with these options has more than one file, so that comparing the main file is not enough."""
    renewed_by: str = ""
    """Command that writes a saved file again after the task was changed, such as `extract --task {task} -o {file}`; empty if
    the command that saved it is to be repeated."""
    straight_through: bool = True
    """Whether its tasks pass all gates; otherwise the command stops at each, and continues when it is run again."""


@dataclass
class Document:
    """One source, from the command line to its result."""

    path: Path
    target: Path | None
    options: dict[str, Any]
    flags: tuple[str, ...] = ()
    """The command's options as they would be typed again."""
    task: Task | None = None
    problem: str | None = None
    """Why there is no result."""
    moved: list[str] = field(default_factory=list)
    """New names of files that were in the way of the result."""
    left: list[str] = field(default_factory=list)
    """Files of an earlier run left as they are because a person edited them."""
    was_done_before: bool = False
    engines: Counter[str] = field(default_factory=Counter)
    """Number of items made by each engine."""
    degraded: dict[str, str] = field(default_factory=dict)
    """Reasons of degraded items, by key."""
    merged: bool = False
    show_at: float = 0.0
    begun_at: float = 0.0

    @property
    def name(self) -> str:
        """Printable name for display."""
        text = os.fsencode(self.path).decode("utf-8", "replace")
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


@dataclass
class Run:
    """State shared by the sources of one command."""

    command: FileCommand
    client: Client
    saving: Saving
    shown: Display
    fresh: bool = False
    concurrency: int = 8
    children: Children | None = None
    describe: Callable[[FileCommand, Document], str] = field(default=lambda _, document: document.name)
    secret: str | None = None
    budget: BudgetWish | None = None
    """What each source may cost."""
    brief: bool = True
    """Whether to omit the engines of sources that were already done."""
    tasks: set[int] = field(default_factory=set)
    """Numbers of this command's tasks: its worker runs no others."""

    def finish(self, document: Document) -> None:
        """Report the outcome of a source."""
        self.shown.finish(document.name, self.describe(self.command, document))


class Conductor(threading.Thread):
    """Submits sources as others finish, shows and saves them, and stops the worker when all are over."""

    def __init__(self, run: Run, documents: Sequence[Document], worker: Worker) -> None:
        super().__init__(name=run.command.name, daemon=True)
        self.given = run
        self.worker = worker
        self.problem: BaseException | None = None
        self._waiting = deque(documents)
        self._active: list[Document] = []
        self._left = threading.Event()
        self._said = False
        self._lost = LostDatabase(run.shown)
        self.interrupted = threading.Event()

    def run(self) -> None:
        """Run until every source is over or the worker has stopped."""
        try:
            while (self._waiting or self._active) and not self._left.is_set():
                while self._waiting and self._has_room():
                    self._begin(self._waiting.popleft())
                self._look_at_all()
                if self.interrupted.is_set() and not self._said:
                    self._said = True
                    self.given.shown.say("Stopping; interrupt again to stop immediately")
                time.sleep(LOOK_SECONDS)
        except BaseException as problem:
            self.problem = problem
        self.worker.stop()

    def _has_room(self) -> bool:
        """Whether another source may start. Slow sources, such as scans, do not hold up quick ones."""
        now = time.monotonic()
        quick = sum(now - document.begun_at < LONG_SECONDS for document in self._active)
        return quick < AT_ONCE and len(self._active) < MOST_AT_ONCE

    def _look_at_all(self) -> None:
        try:
            for document in list(self._active):
                self._look(document)
            self._lost.found()
        except DatabaseProblem as problem:
            if problem.code != "unreachable":
                raise
            self._lost.note()  # The worker waits for it as well.

    def leave(self) -> None:
        """Stop polling."""
        self._left.set()
        self.join()

    def _begin(self, document: Document) -> None:
        try:
            document.task = begin(self.given, document)
            document.begun_at = time.monotonic()
        except OSError as problem:
            document.problem = told(problem) or f"cannot be read: {problem.strerror or problem}"
        except (FanfoldError, HandlerError, ValueError) as problem:
            document.problem = str(problem)
        if document.problem is not None:
            self.given.finish(document)
            return
        self._active.append(document)
        self.worker.wake()  # It may have polled before this task was on its list.

    def _look(self, document: Document) -> None:
        """Poll one source. Reading its row is cheap; its items are counted only now and then."""
        assert document.task is not None
        client = self.given.client
        now = time.monotonic()
        if now < document.show_at and self._is_active(document.task.id):
            return
        task = document.task = client.get(document.task.id)
        if task.state is TaskState.ACTIVE and not task.stalled:
            document.show_at = now + max(SHOW_SECONDS, (time.monotonic() - now) * SHOW_SHARE)
            self.given.shown.update(task, document.name)
            return
        if task.state is TaskState.PARTIAL and not document.merged:
            document.merged = True
            try:
                client.merge(task.id)
            except IllegalMove:
                pass  # Somebody else has moved it; the next poll shows the new state.
            return
        if task.state is TaskState.WAITING and self.given.command.straight_through:
            client.resume(task.id)  # It was begun with gates, by an earlier command or on the page.
            return
        self._active.remove(document)
        conclude(self.given, document)
        self.given.finish(document)

    def _is_active(self, task_id: str) -> bool:
        with self.given.client.store.read() as tx:
            return tx.tasks.resolve(task_id).state is TaskState.ACTIVE


def begin(run: Run, document: Document, sample: int = 0) -> Task:
    """The task of a source: a new one, or that of an earlier run, made ready to resume; with ``sample``, as it is."""
    client = run.client
    with ExitStack() as used:
        source = _prepared(run, document.path, used)
        key = key_of(run.command, document, prepared=source != document.path)
        with client.store.read() as tx:
            before = tx.tasks.by_key("", key)
        if before is not None and run.fresh:
            leave(client, before)
        # The key is made from the content, so a task with this key is the right one.
        is_known = before is not None and not run.fresh
        task = client.get(before.id) if before and is_known else _submitted(run, document, source, key, sample)
    with client.store.read() as tx:
        run.tasks.add(tx.tasks.resolve(task.id).number)
    if not is_known or sample:
        return task
    document.was_done_before = is_done(task)
    return go_on(client, task, run.budget)


def key_of(command: FileCommand, document: Document, *, prepared: bool = False) -> str:
    """Idempotency key: the same content with the same options finds the same task."""
    # An unlocked copy is a different file from the one that could not be read.
    kind = f"{command.name}-unlocked:" if prepared else f"{command.name}:"
    return kind + inputs.fingerprint(command.pipeline.name, [document.path], document.options)


def _submitted(run: Run, document: Document, source: Path, key: str, sample: int = 0) -> Task:
    """Submit a task for a source, or return the one that another process has just submitted for it."""
    options = document.options | ({"fresh": f"{time.time_ns():x}"} if run.fresh else {})
    try:
        wanted = Submission(
            [source], options=options, key=key, budget=run.budget, actor=run.client.actor,
            title=inputs.shown_name(document.path), metadata={"source": document.name}, sample=sample,
            straight_through=run.command.straight_through,
        )  # fmt: skip
        return run.client.submit_or_find(run.command.pipeline, wanted)[0]
    except KeyReused:
        if (task := run.client.by_key(key, "")) is None:
            raise
        return task


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


def conclude(run: Run, document: Document) -> None:
    """Save the result, or record why there is none."""
    task = document.task
    assert task is not None
    if task.state is not TaskState.COMPLETED:
        document.problem = task.error_message or task.wait_reason or f"it is {task.status}"
        if task.failed:
            [(_, _, why, _), *_] = run.client.failures(task.id) or [("", "", document.problem, 0)]
            units = run.command.pipeline.unit[1]
            document.problem = f"all {task.failed} {units} failed: {why}" if task.failed > 1 else why
        return
    for result in run.client.results(task.id):
        if run.command.made_by is not None:
            document.engines[run.command.made_by(result.output)] += 1
        if result.degraded is not None:
            document.degraded[result.key] = result.degraded
    if document.target is None:
        return
    try:
        stamp = f"{task.id} {task.finished_at}"
        placed = run.command.place(run.client.result(task.id), document.target)
        saved = run.saving.save(placed, document.target, document.path, again=document.was_done_before, stamp=stamp)
        document.moved, document.left = saved.moved, saved.left
    except FanfoldError as problem:
        document.problem = str(problem)


def run_all(run: Run, documents: Sequence[Document]) -> bool:
    """Run all sources; False if interrupted."""
    store, name = run.client.store, run.command.name
    recover(store, name)
    close(store, run.client.pipelines, name)
    worker = Worker(
        [run.command.pipeline],
        store=store,
        concurrency=run.concurrency,
        children=run.children,
        name=name,
        only=run.tasks,
    )
    conductor = Conductor(run, documents, worker)

    def stop() -> None:
        conductor.interrupted.set()
        worker.stop()

    conductor.start()
    try:
        with heeded(stop):
            worker.run(exit_code=Exit.INTERRUPTED)
    finally:
        conductor.leave()
        run.shown.close()
    if conductor.problem is not None:
        raise conductor.problem
    return not conductor.interrupted.is_set()
