"""Converts values of handlers to JSON text and back, with a clear reason when a value cannot be stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.model.values.annotations import is_plain
from fanfold.model.values.codecs import PLAIN_DICT, TYPE_MARK, VALUE_MARK, Tagged, codec_of
from fanfold.model.values.decoding import FILE_MARK, PLAIN, Decoder, Reading
from fanfold.model.values.files import File

LARGE_MARK = "$large"
ONLY_TEXT = frozenset({str})
NUMBERS = frozenset({int, float, bool, type(None)})
SIMPLE = NUMBERS | {str}
QUOTED_MARK = f'"{VALUE_MARK}"'


class _IsTyped(Exception):
    """Raised when a value needs a codec. Most values need none, and avoid the cost of codecs."""


def dump(value: Any, what: str | Callable[[], str], limit: int | None = None, *, typed: bool = True) -> str:
    """``value`` as JSON text, or BadInput that says what is wrong with ``what`` (or with what it returns).

    Without ``typed``, only JSON is accepted.
    """
    parts = [value]
    try:
        text = _encoded(value, parts, typed)
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise BadInput(say("half_surrogate", what=_named(what))) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(say("not_json", what=_named(what), why=_explain(error))) from error
    if type(value) in NUMBERS and (limit is None or size <= limit):
        return text  # The other checks are about texts and mappings.
    if "\\u0000" in text and any(map(_has_nul, parts)):
        raise BadInput(say("nul_in_value", what=_named(what)))
    for part in parts:
        if (key := _lost_key(part)) is not None:
            raise BadInput(say("key_twice", what=_named(what), key=key))
    if limit is not None and size > limit:
        raise BadInput(say("value_too_large", what=_named(what), size=size, limit=limit))
    return text


def _encoded(value: Any, parts: list[Any], typed: bool) -> str:
    """The JSON text. The JSON that codecs made of typed values is added to ``parts``."""
    try:
        text = encode_plain(value)
    except _IsTyped as problem:
        if not typed:
            raise TypeError(str(problem)) from None
        text = json.JSONEncoder(**STYLE, default=partial(_encode_typed, parts)).encode(value)
    if QUOTED_MARK not in text or not any(map(_has_tag_shape, parts)):
        return text
    return json.JSONEncoder(**STYLE, default=partial(_encode_typed, [], escape=True)).encode(_escaped(value))


def _named(what: str | Callable[[], str]) -> str:
    return what if isinstance(what, str) else what()


def load(
    text: str | None, bind: Callable[[File], File] | None = None, reading: Reading = PLAIN, hint: Any = Any
) -> Any:
    """The value of JSON text; files in it are bound to their store by ``bind``.

    ``reading`` says which types are restored, and ``hint`` is the type of a value that does not name its own. By default a
    value is returned as plain JSON, as people see it.
    """
    if text is None:
        return None
    if MARKED not in text and (reading.plain or is_plain(hint)):
        return load_own(text)
    return Decoder(reading, bind).value(json.loads(text), hint)


def load_own(text: str | None) -> Any:
    """The value of JSON text without marks, or None for None."""
    if text is None:
        return None
    value, end = (None, -1) if text[:1] in BLANK else PLAIN_JSON.raw_decode(text)
    return value if end == len(text) else json.loads(text)


def has_marks(value: Any) -> bool:
    """Whether something in a value would be read as a file. Input from outside must not contain such a thing."""
    if isinstance(value, dict):
        return any(key in (FILE_MARK, LARGE_MARK) or has_marks(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(has_marks(inner) for inner in value)


def _encode(value: Any) -> Any:
    if isinstance(value, File):
        return {FILE_MARK: {"key": value.key, "name": value.name, "size": value.size}}
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    if isinstance(value, Tagged):
        raise _IsTyped("a value of a type that is not known here is not JSON")
    problem = f"a value of type {type(value).__name__} is not JSON"
    if codec_of(type(value)) is not None:
        raise _IsTyped(problem)
    raise TypeError(f"{problem}, and no codec is registered for it (register_codec)")


def _encode_typed(parts: list[Any], value: Any, *, escape: bool = False) -> Any:
    """The same, with support for types that have a codec."""
    if isinstance(value, Tagged):
        return {TYPE_MARK: value.name, VALUE_MARK: _escaped(value.content) if escape else value.content}
    codec = None if isinstance(value, File) else codec_of(type(value))
    if codec is None:
        return _encode(value)
    try:
        content = codec.encode(value)
    except Exception as error:  # A codec is user code and may raise anything.
        raise TypeError(f"the codec of {codec.name} raised {type(error).__name__}: {error}") from error
    parts.append(content)
    return {TYPE_MARK: codec.name, VALUE_MARK: _escaped(content) if escape else content}


PLAIN_JSON, BLANK = json.JSONDecoder(), ("", " ", "\t", "\r", "\n")
"""Our own JSON has no whitespace around it, and looking for it takes longer than decoding a small value."""
STYLE: dict[str, Any] = {"ensure_ascii": False, "allow_nan": False, "separators": (",", ":")}
ENCODER = json.JSONEncoder(**STYLE, default=_encode)
"""Created once: creating it takes longer than encoding a small value."""


def _plain_encoder() -> Callable[[Any], str]:
    """The same encoder without what it creates for each value, which takes longer than encoding a small one.

    It does not look for values that contain themselves: they end in a RecursionError, which is explained in the same words.
    """
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # Python without its C extensions.
        return ENCODER.encode
    quote = json.encoder.encode_basestring
    parts = make(
        None, ENCODER.default, quote, None, STYLE["separators"][1], STYLE["separators"][0], False, False, False
    )
    return lambda value: "".join(parts(value, 0))


encode_plain = _plain_encoder()
MARKED = '"$'
"""The beginning of every mark. Most values contain none, and need no second look."""


def _has_tag_shape(value: Any) -> bool:
    """Whether a plain mapping in a value looks like a typed value."""
    if isinstance(value, dict):
        return value.keys() == {TYPE_MARK, VALUE_MARK} or any(map(_has_tag_shape, value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(_has_tag_shape, value))


def _escaped(value: Any) -> Any:
    """The value with such mappings marked as plain ones."""
    if isinstance(value, dict):
        inside = {key: _escaped(inner) for key, inner in value.items()}
        return {TYPE_MARK: PLAIN_DICT, VALUE_MARK: inside} if value.keys() == {TYPE_MARK, VALUE_MARK} else inside
    return [_escaped(one) for one in value] if isinstance(value, list | tuple | set | frozenset) else value


def _explain(error: Exception) -> str:
    text = str(error)
    if "Out of range float" in text:
        return say("json_nan")
    if isinstance(error, RecursionError) or "Circular" in text:
        return say("json_nested")
    return text or type(error).__name__


def _lost_key(value: Any) -> str | None:
    """A key that two entries of a mapping have in JSON, such as 1 and "1"; asked of what has proved to be JSON.

    Texts and numbers are skipped in C code, without a Python step for each.
    """
    found = [value]
    while found:
        one = found.pop()
        if isinstance(one, dict):
            if not ONLY_TEXT.issuperset(map(type, one)) and (key := _clash(one)) is not None:
                return key
            one = one.values()
        elif not isinstance(one, list | tuple):
            continue
        if not SIMPLE.issuperset(map(type, one)):
            found.extend(one)
    return None


def _clash(mapping: dict[Any, Any]) -> str | None:
    for key in mapping:
        if not isinstance(key, str):
            [text] = json.loads(ENCODER.encode({key: None}))
            if text in mapping:
                return str(text)
    return None


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(key) or _has_nul(inner) for key, inner in value.items())
    return isinstance(value, list | tuple | set | frozenset) and any(_has_nul(inner) for inner in value)
