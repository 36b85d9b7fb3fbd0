"""Applications: the pipelines and commands that a package provides, declared without importing them.

An entry point of the group ``fanfold.apps`` names one. What belongs to a task (options, actions, forms, views, words) is
declared on its pipeline.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fanfold.errors import BadPipeline

COMMAND_NAME = re.compile(r"[a-z][a-z0-9-]*")
TARGET = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True)
class AppCommand:
    """A command of the ``fanfold`` program. Its ``target`` is a click command, imported when it is used."""

    name: str
    target: str
    """`package.module:name`."""
    help: str
    """One sentence for the list of commands."""
    example: str = ""
    """How it is typed, without `fanfold`: `convert book.pdf`."""
    files: str = ""
    """`package.module:function` that makes its ``FileCommand``, for a command that saves results, so that they can be written
    again after a repeated merge."""

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
    """What a package provides. Creating one imports neither its pipelines nor its commands."""

    name: str
    title: str
    pipelines: tuple[str, ...] = ()
    """Where its pipelines are: `package.module:variable`. They are known by the names that they declare. Write
    `NAME=package.module:variable` if a pipeline's name differs from its variable, so that it is found without loading others."""
    commands: tuple[AppCommand, ...] = ()
    order: int = 100
    """Its position in the help and on the page, lowest first; then by name."""

    def __post_init__(self) -> None:
        for field, example in (("pipelines", '"package.module:name"'), ("commands", "ff.AppCommand(…)")):
            if not isinstance(getattr(self, field), tuple | list):
                raise BadPipeline(f"The {field} of {self.name} must be a tuple. Write {field}=({example},).")
        for command in self.commands:
            if not isinstance(command, AppCommand):
                raise BadPipeline(f"The commands of {self.name} have {command!r:.100}, which is not an ff.AppCommand.")
        for target in self.pipelines:
            _check_target(str(target).rpartition("=")[2], f"pipeline of {self.name}")

    def pipeline_targets(self) -> list[tuple[str, str]]:
        """The likely name of each pipeline, and where it is defined."""
        parts = [entry.rpartition("=") for entry in self.pipelines]
        return [(name or target.rpartition(":")[2], target) for name, _, target in parts]


def _check_target(target: str, what: str) -> None:
    if not TARGET.fullmatch(target):
        raise BadPipeline(f"The {what} is given as '{target}'. Write package.module:name.")
