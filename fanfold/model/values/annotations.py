"""Reads annotations: which classes they name, whether values need more than JSON, and whether they can be stored at all."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from fanfold.model.values.codecs import JSON_TYPES, codec_of, is_model, registered_count
from fanfold.model.values.files import File

WRAPPERS = (typing.Annotated, typing.Required, typing.NotRequired, typing.Final, typing.ClassVar)
NOT_TEXT = (int, float, bool)
"""Types of mapping keys that JSON stores as text and that are converted back."""
UNBUILT = (str, int, float, bool, type(None), object, File)
CONVERTED = (tuple, set, frozenset)
"""Stored as lists, and converted back where the annotation says so."""


def bare(hint: Any) -> Any:
    """The annotation without the parts that do not change the value: `Annotated`, `NewType`, the name of a type alias."""
    while True:
        if typing.get_origin(hint) in WRAPPERS:
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        elif isinstance(hint, typing.TypeVar | str | typing.ForwardRef) or hint is None:
            return Any if hint is not None else type(None)
        else:
            return hint


def members(union: Any) -> tuple[Any, ...]:
    """The choices of a union."""
    return tuple(bare(choice) for choice in typing.get_args(union))


def arguments_of(hint: Any) -> tuple[Any, ...]:
    """The arguments of an annotation, as in `list[int]`."""
    return tuple(one if one is Ellipsis else bare(one) for one in typing.get_args(hint))


def is_plain(hint: Any) -> bool:
    """Whether plain JSON already is what the annotation says. An unknown class is left as it is."""
    if hint is Any or hint in UNBUILT:
        return True
    try:
        return _is_plain(hint, registered_count())
    except TypeError:  # Not hashable, such as a Literal of lists.
        return _look(hint)


@lru_cache(maxsize=4_000)
def _is_plain(hint: Any, _registered: int) -> bool:
    return _look(hint)


def _look(hint: Any) -> bool:
    hint = bare(hint)
    origin = typing.get_origin(hint) or hint
    if isinstance(origin, type) and is_typed(origin):
        return False
    arguments = arguments_of(hint)
    if isinstance(origin, type) and issubclass(origin, dict) and arguments and arguments[0] in NOT_TEXT:
        return False
    if typing.is_typeddict(hint):
        return all(is_plain(inner) for inner in typing.get_type_hints(hint).values())
    return all(one is Ellipsis or not _is_type_argument(one) or is_plain(one) for one in arguments)


def is_typed(kind: type[Any]) -> bool:
    """Whether values of a class differ from what JSON gives."""
    if kind in UNBUILT:
        return False
    return kind in CONVERTED or hasattr(kind, "_fields") or issubclass(kind, Enum) or codec_of(kind) is not None


def _is_type_argument(argument: Any) -> bool:
    return isinstance(argument, type) or typing.get_origin(argument) is not None


def classes_in(hint: Any, seen: set[Any] | None = None) -> Iterator[type[Any]]:
    """Every class that an annotation names, once each, including those in fields of dataclasses and entries of typed dicts."""
    seen = set() if seen is None else seen
    hint = bare(hint)
    origin = typing.get_origin(hint) or hint
    if typing.get_origin(hint) is typing.Literal:
        return
    for argument in arguments_of(hint):
        if argument is not Ellipsis and not isinstance(argument, list):
            yield from classes_in(argument, seen)
    if not isinstance(origin, type) or origin is types.UnionType or origin in seen:
        return
    seen.add(origin)
    yield origin
    for inner in _inner(origin):
        yield from classes_in(inner, seen)


def _inner(kind: type[Any]) -> list[Any]:
    if not (is_dataclass(kind) or typing.is_typeddict(kind) or hasattr(kind, "_fields")):
        return []
    codec = codec_of(kind)
    if hasattr(kind, "kept_types") or (codec is not None and codec.decode is not None):
        return []
    hints = field_hints(kind)
    names = [one.name for one in fields(kind) if one.init] if is_dataclass(kind) else list(hints)
    return [hints.get(name, Any) for name in names]


def field_hints(kind: Any) -> dict[str, Any]:
    """The annotations of a class by field; empty if only a type checker can resolve them."""
    return _field_hints(kind)


@lru_cache(maxsize=1_000)
def _field_hints(kind: Any) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind)
    except Exception:  # An annotation is code: it may raise anything.
        return {}


def not_kept(hint: Any) -> type[Any] | None:
    """The first class in an annotation whose values cannot be stored; None if there is none or it cannot be determined."""
    return next((kind for kind in classes_in(hint) if not _may_be_kept(kind)), None)


def _may_be_kept(kind: type[Any]) -> bool:
    if kind in UNBUILT or issubclass(kind, JSON_TYPES) or hasattr(kind, "kept_types"):
        return True
    if is_model(kind):
        return not any(_is_secret(one.annotation) for one in kind.model_fields.values())
    if codec_of(kind) is not None:
        return True
    is_abstract = inspect.isabstract(kind) or getattr(kind, "_is_protocol", False)
    return is_abstract or kind.__module__ in ("typing", "collections.abc")


def _is_secret(hint: Any) -> bool:
    """Whether pydantic would write stars instead of the value."""
    return any(kind.__module__ == "pydantic.types" and "Secret" in kind.__name__ for kind in classes_in(hint))
