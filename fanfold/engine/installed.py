"""Finds what installed packages provide: applications, their commands, and pipelines by their declared names.

Only the declaration of an application is imported before the rest is needed. A package that cannot be imported, or that uses a
name already taken, causes a warning and affects nothing else.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from fanfold.errors import BadInput
from fanfold.model.pipelines.application import AppCommand, Application

if TYPE_CHECKING:
    from fanfold.model.pipelines.pipeline import Pipeline

APPLICATIONS = "fanfold.apps"
PIPELINES = "fanfold.pipelines"
OURS = "fanfold."
"""Prefix of this package's own targets; built-in applications take their names first."""
log = logging.getLogger("fanfold.discovery")


@cache
def warn(sentence: str) -> None:
    """Warn about an installed package, once per process."""
    log.warning("[discovery] %s", sentence)


def imported(name: str, place: str, group: str = APPLICATIONS) -> Any:
    """Import a target like `package.module:name`. Anything it raises except Ctrl-C becomes BadInput, even SystemExit."""
    try:
        return EntryPoint(name, place, group).load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        problem = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise BadInput(f"{name} cannot be loaded from {place}: {problem}", code="bad_target") from error


@cache
def _brought() -> tuple[tuple[Application, str], ...]:
    """Each application with the target of its declaration, in their order."""
    found = []
    for point in sorted(entry_points(group=APPLICATIONS), key=lambda one: (one.name, one.value)):
        try:
            application = imported(f"the application {point.name}", point.value)
        except BadInput as error:
            warn(f"Ignoring an installed package: {error}")
            continue
        if isinstance(application, Application):
            found.append((application, point.value))
        else:
            warn(f"Ignoring {point.name}: {point.value} is not a fanfold.Application.")
    return tuple(sorted(found, key=lambda one: one[0].order))


def applications() -> tuple[Application, ...]:
    """The applications of installed packages, in their order; one that cannot be loaded is skipped with a warning."""
    return tuple(application for application, _ in _brought())


@dataclass(frozen=True)
class Brought:
    """A command and its application."""

    command: AppCommand
    application: Application
    place: str

    def load(self, kind: type) -> Any:
        """Load the command; BadInput if it cannot be imported or is not of this kind."""
        name, target = self.command.name, self.command.target
        found = imported(f"The command {name} of the application {self.application.name}", target)
        if not isinstance(found, kind):
            raise BadInput(
                f"The command {name} of the application {self.application.name} cannot be used: {target} is not a click "
                f"command, but {found!r:.100}.",
                code="bad_target",
            )
        return found


@cache
def commands(taken: tuple[str, ...]) -> dict[str, Brought]:
    """The commands of all applications by name. One whose name is taken is skipped with a warning; ours come first."""
    owners = dict.fromkeys(taken, "Fanfold itself")
    found: dict[str, Brought] = {}
    for application, place in sorted(_brought(), key=lambda one: not one[1].startswith(OURS)):
        for command in application.commands:
            if command.name in owners:
                warn(
                    f"Ignoring the command {command.name} of {application.name} ({place}): "
                    f"{owners[command.name]} already has a command with that name."
                )
                continue
            owners[command.name] = f"{application.name} ({place})"
            found[command.name] = Brought(command, application, place)
    return found


@dataclass(frozen=True)
class Announced:
    """A pipeline of an installed package, not loaded yet."""

    name: str
    """Its expected name. The real one is known after loading."""
    target: str

    def load(self) -> Pipeline:
        """Load the pipeline; BadInput if its package cannot be imported or its definition is invalid."""
        from fanfold.model.pipelines.pipeline import as_pipeline

        found = imported(f"The installed pipeline {self.name}", self.target, PIPELINES)
        try:
            pipeline = as_pipeline(found)
            pipeline.plan()
        except Exception as error:
            raise BadInput(f"The installed pipeline {self.name} cannot be used: {error}", code="bad_target") from error
        return pipeline


@dataclass(frozen=True)
class Installed:
    """A pipeline of an installed package under its own name, or why it cannot be loaded."""

    name: str
    target: str
    pipeline: Pipeline | None = None
    problem: str = ""
    hidden_by: str = ""
    """Target of another pipeline that has the name; this one is then available only by its target."""


@cache
def announced() -> tuple[Announced, ...]:
    """Pipelines of installed packages, each target once, ours first: from applications and from entry points."""
    names: dict[str, str] = {}
    for application in applications():
        for name, target in application.pipeline_targets():
            names.setdefault(target, name)
    for point in sorted(entry_points(group=PIPELINES), key=lambda one: (one.name, one.value)):
        names.setdefault(point.value, point.name)
    found = [Announced(name, target) for target, name in names.items()]
    return tuple(sorted(found, key=lambda one: not one.target.startswith(OURS)))


def installed() -> list[Installed]:
    """All installed pipelines, loaded. If two have the same name, the first gets it, and a warning names both."""
    return _named(_loaded(announced()))


def find_installed(name: str) -> Pipeline | None:
    """The installed pipeline with this name, if any. Others are loaded only if none has the expected name."""
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
    """These pipelines by their own names, those with the expected name first, in the order of the search."""
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
    """Each pipeline once, marked if another one has its name."""
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
