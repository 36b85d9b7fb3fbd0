"""Watches one task at low cost: polls its row often and counts its items now and then."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fanfold.errors import DatabaseProblem, NotFound
from fanfold.model.lifecycle import TaskState
from fanfold.model.text.moments import told_at

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.model.task import Task
    from fanfold.running.terminal.display import Display

LOOK_SECONDS = 0.05
SHOW_SECONDS = 0.2
SHOW_SHARE = 20
"""Counting a million items is slow, so at most 1/20 of the time is spent on counting."""


def watch(
    client: Client,
    task_id: str,
    shown: Display,
    enough: Callable[[float], bool],
    *,
    quiet_seconds: float = 0.0,
    patient: bool = False,
) -> Task:
    """Show a task until it is no longer active or ``enough(elapsed_seconds)`` is true; return it in its final state.

    Also returns when the only items left wait for a person. Shows nothing during the first ``quiet_seconds``, and nothing for
    a task that is already over. With ``patient``, reports a lost database once and waits for it, as the worker does.
    """
    started = time.monotonic()
    with client.store.read() as tx:
        number = tx.tasks.resolve(task_id).number
    show_at = started + quiet_seconds
    looks = 0
    lost = LostDatabase(shown)
    while True:
        try:
            with client.store.read() as tx:
                row = tx.tasks.get(number)
            if row is None:
                raise NotFound(f"Task {task_id} was deleted.")
            now = time.monotonic()
            looks += 1
            over = row.state is not TaskState.ACTIVE or enough(now - started)
            if over or now >= show_at:
                task = client.get(row.id)
                over = over or task.stalled
                if not over or (looks > 1 and task.state is not TaskState.ACTIVE):
                    shown.update(task)
                asked = time.monotonic() - now
                show_at = now + max(SHOW_SECONDS, asked * SHOW_SHARE)
            lost.found()
            if over:
                return task
        except DatabaseProblem as problem:
            if not patient or problem.code != "unreachable" or enough(time.monotonic() - started):
                raise
            lost.note()
        time.sleep(LOOK_SECONDS)


class LostDatabase:
    """Reports once that the database is lost, and once that it is back."""

    def __init__(self, shown: Display) -> None:
        self._shown = shown
        self._is_lost = False

    def note(self) -> None:
        """Report that the database cannot be reached; running work is kept."""
        if not self._is_lost:
            self._is_lost = True
            self._shown.say(f"database lost since {_now()}, retrying; no work is lost")

    def found(self) -> None:
        """Report that the database answers again."""
        if self._is_lost:
            self._is_lost = False
            self._shown.say(f"database reachable again at {_now()}")


def _now() -> str:
    """Current time with its date, because the line may stay on the screen for days."""
    return told_at(datetime.now(UTC), None, seconds=True)
