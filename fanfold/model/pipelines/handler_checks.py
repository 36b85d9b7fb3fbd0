"""Rejects handlers and types at definition that could not work later: wrong parameters, results that cannot be stored."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fanfold.errors import BadPipeline
from fanfold.model.pipelines.kept_types import listed, resolved, without_later
from fanfold.model.plan import Kind
from fanfold.model.values.annotations import not_kept
from fanfold.model.values.codecs import codec_of

ARGUMENT = {Kind.STEP: "task", Kind.SPLIT: "task", Kind.EACH: "item"}
"""The parameters of a handler of each kind; a merge also gets the results."""


MOST_IN_BATCH = 1_000
"""Largest batch: more items would not fit one short transaction."""
LEAST_CRASHES = 3
"""Smallest crash limit of a batch stage."""


def check_parameters(handler: Callable[..., Any], arguments: tuple[str, ...]) -> None:
    """Reject a handler that cannot be called with what its stage passes."""
    try:
        signature = inspect.signature(handler)
    except ValueError:  # Some functions written in C do not report their parameters.
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


def check_output(handler: Callable[..., Any], what: str, *, in_list: bool = False) -> None:
    """Reject a handler whose return annotation cannot be stored: better now than after a paid call."""
    hint = resolved(handler, "return").get("return", Any)
    kind = not_kept(without_later(listed(hint) if in_list else hint))
    if kind is not None:
        raise BadPipeline(
            f"{what} returns {kind.__name__}, which cannot be stored. Return JSON, a dataclass or another storable type, "
            f"or register a codec before this handler: fanfold.register_codec({kind.__name__}, encode=…, decode=…)."
        )


def check_declared_types(declared: Iterable[Any], pipeline: str) -> tuple[type[Any], ...]:
    """The types that a pipeline was given; BadPipeline names one that cannot be stored."""
    known = tuple(declared)
    for kind in known:
        if not isinstance(kind, type) or codec_of(kind) is None:
            name = getattr(kind, "__name__", repr(kind))
            raise BadPipeline(
                f"Pipeline {pipeline} lists the type {name}, for which no codec is registered. Use a dataclass, an enum or a "
                "pydantic model, or register one with fanfold.register_codec."
            )
    return known


def check_batch(stage: str, kind: Kind, rules: Mapping[str, Any]) -> None:
    """BadPipeline unless ``batch`` fits the stage and its other rules."""
    batch = rules.get("batch")
    if batch is None:
        return
    if kind is not Kind.EACH:
        raise BadPipeline(f"Stage {stage} has batch={batch!r}; only an `each` stage has items to put in a batch.")
    if not isinstance(batch, int) or not 1 <= batch <= MOST_IN_BATCH:
        raise BadPipeline(f"Stage {stage} has batch={batch!r}; it must be a number from 1 to {MOST_IN_BATCH}.")
    limit, crash_limit = rules.get("limit"), rules.get("crash_limit")
    if limit is not None and limit < batch:
        raise BadPipeline(
            f"Stage {stage} has batch={batch} and limit={limit}. The limit counts items, so no batch would ever be full: "
            f"use limit={batch} or more, or concurrency= for the number of calls."
        )
    if crash_limit is not None and crash_limit < LEAST_CRASHES:
        raise BadPipeline(
            f"Stage {stage} has batch={batch} and crash_limit={crash_limit}. An item can be lost because of another item of "
            f"its batch, and runs alone after its second crash: use crash_limit={LEAST_CRASHES} or more."
        )


def check_resources(stage: str, resources: object) -> None:
    """BadPipeline unless it names amounts, such as ``{"CPU": 1, "GPU": 0.5}``."""
    if resources is None:
        return
    pairs = resources.items() if isinstance(resources, Mapping) else [("", None)]
    if not all(
        isinstance(name, str) and name and isinstance(value, int | float) and value >= 0 for name, value in pairs
    ):
        raise BadPipeline(
            f'Stage {stage} has resources={resources!r}; write names with amounts, such as {{"CPU": 1, "GPU": 0.5}}.'
        )
