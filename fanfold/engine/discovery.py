"""Loads pipelines by target: `package.module:name`, `file.py:name`, `file.py`, or the name of an installed one."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from fanfold.engine.installed import find_installed, installed, warn
from fanfold.errors import BadInput, NotFound
from fanfold.model.pipelines.pipeline import Pipeline, TaskFunction, as_pipeline, by_name

SERVICES = "fanfold.services"


def load(target: str) -> Pipeline:
    """Load the pipeline of a target."""
    if target.endswith(".py"):
        return _only_one(target)
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
        known = _pipelines_in(module)
        raise NotFound(
            f"There is no '{name}' in {place}."
            + (f" It has: {', '.join(known)}." if known else " It has no pipelines.")
        )
    return as_pipeline(found)


def _only_one(file: str) -> Pipeline:
    """The pipeline of a file that has one and only one."""
    known = _pipelines_in(load_file(Path(file)))
    if len(known) == 1:
        return as_pipeline(*known.values())
    if not known:
        raise NotFound(f"{file} has no pipelines.")
    raise NotFound(
        f"{file} has {len(known)} pipelines: {', '.join(known)}. Name one, such as {file}:{next(iter(known))}"
    )


def _pipelines_in(module: ModuleType) -> dict[str, Pipeline | TaskFunction[..., Any]]:
    """The pipelines of a module by the names of their variables; one that has two names once."""
    found = {
        id(value): (key, value) for key, value in vars(module).items() if isinstance(value, Pipeline | TaskFunction)
    }
    return dict(found.values())


async def finish_services(seconds: float) -> None:
    """Wait for calls that handlers made through services; loads nothing if no service was used."""
    if service.cache_info().currsize:
        await service("finish")(seconds)


_loaded: set[str] = set()


def is_loaded(name: str) -> bool:
    """Whether a service has been loaded, so that asking for it takes no time."""
    return name in _loaded


@cache
def service(name: str) -> Any:
    """A function that a higher package provides for handlers, such as `ask`; found by name, so it need not be imported here."""
    for point in entry_points(group=SERVICES, name=name):
        found = point.load()
        _loaded.add(name)
        return found
    raise NotFound(
        f"Nothing is installed that can {name}. Install Fanfold again: pip install --force-reinstall fanfold"
    )


def beside_service(service_name: str, name: str) -> Any:
    """Another function of a service's module, such as a check of its arguments."""
    return getattr(importlib.import_module(service(service_name).__module__), name)


def load_all(targets: tuple[str, ...] | list[str]) -> dict[str, Pipeline]:
    """The given pipelines and every installed one, by name; BadPipeline if a given one has the name of another."""
    found: list[Pipeline] = []
    for one in installed():
        if one.pipeline is None:
            warn(f"Ignoring an installed pipeline: {one.problem}")
        elif not one.hidden_by:
            found.append(one.pipeline)
    return by_name([*found, *map(load, targets)])


def load_file(path: Path, name: str | None = None) -> ModuleType:
    """Load a Python file as a module; its folder becomes importable, as if the file were run."""
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
    if (found := find_installed(name)) is not None:
        return found
    names = sorted({one.name for one in installed() if one.pipeline is not None})
    hint = f" Installed: {', '.join(names)}." if names else ""
    raise NotFound(f"There is no pipeline '{name}'. Name one as package.module:pipeline or file.py:pipeline.{hint}")


def _imported(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise NotFound(f"There is no module {error.name}. Is it installed, or in this folder?") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Including SystemExit: the command must not end silently.
        raise BadInput(f"{name} cannot be imported: {type(error).__name__}: {error}", code="bad_target") from error
