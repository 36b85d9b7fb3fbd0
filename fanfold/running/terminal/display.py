"""Shows progress on standard error: a bar per task on a terminal, otherwise lines at growing intervals."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import click

from fanfold.model.money.questions import money
from fanfold.running.terminal.output_format import duration, one_line

if TYPE_CHECKING:
    from fanfold.model.task import Task

LINE_SECONDS = 2.0
RATE_SECONDS = 20.0


class Display(Protocol):
    """Shows the progress of one or several tasks, each under a name."""

    interval_seconds: float
    """Interval at which it wants to know the state of running tasks."""

    def update(self, task: Task, name: str = "") -> None:
        """Show the current state of a task."""
        ...

    def finish(self, name: str, line: str) -> None:
        """Print the closing line of a task that is over."""
        ...

    def say(self, text: str) -> None:
        """Print a separate line."""
        ...

    def close(self) -> None:
        """Stop showing progress."""
        ...


def display(*, wanted: bool = True, unit: tuple[str, str] | None = None) -> Display:
    """The display that suits standard error. ``unit`` is the singular and plural of an item."""
    if not wanted:
        return Silence()
    return Bars(unit) if sys.stderr.isatty() else Lines(unit)


class Silence:
    """Shows nothing."""

    interval_seconds = LINE_SECONDS

    def update(self, task: Task, name: str = "") -> None:
        """Nothing."""

    def finish(self, name: str, line: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Rate:
    """Settled items per second over the last 20 seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int, str]] = deque()

    def note(self, task: Task) -> None:
        """Record the number of settled items; a new stage or a retry resets the rate."""
        now, settled = time.monotonic(), task.done + task.failed
        if self._seen and (self._seen[-1][2] != task.stage or self._seen[-1][1] > settled):
            self._seen.clear()
        self._seen.append((now, settled, task.stage))
        while len(self._seen) > 2 and now - self._seen[0][0] > RATE_SECONDS:
            self._seen.popleft()

    @property
    def per_second(self) -> float:
        """Items per second; 0 until there is enough data."""
        if len(self._seen) < 2 or self._seen[-1][0] - self._seen[0][0] < 0.2:
            return 0.0
        return (self._seen[-1][1] - self._seen[0][1]) / (self._seen[-1][0] - self._seen[0][0])


def facts(task: Task, rate: Rate, unit: tuple[str, str] | None = None) -> str:
    """Figures of a task: items done and failed, rate, time left, cost and the reason it waits."""
    parts = []
    if unit is None and task.total > 1:
        parts.append(f"{task.done}/{task.total}")
    elif unit is not None and task.total and task.stage != task.stages[0].name:
        parts.append(f"{task.done}/{task.total} {unit[task.total != 1]}")
    if task.failed:
        parts.append(f"{task.failed_step or task.failed} failed")
    if task.open and (unit is not None or task.total > 1) and rate.per_second:
        parts += [f"{rate.per_second:.1f}/s", f"{duration(task.open / rate.per_second)} left"]
    if unit is not None and task.spending:
        parts.append(money(task.spending))
    note = (task.message or task.wait_reason) if task.state == "active" else None
    return ", ".join([*parts, *([one_line(note)] if note else [])])


class Lines:
    """Prints a line at the start and when the task stops being active; progress lines grow rarer the longer it runs."""

    interval_seconds = LINE_SECONDS / 2

    def __init__(self, unit: tuple[str, str] | None = None) -> None:
        self._unit = unit
        self._rates: dict[str, Rate] = {}
        self._started_at = time.monotonic()
        self._printed_at = self._started_at if unit is not None else -LINE_SECONDS
        self._last = ""

    def update(self, task: Task, name: str = "") -> None:
        """Print a line for the task, unless one was printed recently."""
        rate = self._rates.setdefault(name, Rate())
        rate.note(task)
        now = time.monotonic()
        is_soon = now - self._printed_at < max(LINE_SECONDS, (now - self._started_at) / 30)
        if is_soon and (name or task.state == "active"):
            return
        shown = facts(task, rate, self._unit)
        line = f"{name or task.id} {task.status} {task.progress:.0f} %" + (f": {shown}" if shown else "")
        if line != self._last:
            self._printed_at, self._last = now, line
            self.say(line)

    def finish(self, name: str, line: str) -> None:
        """One line."""
        self.say(line)

    def say(self, text: str) -> None:
        """One line."""
        click.echo(text, err=True)

    def close(self) -> None:
        """Nothing to close."""


class Bars:
    """A progress bar per running task. Log lines and closing lines scroll past above the bars."""

    interval_seconds = 0.4

    def __init__(self, unit: tuple[str, str] | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._unit = unit
        self._rates: dict[str, Rate] = {}
        self._bars: dict[str, Any] = {}
        self._progress = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=40 if unit is None else 24),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            console=Console(stderr=True, highlight=False),
            redirect_stdout=False,
        )
        self._progress.start()

    def update(self, task: Task, name: str = "") -> None:
        """Move the bar."""
        rate = self._rates.setdefault(name, Rate())
        rate.note(task)
        fields: dict[str, Any] = {"completed": task.progress, "facts": facts(task, rate, self._unit)}
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(task.status, total=100, name=name or task.id, **fields)
        else:
            self._progress.update(self._bars[name], description=task.status, **fields)

    def finish(self, name: str, line: str) -> None:
        """Replace the bar with a line."""
        if name in self._bars:
            self._progress.remove_task(self._bars.pop(name))
            self._progress.refresh()
        self.say(line)

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the bars as they are."""
        self._progress.stop()
