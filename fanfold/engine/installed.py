"""Finds what installed packages bring: applications, their commands, and pipelines by the names that these declare.

Nothing of an application but its declaration is imported before it is needed. A package that cannot be imported, or that takes
a name which another one has, is told in a warning and costs nobody else anything.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.pipelines.application import AppCommand, Application
from fanfold.model.pipelines.pipeline import Pipeline, as_pipeline

APPLICATIONS = "fanfold.apps"
PIPELINES = "fanfold.pipelines"
OURS = "fanfold."
"""How places of this package begin: what comes in the box has its names first."""
log = logging.getLogger("fanfold.discovery")


@cache
def warn(sentence: str) -> None:
    """Say something about an installed package, once in a process."""
    log.warning("[discovery] %s", sentence)


def imported(name: str, place: str, group: str = APPLICATIONS) -> Any:
    """What is at a place like `package.module:name`. Whatever it raises but Ctrl-C is BadInput: also an exit while importing."""
    try:
        return EntryPoint(name, place, group).load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise BadInput(f"{name} cannot be loaded from {place}: {problem}", code="bad_target") from error


@cache
def _brought() -> tuple[tuple[Application, str], ...]:
    """Each application with the place of its declaration, by name."""
    found = []
    for point in sorted(entry_points(group=APPLICATIONS), key=lambda one: (one.name, one.value)):
        try:
            application = imported(f"the application {point.name}", point.value)
        except BadInput as error:
            warn(f"Passed over an installed package: {error}")
            continue
        if isinstance(application, Application):
            found.append((application, point.value))
        else:
            warn(f"Passed over {point.name}: {point.value} is no fanfold.Application.")
    return tuple(found)


def applications() -> tuple[Application, ...]:
    """The applications that installed packages bring, by name; one that cannot be loaded is passed over with a warning."""
    return tuple(application for application, _ in _brought())


@dataclass(frozen=True)
class Brought:
    """A command with the application that brings it."""

    command: AppCommand
    application: Application
    place: str

    def load(self, kind: type) -> Any:
        """The command itself, of this kind; BadInput when it cannot be imported or is something else."""
        name, target = self.command.name, self.command.target
        found = imported(f"The command {name} of the application {self.application.name}", target)
        if not isinstance(found, kind):
            raise BadInput(
                f"The command {name} of the application {self.application.name} cannot be used: {target} is no click "
                f"command, but {found!r:.100}.",
                code="bad_target",
            )
        return found


@cache
def commands(taken: tuple[str, ...]) -> dict[str, Brought]:
    """The commands of all applications by name. One whose name is taken is left out with a warning; ours come first."""
    owners = dict.fromkeys(taken, "Fanfold itself")
    found: dict[str, Brought] = {}
    for application, place in sorted(_brought(), key=lambda one: not one[1].startswith(OURS)):
        for command in application.commands:
            if command.name in owners:
                warn(
                    f"Passed over the command {command.name} of {application.name} ({place}): "
                    f"{owners[command.name]} has a command of that name."
                )
                continue
            owners[command.name] = f"{application.name} ({place})"
            found[command.name] = Brought(command, application, place)
    return found


@dataclass(frozen=True)
class Announced:
    """A pipeline that an installed package brings, not loaded yet."""

    name: str
    """What it is probably called. Its own name is known when it is loaded."""
    target: str

    def load(self) -> Pipeline:
        """The pipeline; BadInput when its package cannot be imported, or its definition makes no sense."""
        found = imported(f"The installed pipeline {self.name}", self.target, PIPELINES)
        try:
            pipeline = as_pipeline(found)
            pipeline.plan()
        except Exception as error:
            raise BadInput(f"The installed pipeline {self.name} cannot be used: {error}", code="bad_target") from error
        return pipeline


@dataclass(frozen=True)
class Installed:
    """A pipeline that an installed package brings, under its own name; or why it cannot be loaded."""

    name: str
    target: str
    pipeline: Pipeline | None = None
    problem: str = ""
    hidden_by: str = ""
    """The target of another pipeline that has the name: then this one is had by its target only."""


@cache
def announced() -> tuple[Announced, ...]:
    """Pipelines that installed packages bring, each target once, ours first: of applications, and announced by themselves."""
    names: dict[str, str] = {}
    for application in applications():
        for name, target in application.pipeline_targets():
            names.setdefault(target, name)
    for point in entry_points(group=PIPELINES):
        names.setdefault(point.value, point.name)
    found = [Announced(name, target) for target, name in names.items()]
    return tuple(sorted(found, key=lambda one: (not one.target.startswith(OURS), one.name, one.target)))


def installed() -> list[Installed]:
    """All installed pipelines, loaded. Of two with one name the first has it, and a warning names both."""
    return _named(_loaded(announced()))


def find_installed(name: str) -> Pipeline | None:
    """The installed pipeline that declares this name, if there is one. The others are loaded only if none is likely to."""
    likely = [one for one in announced() if one.name == name]
    others = [one for one in announced() if one.name != name]
    known: list[Installed] = []
    for points in (likely, others):
        known += _loaded(points)
        for one in _named(known):
            if one.name == name and one.pipeline is not None and not one.hidden_by:
                return one.pipeline
    for one in known:
        if one.name == name:
            raise BadInput(one.problem, code="bad_target")
    return None


def _loaded(points: Iterable[Announced]) -> list[Installed]:
    """These pipelines by their own names; those that are called as expected come first, as they are looked at first."""
    found: list[Installed] = []
    for point in points:
        try:
            pipeline = point.load()
        except BadInput as error:
            found.append(Installed(point.name, point.target, problem=str(error)))
        else:
            found.append(Installed(pipeline.name, point.target, pipeline))
    expected = {point.target: point.name for point in points}
    return sorted(found, key=lambda one: one.name != expected[one.target])


def _named(found: list[Installed]) -> list[Installed]:
    """Each pipeline once, marked when another one has its name."""
    owners: dict[str, Installed] = {}
    told: list[Installed] = []
    for one in found:
        owner = one if one.pipeline is None else owners.setdefault(one.name, one)
        if owner is one:
            told.append(one)
        elif owner.pipeline is not one.pipeline:
            warn(
                f"Two installed pipelines are named {one.name}: that name means {owner.target}. "
                f"To use the other one, name it as {one.target}."
            )
            told.append(replace(one, hidden_by=owner.target))
    return told
