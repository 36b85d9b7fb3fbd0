"""Queries about tasks: one, many, their events; with waiting and following."""

from __future__ import annotations

import builtins
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from fanfold.engine.queries.changed_subtasks import changed_subtasks
from fanfold.engine.queries.lookup import Lookup, check_limit
from fanfold.engine.queries.pauses import Pause, pausing, pausing_stream
from fanfold.engine.queries.task_view import number_in, updated_at_in, view
from fanfold.errors import BadInput, NotFound
from fanfold.model.awaited.external import ExternalJob
from fanfold.model.awaited.gate_answer import GateAnswer
from fanfold.model.lifecycle import TaskState
from fanfold.model.task import Event, Task, TaskOrder
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.store.rows.tasks import Filter

POLL_SECONDS = 0.2
LAST_ID = 2**62
"""Higher than any row id, and close to the largest number that databases take."""
LATE_EVENTS = 1_000
"""How many events a follower looks back for late ones: two workers may commit events out of id order."""


def _delivering() -> tuple[str, ...]:
    """The pipelines that deliver webhooks. Imported when needed: they load the code of requests."""
    from fanfold.engine.webhooks.deliveries import OWN_PIPELINES

    return tuple(one.name for one in OWN_PIPELINES)


class TaskQueries:
    """Read-only queries about tasks."""

    def __init__(self, look: Lookup) -> None:
        self._look = look
        self.store = look.store
        self.owner = look.owner

    def get(self, task_id: str) -> Task:
        """The task as it is now."""
        row = self._look.row(task_id)
        task = self._look.view(row)
        if not task.subtasks:
            return task
        with self.store.read() as tx:
            return replace(task, changed_subtasks=changed_subtasks(tx, row, task))

    def list(
        self,
        *,
        states: Sequence[str] = (),
        pipeline: str | None = None,
        owner: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        needs_you: bool = False,
        parent: str | None = None,
        after: str | None = None,
        limit: int = 50,
        sort: str = TaskOrder.NEWEST,
        deliveries: bool = True,
    ) -> builtins.list[Task]:
        """Tasks, newest first; ``after`` is the cursor or id of the last task of the previous page.

        ``sort`` is ``newest``, ``oldest`` or ``updated`` (last changed first).

        ``needs_you=True`` returns tasks that need a person: their ``needs_you`` says why. ``parent`` is the id of a task:
        only its subtasks. ``deliveries=False`` leaves out the tasks that deliver webhooks.
        """
        if not 1 <= limit <= 1_000:
            raise BadInput(say("limit_range", limit=limit))
        unknown = [state for state in states if state not in [*TaskState]]
        if unknown:
            raise BadInput(say("no_task_state", states=unknown, known=list(TaskState)))
        if sort not in [*TaskOrder]:
            raise BadInput(say("no_task_order", order=sort, known=list(TaskOrder)))
        number, updated_at = (None, None) if after is None else self._place(after, sort)
        wanted = Filter(
            tuple(states),
            pipeline,
            self.owner if self.owner is not None else owner,
            tag,
            text,
            number,
            limit,
            needs_you,
            TaskOrder(sort),
            updated_at,
            None if parent is None else self._look.row(parent).number,
            () if deliveries else _delivering(),
        )
        with self.store.read() as tx:
            return view(self.store, tx, tx.tasks.find(wanted))

    def _place(self, after: str, sort: str) -> tuple[int, datetime | None]:
        """Where a page begins. A cursor contains the position, so a list can be paged while its tasks are deleted."""
        number, updated_at = number_in(after), updated_at_in(after)
        if number is not None and (updated_at is not None or sort != TaskOrder.UPDATED):
            return number, updated_at
        row = self._look.row(after.partition(".")[0])
        return row.number, row.updated_at

    def by_key(self, key: str, owner: str | None = None) -> Task | None:
        """The task that was submitted with this idempotency key."""
        with self.store.read() as tx:
            row = tx.tasks.by_key(self.owner if self.owner is not None else (owner or ""), key)
            return None if row is None else view(self.store, tx, [row])[0]

    def counts(self) -> dict[str, int]:
        """How many tasks are in each state."""
        with self.store.read() as tx:
            return tx.tasks.count_by_state(self.owner)

    def events(self, task_id: str, after: int = 0, limit: int = 1_000) -> builtins.list[Event]:
        """The events of a task, in order; ``after`` is the id of the last event seen."""
        check_limit(limit)
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.events.of(row.number, max(0, min(after, LAST_ID)), limit)

    def answers(self, task_id: str) -> builtins.list[GateAnswer]:
        """What people answered at the gates of a task, the first answer first."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            found = tx.gate_answers.of(row.number)
        return [GateAnswer(one.stage, serial.load(one.answer), one.actor, one.at) for one in found]

    def failures(self, task_id: str, limit: int = 20) -> builtins.list[tuple[str, str, str, int]]:
        """Why items failed, grouped: (stage, code, message, count), the most frequent first."""
        check_limit(limit)
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return tx.reading.failures(row.number, limit)

    def external_jobs(self, task_id: str) -> builtins.list[ExternalJob]:
        """The external jobs of a task, in the order of their items."""
        row = self._look.row(task_id)
        with self.store.read() as tx:
            return [job for _, job in tx.externals.of_task(row.number, self.store.settings.lease_seconds)]

    @pausing
    def wait(
        self, task_id: str, timeout: float | None = None, *, poll: float = POLL_SECONDS
    ) -> Generator[Pause, None, Task]:
        """Wait until the task is finished, or waits for a person; TimeoutError when it takes longer."""
        row = self._look.row(task_id)
        started = time.monotonic()
        while True:
            with self.store.read() as tx:
                found = tx.tasks.get(row.number)
            if found is None:
                raise NotFound(say("task_deleted", task=row.id))
            if found.state is not TaskState.ACTIVE:
                return self._look.view(found)
            with self.store.read() as tx:
                held = tx.reading.held([row.number])
            if held and (task := self._look.view(found)).stalled:
                return task
            if timeout is not None and time.monotonic() - started >= timeout:
                raise TimeoutError(say("still_in_state", task=row.id, state=found.state, seconds=timeout))
            yield Pause(poll)

    @pausing_stream
    def follow(self, task_id: str, *, after: int = 0, poll: float = POLL_SECONDS) -> Iterator[Task | Event | Pause]:
        """A live stream: every event once (from ``after`` on), and the task whenever it has changed, until it is finished."""
        row = self._look.row(task_id)
        last: Task | None = None
        seen: set[int] = set()
        newest = after
        while True:
            task = self.get(row.id)
            for event in self.events(row.id, max(after, newest - LATE_EVENTS), 2 * LATE_EVENTS):
                if event.id not in seen:
                    seen.add(event.id)
                    newest = max(newest, event.id)
                    yield event
            if task != last:
                yield task
                last = task
            if task.finished:
                return
            yield Pause(poll)
