"""How far is it? A bar on a terminal, plain lines at growing intervals otherwise; both on the standard error."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import click

from fanfold.cli.printing import duration, one_line

if TYPE_CHECKING:
    from fanfold.model.task import Task

LINE_SECONDS = 2.0
RATE_SECONDS = 20.0


class Display(Protocol):
    """Something that shows how a task is doing."""

    def update(self, task: Task) -> None:
        """Show the task as it is now."""
        ...

    def say(self, text: str) -> None:
        """A line of its own."""
        ...

    def close(self) -> None:
        """Show no more."""
        ...


def display(*, wanted: bool = True) -> Display:
    """The display that fits where the standard error goes."""
    if not wanted:
        return Silence()
    return Bar() if sys.stderr.isatty() else Lines()


class Silence:
    """Shows nothing."""

    def update(self, task: Task) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Rate:
    """Settled items per second over the last while, and what that says of the rest."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, str]] = deque()

    def note(self, task: Task) -> None:
        """Remember how many items are settled now; another stage, or a retry, starts over."""
        now, settled = time.monotonic(), task.done + task.failed
        if self._seen and (self._seen[-1][2] != task.stage or self._seen[-1][1] > settled):
            self._seen.clear()
        self._seen.append((now, settled, task.stage))
        while len(self._seen) > 2 and now - self._seen[0][0] > RATE_SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """Items per second; 0 as long as it can not be told."""
        if len(self._seen) < 2 or self._seen[-1][0] - self._seen[0][0] < 0.2:
            return 0.0
        return (self._seen[-1][1] - self._seen[0][1]) / (self._seen[-1][0] - self._seen[0][0])


def facts(task: Task, rate: Rate) -> str:
    """The figures of a task in a few words."""
    parts = []
    if task.total > 1:
        parts.append(f"{task.done}/{task.total}")
    if task.failed:
        parts.append(f"{task.failed} failed")
    if task.open and task.total > 1 and rate.per_second:
        parts += [f"{rate.per_second:.1f}/s", f"{duration(task.open / rate.per_second)} left"]
    note = (task.message or task.wait_reason) if task.state == "active" else None
    return ", ".join([*parts, *([one_line(note)] if note else [])])


class Lines:
    """A line at the start, at each change of the status word, and now and then; rarer the longer it takes."""

    def __init__(self) -> None:
        self._rate = Rate()
        self._started_at = time.monotonic()
        self._printed_at = -LINE_SECONDS
        self._last = ""

    def update(self, task: Task) -> None:
        """Show the task, unless it was shown just now."""
        self._rate.note(task)
        now = time.monotonic()
        pause = max(LINE_SECONDS, (now - self._started_at) / 30)
        if task.state == "active" and now - self._printed_at < pause:
            return
        shown = facts(task, self._rate)
        line = f"{task.id} {task.status} {task.progress:.0f} %" + (f": {shown}" if shown else "")
        if line != self._last:
            self.say(line)
            self._printed_at, self._last = now, line

    def say(self, text: str) -> None:
        """One line."""
        click.echo(text, err=True)

    def close(self) -> None:
        """Nothing is left open."""


class Bar:
    """A bar that stays in its line; log lines move past above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._rate = Rate()
        self._line: Any = None
        self._progress = Progress(
            TextColumn("{task.fields[id]}"),
            TextColumn("[bold]{task.description}", markup=True),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            console=Console(stderr=True, highlight=False),
            redirect_stdout=False,
        )
        self._progress.start()

    def update(self, task: Task) -> None:
        """Move the bar."""
        self._rate.note(task)
        fields: dict[str, Any] = {"completed": task.progress, "facts": facts(task, self._rate), "id": task.id}
        if self._line is None:
            self._line = self._progress.add_task(task.status, total=100, **fields)
        else:
            self._progress.update(self._line, description=task.status, **fields)

    def say(self, text: str) -> None:
        """A line above the bar."""
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._progress.stop()
