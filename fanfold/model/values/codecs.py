"""The types that can be stored besides those of JSON, and how each is written. Nothing is ever pickled.

A value of such a type is stored as readable JSON with the name of its type:

    {"$type": "date", "$value": "2026-11-17"}

A name in stored data never imports anything: it is looked up among registered types and the types of the pipeline.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any, TypeVar
from uuid import UUID

from fanfold.errors import BadPipeline

TYPE_MARK, VALUE_MARK = "$type", "$value"
PLAIN_DICT = "dict"
"""Marks a plain mapping that happens to have exactly these two keys, so that it is not read as a typed value."""
JSON_TYPES = (str, int, float, bool, type(None), dict, list, tuple, set, frozenset)
OWN_RECORDS = ("fanfold.model.", "fanfold.engine.", "fanfold.store.")
"""Where Fanfold's own records are defined: a task or an item is not a value to store."""
Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Codec:
    """How one type is stored: its name, and the conversions to JSON and back.

    Without ``decode`` the value is made from the annotations of its class (dataclasses, enums, pydantic models).
    """

    type: type[Any]
    name: str
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class Tagged:
    """A typed value in its stored form, for code that changes what is around it and writes it back."""

    name: str
    content: Any


_by_type: dict[type[Any], Codec] = {}
_by_name: dict[str, Codec] = {}


def register_codec(
    type: type[Kept],
    *,
    name: str | None = None,
    encode: Callable[[Kept], Any] | None = None,
    decode: Callable[[Any], Kept] | None = None,
) -> None:
    """Define how values of a type are stored, or under which name. Call it where the type is defined: every process needs it.

    ``encode`` returns a value that JSON can hold, readable in the database, and ``decode`` converts it back; both may use
    other types that can be stored. Dataclasses, enums and pydantic models need neither. For them, registering gives a name
    that stays the same when the class is renamed, and makes them known outside of the pipelines that name them. By default,
    ``name`` is the name of the class.
    """
    codec = _checked(type, name or type.__qualname__, encode, decode)
    _by_type[type] = codec
    _by_name[codec.name] = codec


def _checked(
    kind: type[Any], name: str, encode: Callable[[Any], Any] | None, decode: Callable[[Any], Any] | None
) -> Codec:
    if (encode is None) != (decode is None):
        raise BadPipeline(f"The codec of {name} has only one of encode and decode. Give both.")
    if issubclass(kind, JSON_TYPES):
        raise BadPipeline(
            f"{kind.__name__} is already stored as JSON and cannot have a codec. "
            "Annotate handlers with it: values come back as what the annotation says."
        )
    other = _by_name.get(name)
    is_same = other is not None and (other.type is kind or _place(other.type) == _place(kind))
    if name == PLAIN_DICT or (other is not None and not is_same):
        taken = "a plain mapping" if other is None else f"{other.type.__module__}.{other.type.__qualname__}"
        raise BadPipeline(f"The name {name!r} is already used by {taken}. Give another name=.")
    if encode is not None:
        return Codec(kind, name, encode, decode)
    found = structural(kind, name)
    if found is None:
        raise BadPipeline(
            f"{kind.__name__} is not a dataclass, an enum or a pydantic model, so it needs encode= and decode=."
        )
    return found


def _place(kind: type[Any]) -> tuple[str, str]:
    """Where a class is defined. A module that is loaded again, as in a notebook, defines the same class again."""
    return kind.__module__, kind.__qualname__


def codec_of(kind: type[Any]) -> Codec | None:
    """The codec of exactly this type; None if there is none. A subclass is not accepted: it would be read as its base class."""
    if (known := _by_type.get(kind)) is not None:
        return known
    if issubclass(kind, PurePath):
        return _by_type[PurePath]
    if kind.__module__.startswith(OWN_RECORDS) or kind.__qualname__ in _by_name or kind.__qualname__ == PLAIN_DICT:
        return None  # Stored under the name of another type, it would be read as that type.
    return structural(kind, kind.__qualname__)


def registered_count() -> int:
    """How many types are registered. A new type invalidates what was derived from annotations before."""
    return len(_by_type)


def codec_named(name: str) -> Codec | None:
    """The registered codec of this name."""
    return _by_name.get(name)


def structural(kind: type[Any], name: str) -> Codec | None:
    """The codec of a class whose annotations say how to store it."""
    if is_dataclass(kind):
        return Codec(kind, name, _fields)
    if issubclass(kind, Enum) and not issubclass(kind, JSON_TYPES):
        return Codec(kind, name, _member)
    return Codec(kind, name, _dumped) if is_model(kind) else None


def is_model(kind: type[Any]) -> bool:
    """Whether it is a pydantic model. Pydantic is not imported for this: if nobody has imported it, there are no models."""
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel) and hasattr(kind, "model_validate")


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.init}


def _member(value: Enum) -> Any:
    return value.value if isinstance(value.value, str | int | float) else value.name


def _dumped(value: Any) -> Any:
    return value.model_dump(mode="json", round_trip=True, by_alias=False)


def _decimal(text: Any) -> Decimal:
    return Decimal(text if isinstance(text, str | int) else str(text))


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


for _type, _name, _encode, _decode in (
    (datetime, "datetime", datetime.isoformat, datetime.fromisoformat),
    (date, "date", date.isoformat, date.fromisoformat),
    (time, "time", time.isoformat, time.fromisoformat),
    (timedelta, "timedelta", timedelta.total_seconds, lambda seconds: timedelta(seconds=seconds)),
    (Decimal, "decimal", str, _decimal),
    (UUID, "uuid", str, UUID),
    (PurePath, "path", str, Path),
    (bytes, "bytes", lambda value: base64.b64encode(value).decode(), _bytes),
):
    register_codec(_type, name=_name, encode=_encode, decode=_decode)  # type: ignore[arg-type]
