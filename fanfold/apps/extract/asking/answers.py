"""Parses the JSON of a model's answer, repairing it if the answer is complete, and reads the value of each field."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import fanfold as ff
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.dialect import STATUSES, property_names
from fanfold.apps.extract.template.groups import Group

OBJECT = re.compile(r"\{.*\}", re.DOTALL)
LONGEST_QUOTE = 2_000


@dataclass(frozen=True)
class Envelope:
    """What a model said about one field."""

    value: Any = None
    status: str = "not_found"
    quote: str = ""
    line: int | None = None
    is_answered: bool = True
    """Whether the answer has the field at all."""


@dataclass(frozen=True)
class Answered:
    """What a model said about a group: one object for the document, or one for each row."""

    objects: list[dict[str, Envelope]]
    repaired: bool
    raw: Any
    model: str = ""
    cost: float | None = None


def check_json(text: str) -> str:
    """Check an answer. Raises BadAnswer if it contains no JSON object.

    Called only with complete answers. A truncated answer is never repaired, because the repaired JSON would look
    complete.
    """
    if parsed(text)[0] is None:
        raise ff.BadAnswer(say_of_extract("not_json"), code="not_json")
    return text


def read(text: str, group: Group, *, model: str = "", cost: float | None = None) -> Answered:
    """The values of a checked answer."""
    found, repaired = parsed(text)
    body = found or {}
    rows = body.get("rows") if group.is_rows else [body]
    objects = [one for one in rows if isinstance(one, dict)] if isinstance(rows, list) else []
    names = property_names(group)
    made = [{field.name: _envelope(one, names[field.name]) for field in group.fields} for one in objects]
    return Answered(made, repaired, found, model, cost)


def parsed(text: str) -> tuple[dict[str, Any] | None, bool]:
    """The JSON object of an answer, and whether it had to be repaired."""
    for part in (text, *OBJECT.findall(text)):
        try:
            found = json.loads(part, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return found, False
    if "{" not in text:
        return None, False
    import json_repair

    try:
        mended = json_repair.loads(text[text.index("{") :])
    except (ValueError, RecursionError):
        return None, False
    return (mended, True) if isinstance(mended, dict) and mended else (None, False)


def _envelope(body: dict[str, Any], name: str) -> Envelope:
    """A field of the answer. Models sometimes give a bare value, or the line number as text; both are accepted."""
    if name not in body:
        return Envelope(is_answered=False)
    given = body[name]
    if not isinstance(given, dict) or "value" not in given:
        return Envelope() if given is None or isinstance(given, dict) else Envelope(given, "found")
    value, status = given["value"], given.get("status")
    if status not in STATUSES:
        status = "not_found" if value is None else "found"
    quote = given.get("quote")
    return Envelope(value, status, quote[:LONGEST_QUOTE] if isinstance(quote, str) else "", _line(given.get("line")))


def _line(value: Any) -> int | None:
    if isinstance(value, str):
        value = int(value) if value.strip().isdecimal() else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else None
