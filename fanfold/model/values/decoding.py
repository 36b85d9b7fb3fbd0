"""Makes values from stored JSON: by the type that the value names, or by the reader's annotation."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from enum import Enum
from typing import Any

from fanfold.errors import Unreadable
from fanfold.model.text.sentences import say
from fanfold.model.values.annotations import NOT_TEXT, arguments_of, bare, field_hints, is_plain, members
from fanfold.model.values.codecs import (
    PLAIN_DICT,
    TYPE_MARK,
    VALUE_MARK,
    Codec,
    Tagged,
    codec_named,
    codec_of,
    is_model,
)
from fanfold.model.values.files import File

FILE_MARK = "$file"
FILE_SHAPE = {"key": str, "name": str, "size": int}
SHOWN_LENGTH, REASON_LENGTH = 80, 500
JSON_WORDS: dict[type, tuple[type, ...]] = {str: (str,), int: (int,), float: (int, float), bool: (bool,)}
TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Reading:
    """Which types are known to the reader, by name, and what becomes of a value whose type is not.

    ``plain`` reads no types at all: a value is returned as the stored JSON. ``as_kept`` leaves typed values in their stored
    form, so that they can be written back. ``strict`` also checks texts and numbers against annotations; use it for values
    from outside.
    """

    types: Mapping[str, type[Any]] = field(default_factory=dict)
    plain: bool = False
    as_kept: bool = False
    refuses_unknown: bool = False
    strict: bool = False

    def codec(self, name: str) -> Codec | None:
        """The codec of this name; None if the name is unknown."""
        kind = self.types.get(name)
        return codec_named(name) if kind is None else codec_of(kind)


PLAIN = Reading(plain=True)
AS_KEPT = Reading(as_kept=True)
REGISTERED = Reading()
"""Knows registered types only. Values of other types are returned as stored JSON."""


class Decoder:
    """Makes one value from parsed JSON."""

    def __init__(self, reading: Reading, bind: Callable[[File], File] | None = None) -> None:
        self._reading = reading
        self._bind = bind

    def value(self, found: Any, hint: Any = Any) -> Any:
        """The stored value; read as ``hint`` if it names no type itself."""
        if isinstance(found, dict):
            if len(found) == 2 and VALUE_MARK in found and isinstance(found.get(TYPE_MARK), str):
                return self._tagged(found[TYPE_MARK], found[VALUE_MARK], hint)
            if (file := file_in(found)) is not None:
                return self._bind(file) if self._bind else file
        if self._reading.plain or (is_plain(hint) and not self._reading.strict):
            return self._inside(found)
        return self._built(found, bare(hint))

    def _inside(self, found: Any) -> Any:
        if isinstance(found, dict):
            return {key: self.value(inner) for key, inner in found.items()}
        return [self.value(inner) for inner in found] if isinstance(found, list) else found

    def _tagged(self, name: str, content: Any, hint: Any) -> Any:
        if self._reading.as_kept and name != PLAIN_DICT:
            return Tagged(name, self._inside(content))
        if name == PLAIN_DICT or self._reading.plain:
            return self._inside(content)
        codec = self._reading.codec(name)
        if codec is not None:
            return self._trusting()._decoded(codec, content)
        if not is_plain(hint):  # The class was renamed since: the annotation says what it is now.
            return self.value(content, hint)
        if self._reading.refuses_unknown:
            raise Unreadable(say("type_unknown", type=name))
        return self._inside(content)

    def _trusting(self) -> Decoder:
        """For values that Fanfold stored itself: they are not checked against annotations, as Python does not check them."""
        return Decoder(replace(self._reading, strict=False), self._bind) if self._reading.strict else self

    def _decoded(self, codec: Codec, content: Any) -> Any:
        if codec.decode is None:
            return self._structure(codec.type, content)
        try:
            return codec.decode(self._inside(content))
        except Exception as error:  # A codec is user code and may raise anything.
            raise _misfit(codec.type, content, error) from error

    def _built(self, found: Any, hint: Any) -> Any:
        """A value that names no type, converted to what the annotation says."""
        origin = typing.get_origin(hint) or hint
        if origin in (typing.Union, types.UnionType):
            return self._one_of(found, members(hint))
        if not isinstance(origin, type):
            return self._inside(found)
        if origin in JSON_WORDS:
            return self._word(found, origin)
        arguments = arguments_of(hint)
        if isinstance(found, list) and not hasattr(origin, "_fields"):
            return self._list(found, origin, arguments)
        if isinstance(found, dict) and issubclass(origin, Mapping):
            return self._mapping(found, hint, arguments)
        return self._structure(origin, found)

    def _word(self, found: Any, kind: type) -> Any:
        fits = isinstance(found, JSON_WORDS[kind]) and (kind is bool or not isinstance(found, bool))
        if self._reading.strict and not fits:
            raise _misfit(kind, found)
        return found

    def _list(self, found: list[Any], origin: type, arguments: tuple[Any, ...]) -> Any:
        if codec_of(origin) is not None:
            return self._structure(origin, found)
        if issubclass(origin, tuple) and arguments and arguments[-1] is not Ellipsis:
            if len(found) != len(arguments):
                raise _misfit(origin, found)
            return tuple(self.value(one, inner) for one, inner in zip(found, arguments, strict=True))
        made = [self.value(one, arguments[0] if arguments else Any) for one in found]
        return origin(made) if issubclass(origin, tuple | set | frozenset) else made

    def _mapping(self, found: dict[str, Any], hint: Any, arguments: tuple[Any, ...]) -> Any:
        if typing.is_typeddict(hint):
            known = field_hints(hint)
            return {key: self.value(inner, known.get(key, Any)) for key, inner in found.items()}
        key_hint, value_hint = arguments if len(arguments) == 2 else (Any, Any)
        return {self._key(key, key_hint): self.value(inner, value_hint) for key, inner in found.items()}

    def _key(self, key: str, hint: Any) -> Any:
        try:
            return (TRUTH[key] if hint is bool else hint(key)) if hint in NOT_TEXT else key
        except (ValueError, KeyError) as error:
            raise _misfit(hint, key, error) from None

    def _one_of(self, found: Any, choices: tuple[Any, ...]) -> Any:
        if found is None or any(_is_exactly(found, choice) for choice in choices):
            return self._inside(found)
        problem: Unreadable | None = None
        for choice in choices:
            if is_plain(choice):
                continue
            try:
                return self.value(found, choice)
            except Unreadable as error:
                problem = problem or error
        if problem is not None and all(not is_plain(choice) or choice is type(None) for choice in choices):
            raise problem
        return self._inside(found)

    def _structure(self, kind: type[Any], content: Any) -> Any:
        """A dataclass, a named tuple, a model, an enum, or a type with a codec."""
        if hasattr(kind, "_fields") and issubclass(kind, tuple):
            return self._named_tuple(kind, content)
        codec = codec_of(kind)
        if codec is not None and codec.decode is not None:
            return self._decoded(codec, content)
        try:
            if is_dataclass(kind):
                return kind(**self._field_values(kind, content))
            if issubclass(kind, Enum):
                return _member(kind, content)
            return _validated(kind, content) if is_model(kind) else self._inside(content)
        except Unreadable:
            raise
        except Exception as error:  # The class's own checks.
            raise _misfit(kind, content, error) from error

    def _field_values(self, kind: type[Any], content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise _misfit(kind, content)
        known = {one.name: one for one in fields(kind) if one.init}
        for name in content:
            if name not in known:
                raise Unreadable(say("field_removed", type=kind.__name__, field=name))
        for name, one in known.items():
            if name not in content and one.default is MISSING and one.default_factory is MISSING:
                raise Unreadable(say("field_added", type=kind.__name__, field=name))
        hints = field_hints(kind)
        return {name: self._field(kind, name, inner, hints.get(name, Any)) for name, inner in content.items()}

    def _field(self, kind: type[Any], name: str, content: Any, hint: Any) -> Any:
        try:
            return self.value(content, hint)
        except Unreadable as problem:
            raise Unreadable(say("in_field", type=kind.__name__, field=name, why=problem.message)) from problem

    def _named_tuple(self, kind: Any, content: Any) -> Any:
        hints = field_hints(kind)
        if isinstance(content, list) and len(content) == len(kind._fields):
            content = dict(zip(kind._fields, content, strict=True))
        if not isinstance(content, dict):
            raise _misfit(kind, content)
        made = {name: self._field(kind, name, inner, hints.get(name, Any)) for name, inner in content.items()}
        try:
            return kind(**made)
        except TypeError as error:
            raise _misfit(kind, content, error) from None


def unreadable(what: str, problem: Unreadable) -> Unreadable:
    """The error, with the value that cannot be read."""
    return Unreadable(say("unreadable", what=what, why=problem.message))


def file_in(found: dict[str, Any]) -> File | None:
    """The file that a mapping represents; None if it is an ordinary mapping."""
    mark = found.get(FILE_MARK)
    if len(found) != 1 or not isinstance(mark, dict):
        return None
    if {name: type(value) for name, value in mark.items()} != FILE_SHAPE:
        return None
    return File(key=mark["key"], name=mark["name"], size=mark["size"])


def _is_exactly(found: Any, choice: Any) -> bool:
    return isinstance(choice, type) and choice in JSON_WORDS and type(found) is choice


def _member(kind: type[Enum], content: Any) -> Enum:
    try:
        return kind(content)
    except ValueError:
        if isinstance(content, str) and content in kind.__members__:
            return kind[content]
        raise


def _validated(kind: Any, content: Any) -> Any:
    """A pydantic model, by the names of its fields or by their aliases; before pydantic 2.11 the model itself says which."""
    takes_names = "by_name" in inspect.signature(kind.model_validate).parameters
    return kind.model_validate(content, by_alias=True, by_name=True) if takes_names else kind.model_validate(content)


def _misfit(kind: Any, content: Any, error: Exception | None = None) -> Unreadable:
    why = "" if error is None else f" ({_reason(error)})"[:REASON_LENGTH]
    return Unreadable(say("not_of_type", value=_shown(content), type=getattr(kind, "__name__", str(kind)), why=why))


def _shown(content: Any) -> str:
    """A value of the content to show in an error. Objects and lists are not shown: they may hold private data."""
    if isinstance(content, dict | list):
        return "an object" if isinstance(content, dict) else "a list"
    text = repr(content)
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"


def _reason(error: Exception) -> str:
    """Why a class rejects its content. Pydantic also quotes the content, so only its messages are taken."""
    if type(error).__module__.partition(".")[0].startswith("pydantic") and hasattr(error, "errors"):
        found = error.errors(include_url=False, include_input=False, include_context=False)
        return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)
    return f"{type(error).__name__}: {error}"
