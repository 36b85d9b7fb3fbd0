"""How do many documents run in one command? A few tasks at a time, in order, in one worker; each is saved when it is done."""

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

from fanfold.apps.pdf import pdf
from fanfold.apps.pdf.document import unlock
from fanfold.cli.conversion.saving import Saving
from fanfold.cli.conversion.showing import Show
from fanfold.cli.exits import Exit
from fanfold.cli.watching import Lost
from fanfold.engine import inputs
from fanfold.engine.children import Children
from fanfold.engine.client import Client
from fanfold.engine.signals import heeded
from fanfold.engine.sweep import close, recover
from fanfold.engine.worker import Worker
from fanfold.errors import DatabaseProblem, FanfoldError, HandlerError, IllegalMove, KeyReused
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.shortage import told
from fanfold.model.task import Task, TaskRow

AT_ONCE = 8
"""So many documents are under way together: enough to keep all hands busy at the end of each."""
MOST_AT_ONCE = 64
LONG_SECONDS = 3.0
LOOK_SECONDS = 0.05
SHOW_SECONDS = 0.4
SHOW_SHARE = 20
"""At most one part in so many of the time is spent on counting pages."""


@dataclass
class Document:
    """One document from the command line to its result."""

    path: Path
    target: Path | None
    options: dict[str, Any]
    flags: tuple[str, ...] = ()
    """The options of the command, as they would be typed again."""
    task: Task | None = None
    problem: str | None = None
    """Why there is no result."""
    moved: list[str] = field(default_factory=list)
    """Where files went that stood in the way of the result."""
    left: list[str] = field(default_factory=list)
    """Files of an earlier run that a person has edited, and that were left as they are."""
    was_done_before: bool = False
    engines: Counter[str] = field(default_factory=Counter)
    """How many pages each engine has made."""
    degraded: dict[int, str] = field(default_factory=dict)
    """Pages that are not what was asked for, and why."""
    merged: bool = False
    show_at: float = 0.0
    begun_at: float = 0.0

    @property
    def name(self) -> str:
        """What it is called in what is shown."""
        text = os.fsencode(self.path).decode("utf-8", "replace")
        return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)


@dataclass
class Run:
    """Everything the documents of one command share."""

    client: Client
    saving: Saving
    shown: Show
    fresh: bool = False
    concurrency: int = 8
    children: Children | None = None
    describe: Callable[[Document], str] = field(default=lambda document: document.name)
    password: str | None = None
    brief: bool = True
    """Whether who made the pages need not be said of documents that were done before."""
    tasks: set[int] = field(default_factory=set)
    """The numbers of the tasks of this command: its worker does no other work."""


class Conversion(threading.Thread):
    """Submits documents as others finish, shows them, saves them, and stops the worker when all are over."""

    def __init__(self, run: Run, documents: Sequence[Document], worker: Worker) -> None:
        super().__init__(name="convert", daemon=True)
        self.given = run
        self.worker = worker
        self.problem: BaseException | None = None
        self._waiting = deque(documents)
        self._active: list[Document] = []
        self._left = threading.Event()
        self._said = False
        self._lost = Lost(run.shown)
        self.interrupted = threading.Event()

    def run(self) -> None:
        """Until every document is over, or the worker has stopped."""
        try:
            while (self._waiting or self._active) and not self._left.is_set():
                while self._waiting and self._has_room():
                    self._begin(self._waiting.popleft())
                self._look_at_all()
                if self.interrupted.is_set() and not self._said:
                    self._said = True
                    self.given.shown.say("Stopping; once more to stop at once")
                time.sleep(LOOK_SECONDS)
        except BaseException as problem:
            self.problem = problem
        self.worker.stop()

    def _has_room(self) -> bool:
        """Whether another document may begin. One that takes long, as scans do, keeps none of the quick ones waiting."""
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
        """Look no longer."""
        self._left.set()
        self.join()

    def _begin(self, document: Document) -> None:
        try:
            document.task = begin(self.given, document)
            document.begun_at = time.monotonic()
        except OSError as problem:
            document.problem = told(problem) or f"it can not be read: {problem.strerror or problem}"
        except (FanfoldError, HandlerError, ValueError) as problem:
            document.problem = str(problem)
        if document.problem is not None:
            self.given.shown.finish(document.name, self.given.describe(document))
            return
        self._active.append(document)
        self.worker.wake()  # It may have looked before it knew that this task is one of its own.

    def _look(self, document: Document) -> None:
        """A look at its row is cheap; counting its pages is not, and is done now and then."""
        assert document.task is not None
        client = self.given.client
        now = time.monotonic()
        if now < document.show_at and self._is_active(document.task.id):
            return
        task = document.task = client.get(document.task.id)
        if task.state is TaskState.ACTIVE and not task.stalled:
            document.show_at = now + max(SHOW_SECONDS, (time.monotonic() - now) * SHOW_SHARE)
            self.given.shown.update(document.name, task)
            return
        if task.state is TaskState.PARTIAL and not document.merged:
            document.merged = True
            try:
                client.merge(task.id)
            except IllegalMove:
                pass  # Somebody else has moved it; the next look tells.
            return
        self._active.remove(document)
        conclude(self.given, document)
        self.given.shown.finish(document.name, self.given.describe(document))

    def _is_active(self, task_id: str) -> bool:
        with self.given.client.store.read() as tx:
            return tx.tasks.resolve(task_id).state is TaskState.ACTIVE


def begin(run: Run, document: Document) -> Task:
    """The task of a document: a new one, or the one of an earlier run, moved so that it goes on."""
    client = run.client
    with ExitStack() as used:
        source = _opened(run, document.path, used)
        key = key_of(document, unlocked=source != document.path)
        with client.store.read() as tx:
            before = tx.tasks.by_key("", key)
        if before is not None and run.fresh:
            _leave(client, before)
        # The key is made from the content, so the task that has it is the one that is wanted.
        task = client.get(before.id) if before is not None and not run.fresh else _submitted(run, document, source, key)
    with client.store.read() as tx:
        run.tasks.add(tx.tasks.resolve(task.id).number)
    return task if before is None or run.fresh else go_on(client, document, task)


def key_of(document: Document, *, unlocked: bool = False) -> str:
    """The key by which the same content with the same options finds its task again."""
    # A copy that was unlocked is another file than the one that could not be read.
    kind = "convert-unlocked:" if unlocked else "convert:"
    return kind + inputs.fingerprint("pdf", [document.path], document.options)


def _submitted(run: Run, document: Document, source: Path, key: str) -> Task:
    """A new task for a document; when another process begins the same one at this moment, the task of that one."""
    options = document.options | ({"fresh": f"{time.time_ns():x}"} if run.fresh else {})
    try:
        return run.client.submit(
            pdf, source, options=options, key=key, owner="",
            title=inputs.shown_name(document.path), metadata={"source": document.name},
        )  # fmt: skip
    except KeyReused:
        if (task := run.client.by_key(key, "")) is None:
            raise
        return task


def _opened(run: Run, path: Path, used: ExitStack) -> Path:
    """A copy that needs no password, when there is one to try, so that it need not be kept with the task.

    It lies in the data folder, whose old scratch files are removed by workers, in case this process dies.
    """
    if run.password is None or run.children is None:
        return path
    home = run.client.store.scratch
    home.mkdir(parents=True, exist_ok=True)
    scratch = used.enter_context(tempfile.TemporaryDirectory(prefix="unlocked-", dir=home))
    target = Path(scratch) / inputs.shown_name(path)
    child = run.children.take()
    try:
        child.run(unlock, (path, run.password, target), {"name": inputs.shown_name(path)})
    except BaseException:
        run.children.discard(child)
        raise
    run.children.give_back(child)
    return target


def _leave(client: Client, before: TaskRow) -> None:
    """What was begun before is not wanted any more: nobody goes on with it, and its key is free."""
    if before.state not in FINISHED_TASKS:
        try:
            client.cancel(before.id, "begun anew")
        except IllegalMove:
            pass  # It has ended just now.
    with client.store.write() as tx:
        tx.tasks.drop_key(before.number)


def go_on(client: Client, document: Document, task: Task) -> Task:
    """Move a task that was begun before so that only what is left of it is done."""
    if task.state in (TaskState.PAUSED, TaskState.WAITING):
        return client.resume(task.id)
    if task.state is TaskState.COMPLETED and not task.failed:
        document.was_done_before = True
        return task
    return client.retry(task.id) if task.finished else task


def conclude(run: Run, document: Document) -> None:
    """Save what there is, or say why there is nothing."""
    task = document.task
    assert task is not None
    if task.state is not TaskState.COMPLETED:
        document.problem = task.error_message or task.wait_reason or f"it is {task.status}"
        if task.failed:
            [(_, _, why, _), *_] = run.client.failures(task.id) or [("", "", document.problem, 0)]
            document.problem = f"all {task.failed} pages failed: {why}" if task.failed > 1 else why
        return
    for result in run.client.results(task.id):
        document.engines[_engine(result.output)] += 1
        if result.degraded is not None:
            document.degraded[int(result.output["page"])] = result.degraded
    if document.target is None:
        return
    try:
        again = document.was_done_before
        stamp = f"{task.id} {task.finished_at}"
        saved = run.saving.save(run.client.result(task.id), document.target, document.path, again=again, stamp=stamp)
        document.moved, document.left = saved.moved, saved.left
    except FanfoldError as problem:
        document.problem = str(problem)


def _engine(output: dict[str, Any]) -> str:
    return "not read" if output.get("note") == "no text layer" else str(output.get("engine", ""))


def convert(run: Run, documents: Sequence[Document]) -> bool:
    """Convert them all; False when it was interrupted."""
    store = run.client.store
    recover(store, "convert")
    close(store, run.client.pipelines, "convert")
    worker = Worker(
        [pdf], store=store, concurrency=run.concurrency, children=run.children, name="convert", only=run.tasks
    )
    conversion = Conversion(run, documents, worker)

    def stop() -> None:
        conversion.interrupted.set()
        worker.stop()

    conversion.start()
    try:
        with heeded(stop):
            worker.run(exit_code=Exit.INTERRUPTED)
    finally:
        conversion.leave()
        run.shown.close()
    if conversion.problem is not None:
        raise conversion.problem
    return not conversion.interrupted.is_set()
