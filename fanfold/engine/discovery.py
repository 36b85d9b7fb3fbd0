"""Finds pipelines and applications: `package.module:name`, `file.py:name`, or the name of an installed one."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from fanfold.errors import BadInput, NotFound
from fanfold.model.pipelines.application import Application
from fanfold.model.pipelines.pipeline import Pipeline, TaskFunction, as_pipeline, by_name

APPLICATIONS = "fanfold.apps"
PIPELINES = "fanfold.pipelines"
SERVICES = "fanfold.services"
log = logging.getLogger("fanfold.discovery")


def load(target: str) -> Pipeline:
    """The pipeline that a person named."""
    place, colon, name = target.rpartition(":")
    if not colon:
        return _installed(target)
    if place.endswith(".py"):
        module = load_file(Path(place))
    else:
        module = _imported(place)
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        known = [key for key, value in vars(module).items() if isinstance(value, Pipeline | TaskFunction)]
        raise NotFound(
            f"There is no '{name}' in {place}."
            + (f" It has: {', '.join(known)}." if known else " It has no pipelines.")
        )
    return as_pipeline(found)


@cache
def applications() -> tuple[Application, ...]:
    """The applications that installed packages bring, by name; one that cannot be loaded is passed over with a warning."""
    found: list[Application] = []
    for point in sorted(entry_points(group=APPLICATIONS), key=lambda one: one.name):
        try:
            application = point.load()
        except Exception as error:
            log.warning("[discovery] Passed over the application %s: %s: %s", point.name, type(error).__name__, error)
            continue
        if not isinstance(application, Application):
            log.warning("[discovery] Passed over %s: %s is no fanfold.Application.", point.name, point.value)
            continue
        found.append(application)
    return tuple(found)


@dataclass(frozen=True)
class Announced:
    """A pipeline that an installed package brings, not loaded yet."""

    name: str
    target: str

    def load(self) -> Pipeline:
        """The pipeline; BadInput when its package cannot be imported."""
        try:
            return as_pipeline(EntryPoint(self.name, self.target, PIPELINES).load())
        except Exception as error:
            raise BadInput(
                f"The installed pipeline {self.name} cannot be loaded from {self.target}: {type(error).__name__}: {error}",
                code="bad_target",
            ) from error


def installed() -> dict[str, Announced]:
    """Pipelines that installed packages bring: those of applications, and those announced by themselves."""
    found = {
        name: Announced(name, target)
        for application in applications()
        for name, target in application.pipeline_targets().items()
    }
    for point in entry_points(group=PIPELINES):
        known = found.setdefault(point.name, Announced(point.name, point.value))
        if known.target != point.value:
            log.warning(
                "[discovery] Passed over the pipeline %s of %s: %s has that name.",
                point.name,
                point.value,
                known.target,
            )
    return found


async def finish_services(seconds: float) -> None:
    """Let what handlers have asked for come to its end; nothing is loaded for that when nobody has asked."""
    if service.cache_info().currsize:
        await service("finish")(seconds)


@cache
def service(name: str) -> Any:
    """What a room above the engine does for handlers, such as `ask`: found by its name, so that the engine need not know it."""
    for point in entry_points(group=SERVICES, name=name):
        return point.load()
    raise NotFound(
        f"Nothing is installed that can {name}. Install Fanfold again: pip install --force-reinstall fanfold"
    )


def beside_service(service_name: str, name: str) -> Any:
    """What the module of a service has beside it, such as a check of what it will be asked."""
    return getattr(importlib.import_module(service(service_name).__module__), name)


def find_installed(name: str) -> Pipeline | None:
    """The pipeline that an installed package announces under its own name, if there is one."""
    point = installed().get(name)
    return None if point is None else point.load()


def load_all(targets: tuple[str, ...] | list[str]) -> dict[str, Pipeline]:
    """The named pipelines and every installed one, by name; BadPipeline when two of them share one."""
    found: list[Pipeline] = []
    for name, point in installed().items():
        try:
            pipeline = point.load()
        except Exception as error:
            log.warning("[discovery] Passed over the installed pipeline %s: %s: %s", name, type(error).__name__, error)
            continue
        found.append(pipeline)
    return by_name([*found, *map(load, targets)])


def load_file(path: Path, name: str | None = None) -> ModuleType:
    """A Python file as a module; its folder is importable, as if it were run."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    path = path.resolve()
    name = name or f"{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} cannot be loaded as Python.")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise BadInput(f"{path} cannot be loaded: {type(error).__name__}: {error}", code="bad_target") from error
    return module


def _installed(name: str) -> Pipeline:
    points = installed()
    if name not in points:
        hint = f" Installed: {', '.join(sorted(points))}." if points else ""
        raise NotFound(f"There is no pipeline '{name}'. Name one as package.module:pipeline or file.py:pipeline.{hint}")
    return points[name].load()


def _imported(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotFound(f"There is no module {error.name}. Is it installed, or in this folder?") from None
    except Exception as error:
        raise BadInput(f"{name} cannot be imported: {type(error).__name__}: {error}", code="bad_target") from error
