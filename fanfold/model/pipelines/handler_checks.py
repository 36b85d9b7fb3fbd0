"""Refuses handlers and types at their definition that could not work later: wrong parameters, results that cannot be kept."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.kept_types import resolved, without_later
from fanfold.model.plan import Kind
from fanfold.model.values.codecs import codec_of
from fanfold.model.values.hints import not_kept

ARGUMENT = {Kind.STEP: "task", Kind.SPLIT: "task", Kind.EACH: "item"}
"""What a handler of each kind is called with; a merge also gets the results."""


def check_parameters(handler: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    """Refuse a handler that cannot be called with what its stage gives it."""
    try:
        signature = inspect.signature(handler)
    except ValueError:  # Some functions written in C do not tell.
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        given = " and ".join(f"the {argument}" for argument in arguments)
        name = getattr(handler, "__qualname__", repr(handler))
        raise BadPipeline(
            f"{name}{signature} cannot be a handler here: it is called with {given}. "
            f"Write it as {name}({', '.join(arguments)})."
        ) from None


def check_output(handler: Callable[..., Any], what: str) -> None:
    """Refuse a handler whose annotation says that it returns what cannot be kept: better now than after a paid call."""
    kind = not_kept(without_later(resolved(handler, "return").get("return", Any)))
    if kind is not None:
        raise BadPipeline(
            f"{what} returns {kind.__name__}, which cannot be kept. Return JSON, a dataclass or another type that is kept, "
            f"or say how it is kept before this: fanfold.register_codec({kind.__name__}, encode=…, decode=…)."
        )


def check_declared_types(declared: Iterable[Any], pipeline: str) -> tuple[type[Any], ...]:
    """The types that a pipeline was given; BadPipeline names one that cannot be kept."""
    known = tuple(declared)
    for kind in known:
        if not isinstance(kind, type) or codec_of(kind) is None:
            name = getattr(kind, "__name__", repr(kind))
            raise BadPipeline(
                f"Pipeline {pipeline} has {name} among its types, and no codec keeps it. Use a dataclass, an enum or a "
                "pydantic model, or register one with fanfold.register_codec."
            )
    return known
