"""Gives one function the parameters of another, so that a list of them stands in one place."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")


def with_parameters_of(shown: Callable[Given, object]) -> Callable[[Callable[..., Found]], Callable[Given, Found]]:
    """Give a function the parameters of ``shown``, for people, editors and type checkers."""

    def apply(function: Callable[..., Found]) -> Callable[Given, Found]:
        parameters = inspect.signature(shown).parameters.values()
        vars(function)["__signature__"] = inspect.Signature([*parameters], return_annotation="Any")
        return function

    return apply
