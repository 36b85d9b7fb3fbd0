"""Shows how tasks are doing, on the standard error: a bar each on a terminal, lines at growing intervals elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

import click

from fanfold.model.values.questions import money
from fanfold.running.terminal.output_format import duration, one_line

if TYPE_CHECKING:
    from fanfold.model.task import Task

LINE_SECONDS = 2.0
RATE_SECONDS = 20.0


class Display(Protocol):
    """Something that shows how one or several tasks are doing, each under a name."""

    def update(self, task: Task, name: str = "") -> None:
        """Show a task as it is now."""
        ...

    def finish(self, name: str, line: str) -> None:
        """The task of that name is over, and this is what is said of it."""
        ...

    def say(self, text: str) -> None:
        """A line of its own."""
        ...

    def close(self) -> None:
        """Show no more."""
        ...


def display(*, wanted: bool = True, unit: tuple[str, str] | None = None) -> Display:
    """The display that fits where the standard error goes; ``unit`` is what one item is called, and several."""
    if not wanted:
        return Silence()
    return Bars(unit) if sys.stderr.isatty() else Lines(unit)


class Silence:
    """Shows nothing."""

    def update(self, task: Task, name: str = "") -> None:
        """Nothing."""

    def finish(self, name: str, line: str) -> None:
        """Nothing."""

    def say(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Rate:
    """Settled items per second over the last while."""

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
        """Items per second; 0 as long as it cannot be told."""
        if len(self._seen) < 2 or self._seen[-1][0] - self._seen[0][0] < 0.2:
            return 0.0
        return (self._seen[-1][1] - self._seen[0][1]) / (self._seen[-1][0] - self._seen[0][0])


def facts(task: Task, rate: Rate, unit: tuple[str, str] | None = None) -> str:
    """The figures of a task: items done and failed, rate, time left, cost, and why it waits."""
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
    """A line at the start, at each change of the status word, and now and then; rarer the longer it takes."""

    def __init__(self, unit: tuple[str, str] | None = None) -> None:
        self._unit = unit
        self._rates: dict[str, Rate] = {}
        self._started_at = time.monotonic()
        self._printed_at = self._started_at if unit is not None else -LINE_SECONDS
        self._last = ""

    def update(self, task: Task, name: str = "") -> None:
        """Show a task, unless something was shown just now."""
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
        """Nothing is left open."""


class Bars:
    """A bar for each task under way; log lines, and what is said of finished tasks, move past above them."""

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
        """The bar goes, a line stays."""
        if name in self._bars:
            self._progress.remove_task(self._bars.pop(name))
            self._progress.refresh()
        self.say(line)

    def say(self, text: str) -> None:
        """A line above the bars."""
        self._progress.console.print(text, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Leave the bars as they are."""
        self._progress.stop()
