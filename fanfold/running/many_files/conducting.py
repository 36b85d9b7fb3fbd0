"""Runs many sources with one worker: some tasks at a time, in order. Each result is saved soon after it is ready."""

from __future__ import annotations

import gc
import threading
import time
from collections import deque
from collections.abc import Sequence

from fanfold.engine.queries.task_view import view
from fanfold.engine.tasks.recovery.sweep import close, recover
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.signals import heeded
from fanfold.errors import DatabaseProblem, IllegalMove
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Task
from fanfold.running.follow import LostDatabase
from fanfold.running.many_files.beginning import begin_all
from fanfold.running.many_files.concluding import conclude
from fanfold.running.many_files.many import Document, Run
from fanfold.running.terminal.exit_codes import Exit

AT_ONCE = 32
"""Number of quick sources that run at the same time. Submitting and polling them together takes few statements per source."""
MOST_AT_ONCE = 128
REFILL = 8
"""Room for this many sources before more are submitted: one transaction for one source costs nearly as much as for eight."""
LONG_SECONDS = 3.0
LOOK_SECONDS = 0.03
LOOK_AT_MANY_SECONDS = 0.1
"""Interval of looks while more than a few sources run: results are then saved several at a time."""
FEW = 4
SHOW_SHARE = 20
"""At most 1/20 of the time is spent counting items."""


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
        self._show_at = 0.0
        self._lost = LostDatabase(run.shown)
        self.interrupted = threading.Event()

    def run(self) -> None:
        """Run until every source is over or the worker has stopped."""
        try:
            while (self._waiting or self._active) and not self._left.is_set():
                self._fill()
                self._look_at_all()
                if self.interrupted.is_set() and not self._said:
                    self._said = True
                    self.given.shown.say("Stopping; interrupt again to stop immediately")
                if self._active:
                    time.sleep(LOOK_AT_MANY_SECONDS if len(self._active) > FEW else LOOK_SECONDS)
        except BaseException as problem:
            self.problem = problem
        self.worker.stop()

    def leave(self) -> None:
        """Stop polling."""
        self._left.set()
        self.join()

    def _fill(self) -> None:
        """Start more sources if there is room for several, or none is left otherwise."""
        room = self._room()
        if not self._waiting or room < min(REFILL, len(self._waiting)):
            return
        begun = [self._waiting.popleft() for _ in range(min(room, len(self._waiting)))]
        begin_all(self.given, begun)
        for document in begun:
            if document.problem is not None:
                self.given.finish(document)
                continue
            document.begun_at = time.monotonic()
            self._active.append(document)
        self.worker.wake()  # It may have polled before these tasks were on its list.

    def _room(self) -> int:
        """How many sources may start now. Slow sources, such as scans, do not hold up quick ones."""
        now = time.monotonic()
        quick = sum(now - document.begun_at < LONG_SECONDS for document in self._active)
        return max(0, min(AT_ONCE - quick, MOST_AT_ONCE - len(self._active)))

    def _look_at_all(self) -> None:
        try:
            self._look()
            self._lost.found()
        except DatabaseProblem as problem:
            if problem.code != "unreachable":
                raise
            self._lost.note()  # The worker waits for it as well.

    def _look(self) -> None:
        """Poll all sources. Reading their states is cheap; their items are counted only now and then."""
        now = time.monotonic()
        looked = [document for document in self._active if document.number]
        with self.given.client.store.read() as tx:
            states = tx.tasks.states([document.number for document in looked])
        is_shown = now >= self._show_at
        over = [one for one in looked if is_shown or states.get(one.number) is not TaskState.ACTIVE]
        if not over:
            return
        tasks = self._tasks(over)
        if is_shown:
            self._show_at = now + max(self.given.shown.interval_seconds, (time.monotonic() - now) * SHOW_SHARE)
        ended = [document for document in over if self._is_over(document, tasks[document.number])]
        if not ended:
            return
        self._active = [document for document in self._active if document not in ended]
        with self.given.saving.together():
            for document in ended:
                conclude(self.given, document)
        for document in ended:
            self.given.finish(document)

    def _tasks(self, documents: Sequence[Document]) -> dict[int, Task]:
        store = self.given.client.store
        with store.read() as tx:
            rows = tx.tasks.by_numbers([document.number for document in documents])
            tasks = dict(zip(rows, view(store, tx, list(rows.values())), strict=True))
        for document in documents:
            document.row = rows[document.number]
        return tasks

    def _is_over(self, document: Document, task: Task) -> bool:
        """Show a running source, and move on one that waits for it; returns whether it has ended."""
        client = self.given.client
        document.task = task
        if task.state is TaskState.ACTIVE and not task.stalled:
            self.given.shown.update(task, document.name)
            return False
        if task.state is TaskState.PARTIAL and not document.merged:
            document.merged = True
            try:
                client.merge(task.id)
            except IllegalMove:
                pass  # Somebody else has moved it; the next poll shows the new state.
            return False
        if task.state is TaskState.WAITING and self.given.command.straight_through:
            client.resume(task.id)  # It was begun with gates, by an earlier command or on the page.
            return False
        return True


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
        gc.freeze()  # The worker has thawed what it had frozen, and the command ends soon.
        conductor.leave()
        run.shown.close()
    if conductor.problem is not None:
        raise conductor.problem
    return not conductor.interrupted.is_set()
