"""How far are the documents? A bar each on a terminal, a line each when they are done everywhere else."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

import click

from fanfold.cli.printing import duration, one_line
from fanfold.cli.progress import LINE_SECONDS, Rate
from fanfold.model.asking import money

if TYPE_CHECKING:
    from fanfold.model.task import Task


class Show(Protocol):
    """Something that shows how several documents are doing."""

    def update(self, name: str, task: Task) -> None:
        """Show one document as it is now."""
        ...

    def finish(self, name: str, line: str) -> None:
        """A document is over, with this to be said of it."""
        ...

    def say(self, line: str) -> None:
        """A line of its own."""
        ...

    def close(self) -> None:
        """Show no more."""
        ...


def show(*, wanted: bool) -> Show:
    """What fits where the standard error goes."""
    if not wanted:
        return Nothing()
    return Bars() if sys.stderr.isatty() else Lines()


def facts(task: Task, rate: Rate) -> str:
    """Pages done and failed, rate, time left and cost."""
    parts = []
    if task.total and task.stage != task.stages[0].name:
        parts.append(f"{task.done}/{task.total} page{'' if task.total == 1 else 's'}")
    if task.failed:
        parts.append(f"{task.failed} failed")
    if task.open and rate.per_second:
        parts += [f"{rate.per_second:.1f}/s", f"{duration(task.open / rate.per_second)} left"]
    if task.spending:
        parts.append(money(task.spending))
    if task.wait_reason and task.state == "active":
        parts.append(one_line(task.wait_reason))
    return ", ".join(parts)


class Nothing:
    """Shows nothing."""

    def update(self, name: str, task: Task) -> None:
        """Nothing."""

    def finish(self, name: str, line: str) -> None:
        """Nothing."""

    def say(self, line: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Lines:
    """A line now and then, and one at the end of each document."""

    def __init__(self) -> None:
        self._rates: dict[str, Rate] = {}
        self._started_at = self._said_at = time.monotonic()
        self._last = ""

    def update(self, name: str, task: Task) -> None:
        """Say how it stands, rarer the longer it takes."""
        rate = self._rates.setdefault(name, Rate())
        rate.note(task)
        now = time.monotonic()
        if now - self._said_at >= max(LINE_SECONDS, (now - self._started_at) / 30):
            self._said_at = now
            shown = ": ".join(filter(None, (f"{name} {task.status} {task.progress:.0f} %", facts(task, rate))))
            if shown != self._last:
                self._last = shown
                self.say(shown)

    def finish(self, name: str, line: str) -> None:
        """One line."""
        self.say(line)

    def say(self, line: str) -> None:
        """One line."""
        click.echo(line, err=True)

    def close(self) -> None:
        """Nothing is left open."""


class Bars:
    """A bar for each document that is being worked on; it makes room for a line when the document is done."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

        self._rates: dict[str, Rate] = {}
        self._bars: dict[str, Any] = {}
        self._progress = Progress(
            TextColumn("{task.fields[name]}", markup=False),
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[facts]}", markup=False),
            console=Console(stderr=True, highlight=False),
            redirect_stdout=False,
        )
        self._progress.start()

    def update(self, name: str, task: Task) -> None:
        """Move the bar."""
        rate = self._rates.setdefault(name, Rate())
        rate.note(task)
        fields: dict[str, Any] = {"completed": task.progress, "facts": facts(task, rate)}
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(task.status, total=100, name=name, **fields)
        else:
            self._progress.update(self._bars[name], description=task.status, **fields)

    def finish(self, name: str, line: str) -> None:
        """The bar goes, a line stays."""
        if name in self._bars:
            self._progress.remove_task(self._bars.pop(name))
            self._progress.refresh()
        self.say(line)

    def say(self, line: str) -> None:
        """A line above the bars."""
        self._progress.console.print(line, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Stop drawing."""
        self._progress.stop()
