"""Reads values of a task for an attempt, with the types from the pipeline's annotations."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fanfold.errors import Unreadable
from fanfold.model.values import serial
from fanfold.model.values.decoding import Decoder, unreadable

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work


def loaded(work: Work, text: str | None, what: str, hint: Any = Any) -> Any:
    """A value stored with the task; ``what`` names it in the error."""
    try:
        return serial.load(text, work._bind, work._types.reading, hint)
    except Unreadable as problem:
        raise unreadable(what, problem) from problem


def options(work: Work, text: str | None) -> dict[str, Any]:
    """Options by name. For a function they are its arguments, and have the types of its parameters."""
    types = work._types
    if text is None or not types.has_arguments:
        return loaded(work, text, "The options") or {}
    decoder = Decoder(types.reading, work._bind)
    try:
        return {name: decoder.value(one, types.named(name)) for name, one in json.loads(text).items()}
    except Unreadable as problem:
        raise unreadable("The options", problem) from problem


def arguments(work: Work) -> list[Any]:
    """All inputs of the task, with the types of a function's parameters."""
    decoder = Decoder(work._types.reading, work._bind)
    try:
        found = json.loads(work._row.input or "[]")
        return [decoder.value(one, work._types.argument(position)) for position, one in enumerate(found)]
    except Unreadable as problem:
        raise unreadable("The input", problem) from problem
