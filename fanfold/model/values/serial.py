"""Can it be kept? Values of handlers to JSON text and back, with a clear reason when they cannot be kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File

FILE_MARK = "$file"
LARGE_MARK = "$large"
ONLY_TEXT = frozenset({str})
SIMPLE = frozenset({str, int, float, bool, type(None)})
FILE_SHAPE = {"key": str, "name": str, "size": int}


def dump(value: Any, what: str | Callable[[], str], limit: int | None = None) -> str:
    """``value`` as JSON text, or BadInput that says what is wrong with ``what`` (or with what it returns)."""
    try:
        text = ENCODER.encode(value)
        size = len(text) if text.isascii() else len(text.encode())
    except UnicodeEncodeError:
        raise BadInput(say("half_surrogate", what=_named(what))) from None
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(say("not_json", what=_named(what), why=_explain(error))) from error
    if "\\u0000" in text and _has_nul(value):
        raise BadInput(say("nul_in_value", what=_named(what)))
    if (key := _lost_key(value)) is not None:
        raise BadInput(say("key_twice", what=_named(what), key=key))
    if limit is not None and size > limit:
        raise BadInput(say("value_too_large", what=_named(what), size=size / 1e6, limit=limit / 1e6))
    return text


def _named(what: str | Callable[[], str]) -> str:
    return what if isinstance(what, str) else what()


def load(text: str | None, bind: Callable[[File], File] | None = None) -> Any:
    """The value of JSON text; files in it are bound to their store by ``bind``."""
    if text is None:
        return None
    if FILE_MARK not in text:
        value, end = (None, -1) if text[:1] in BLANK else PLAIN.raw_decode(text)
        return value if end == len(text) else json.loads(text)
    return json.loads(text, object_hook=lambda found: _decode(found, bind))


def has_marks(value: Any) -> bool:
    """Whether something in a value would be taken for a file when it is loaded; a stranger must not say such things."""
    if isinstance(value, dict):
        return any(key in (FILE_MARK, LARGE_MARK) or has_marks(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(has_marks(inner) for inner in value)


def _encode(value: Any) -> Any:
    if isinstance(value, File):
        return {FILE_MARK: {"key": value.key, "name": value.name, "size": value.size}}
    if isinstance(value, tuple | set | frozenset):
        return list(value)
    raise TypeError(f"a value of type {type(value).__name__} is not JSON")


PLAIN, BLANK = json.JSONDecoder(), ("", " ", "\t", "\r", "\n")
"""What was dumped here has no blanks around it; looking for them takes longer than decoding a small value."""
ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_encode)
"""Made once: making it takes longer than encoding a small value."""


def _decode(found: dict[str, Any], bind: Callable[[File], File] | None) -> Any:
    mark = found.get(FILE_MARK)
    if (
        len(found) != 1
        or not isinstance(mark, dict)
        or {name: type(value) for name, value in mark.items()} != FILE_SHAPE
    ):
        return found
    file = File(key=mark["key"], name=mark["name"], size=mark["size"])
    return bind(file) if bind else file


def _explain(error: Exception) -> str:
    text = str(error)
    if "Out of range float" in text:
        return say("json_nan")
    if isinstance(error, RecursionError) or "Circular" in text:
        return say("json_nested")
    return text or type(error).__name__


def _lost_key(value: Any) -> str | None:
    """A key that two entries of a mapping have in JSON, such as 1 and "1"; asked of what has proved to be JSON.

    Texts and numbers are passed over without a look at each, at the speed of C.
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
