"""Reads what a person typed into a cell as a value of the kind that the cell has."""

from __future__ import annotations

import json
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.server.tables.cells import FLAG, JSON, NUMBER, TEXT

KINDS = (TEXT, NUMBER, FLAG, JSON)


def typed(text: str, kind: str) -> Any:
    """The typed text as a value. Raises BadInput if it is of another kind."""
    if kind == TEXT:
        return text
    if kind == FLAG:
        return text == "true"
    try:
        value = json.loads(text.strip(), parse_constant=_refused)
    except (ValueError, RecursionError):
        value = None
    if kind == NUMBER and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise BadInput(say("cell_not_number", text=text.strip()[:100]))
    if value is None:
        raise BadInput(say("text_not_json", text=text.strip()[:100]))
    return value


def as_text(value: Any) -> str:
    """A value as a person edits it."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=None, default=str)


def _refused(constant: str) -> Any:
    raise ValueError(constant)
