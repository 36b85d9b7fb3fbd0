"""An application: the pipelines and commands that a package brings, declared without importing them.

An entry point of the group ``fanfold.apps`` names one. What belongs to a task (options, actions, forms, views, words) is
declared on its pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fanfold.errors import BadPipeline

COMMAND_NAME = re.compile(r"[a-z][a-z0-9-]*")
TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class AppCommand:
    """A command of the ``fanfold`` program. Its ``target`` is a click command, imported when somebody uses it."""

    name: str
    target: str
    """`package.module:name`."""
    help: str
    """One sentence for the list of commands."""
    example: str = ""
    """How it is typed, without `fanfold`: `convert book.pdf`."""
    files: str = ""
    """`package.module:function` that makes its ``FileCommand``, for a command that saves results: so that these can be written
    again when a task is merged anew."""

    def __post_init__(self) -> None:
        if not COMMAND_NAME.fullmatch(self.name):
            raise BadPipeline(
                f"'{self.name}' cannot name a command: use lower-case letters, digits and -, starting with a letter."
            )
        _check_target(self.target, f"command {self.name}")
        if self.files:
            _check_target(self.files, f"file command of {self.name}")


@dataclass(frozen=True)
class Application:
    """What a package brings. Making one imports neither its pipelines nor its commands."""

    name: str
    title: str
    pipelines: tuple[str, ...] = ()
    """Where its pipelines are: `package.module:name`, the last part being the pipeline's own name unless given as `NAME=…`."""
    commands: tuple[AppCommand, ...] = ()

    def __post_init__(self) -> None:
        for target in self.pipelines:
            _check_target(target.rpartition("=")[2], f"pipeline of {self.name}")

    def pipeline_targets(self) -> dict[str, str]:
        """Where each pipeline is, by its name."""
        found = {}
        for entry in self.pipelines:
            name, _, target = entry.rpartition("=")
            found[name or target.rpartition(":")[2]] = target
        return found


def commands_of(applications: Iterable[Application], taken: Iterable[str]) -> dict[str, AppCommand]:
    """The commands of all applications by name; BadPipeline when two share a name, or one is taken already."""
    owners = dict.fromkeys(taken, "Fanfold itself")
    found: dict[str, AppCommand] = {}
    for application in applications:
        for command in application.commands:
            if command.name in owners:
                raise BadPipeline(
                    f"Two packages bring the command {command.name}: {owners[command.name]} and {application.name}. "
                    "Uninstall one of them."
                )
            owners[command.name] = application.name
            found[command.name] = command
    return found


def _check_target(target: str, what: str) -> None:
    if not TARGET.fullmatch(target):
        raise BadPipeline(f"The {what} is given as '{target}'. Write package.module:name.")
