"""The parameters of ``run`` and ``arun``: a TypedDict for type checkers, a signature for people and editors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class RunParameters(TypedDict, total=False):
    """What ``run`` and ``arun`` take besides the pipeline and its inputs."""

    items: Iterable[Any] | None
    """The items, for a pipeline that begins with `each`."""
    options: dict[str, Any] | None
    """The options of the task."""
    database: str | None
    """The URL of the database; by default that of the settings."""
    data: str | None
    """The data folder; by default that of the settings."""
    fresh: bool
    """Start a new task, even if the same work was done before."""
    concurrency: int | None
    """How many items run at the same time; by default what the stages ask for."""
    straight_through: bool
    """Do not wait at gates."""
    progress: bool
    """Show progress on standard error."""
    budget: Any
    """What its calls to models may cost, in US dollars."""
    strict_budget: bool
    """Reserve the most that each call can cost."""
    allow_unknown_cost: bool
    """Ask models without a known price even if there is a budget."""


def shows_parameters_of(shown: Callable[..., object]) -> Callable[[Function], Function]:
    """Show the parameters of ``shown`` in ``help()`` and editors, with their default values."""

    def apply(function: Function) -> Function:
        parameters = inspect.signature(shown).parameters.values()
        vars(function)["__signature__"] = inspect.Signature([*parameters], return_annotation="Any")
        return function

    return apply
