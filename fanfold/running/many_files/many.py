"""Declares a command over many files: its definition, its sources, and what they share."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.running.many_files.saving import Placed, Saving, whole
from fanfold.running.many_files.sources import STDIN, Endings

if TYPE_CHECKING:
    from fanfold.engine.client import Client
    from fanfold.engine.worker.processes.children import Children
    from fanfold.model.money.budgets import BudgetWish
    from fanfold.model.pipelines.pipeline import Pipeline
    from fanfold.model.task import Task, TaskRow
    from fanfold.running.terminal.display import Display


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
    given: str = ""
    """The URL, or `-`, that the source was fetched from."""
    task: Task | None = None
    number: int = 0
    """Number of its task in the database."""
    row: TaskRow | None = None
    """Its task as last read by the command that runs it."""
    key: str | None = None
    """Idempotency key, if it was computed before."""
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
    begun_at: float = 0.0

    @property
    def name(self) -> str:
        """Printable name for display."""
        text = os.fsencode(
            self.given if self.given not in ("", STDIN) else self.path.name if self.given else self.path
        ).decode("utf-8", "replace")
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
