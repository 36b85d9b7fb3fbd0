"""Checks that text can be stored: without NUL characters and lone surrogates, which databases refuse."""

from __future__ import annotations

from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import Sentence, say

SHOWN_LENGTH = 100
"""Longest value quoted in an error."""


def is_storable(text: str) -> bool:
    """Whether every database can store and compare this text. A key that cannot be stored matches nothing."""
    return _flaw(text) is None


def check_text(value: Any, what: str, *, least: int = 0, most: int | None = None) -> str:
    """``value``, if it is text of ``least`` to ``most`` characters; BadInput says what is wrong with ``what``."""
    if not isinstance(value, str):
        raise BadInput(say("not_text", what=what, value=shown(value)))
    if len(value) < least or (most is not None and len(value) > most):
        raise BadInput(_length(what, len(value), least, most))
    if (flaw := _flaw(value)) is not None:
        raise BadInput(say("has_flaw", what=what, flaw=flaw))
    return value


def check_keys(keys: Any, what: str) -> tuple[str, ...]:
    """Keys of items; BadInput for a plain text, which would count as a list of letters, and for anything but a list of text."""
    if isinstance(keys, str | bytes) or not hasattr(keys, "__iter__"):
        raise BadInput(say("not_key_list", what=what, value=shown(keys)))
    found = tuple(keys)
    if any(not isinstance(key, str) for key in found):
        wrong = next(key for key in found if not isinstance(key, str))
        raise BadInput(say("not_text_list", what=what, value=shown(wrong)))
    return found


def check_chosen(keys: Any) -> tuple[str, ...]:
    """The keys of the items that a command names; none if they are left out, which means all.

    BadInput for an empty list: it comes from a selection that found nothing, and must not select everything.
    """
    if keys is None:
        return ()
    found = check_keys(keys, "`items`")
    if not found:
        raise BadInput(say("no_items_named"))
    return found


def check_reason(reason: Any) -> None:
    """Check a person's reason for a command; it is stored with the event."""
    if reason is not None:
        check_text(reason, "The reason")


def shown(value: Any) -> str:
    """A value as quoted in an error."""
    try:
        text = repr(value)
    except Exception:  # For instance an integer with more digits than Python prints.
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= SHOWN_LENGTH else text[:SHOWN_LENGTH] + "…"


def _length(what: str, length: int, least: int, most: int | None) -> Sentence:
    if least and most:
        return say("length_between", what=what, least=least, most=most, length=length)
    if most:
        return say("length_at_most", what=what, most=most, length=length)
    return say("length_at_least", what=what, least=least, length=length)


def _flaw(text: str) -> Sentence | None:
    if "\0" in text:
        return say("flaw_nul")
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return say("flaw_surrogate")
    return None
