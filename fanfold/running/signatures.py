"""The parameters of ``run`` and ``arun``: for type checkers as a TypedDict, for people and editors as a signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypedDict, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class RunParameters(TypedDict, total=False):
    """What ``run`` and ``arun`` take besides the pipeline and its inputs."""

    items: Iterable[Any] | None
    options: dict[str, Any] | None
    database: str | None
    data: str | None
    fresh: bool
    concurrency: int | None
    straight_through: bool
    progress: bool


def shows_parameters_of(shown: Callable[..., object]) -> Callable[[Function], Function]:
    """Show the parameters of ``shown`` in ``help()`` and editors, with their default values."""

    def apply(function: Function) -> Function:
        parameters = inspect.signature(shown).parameters.values()
        vars(function)["__signature__"] = inspect.Signature([*parameters], return_annotation="Any")
        return function

    return apply
