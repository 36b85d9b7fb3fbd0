"""Is it over yet? One task watched closely but cheaply: its row often, its counts now and then."""

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
"""Counting a million items takes a while: at most one part in so many of the time is spent on it."""


def watch(
    client: Client,
    task_id: str,
    shown: Display,
    enough: Callable[[float], bool],
    *,
    quiet_seconds: float = 0.0,
    patient: bool = False,
) -> Task:
    """Show a task until it is not active any more, or ``enough(seconds)`` says so after that many; returns it as it is then.

    It ends as well when only items are left that wait for a person. Nothing is shown in the first ``quiet_seconds``, nor of a
    task that is over already. With ``patient``, a database that is lost is said once and waited for, as the worker does.
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
    """Says once that the database is lost, and once that it is there again."""

    def __init__(self, shown: Display) -> None:
        self._shown = shown
        self._is_lost = False

    def note(self) -> None:
        """It cannot be reached; the work in hand is kept."""
        if not self._is_lost:
            self._is_lost = True
            self._shown.say(f"database lost since {_now()}, trying again; nothing is lost")

    def found(self) -> None:
        """It answers."""
        if self._is_lost:
            self._is_lost = False
            self._shown.say(f"database found again at {_now()}")


def _now() -> str:
    """The time, with its date: what is said stays on the screen for days."""
    return told_at(datetime.now(UTC), None, seconds=True)
