"""Decisions of people about parts of results, and the keys that identify a part after a redo."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.codecs import TYPE_MARK, VALUE_MARK

PART_LENGTH = 200
DIGITS = 20
"""Hexadecimal digits of a part key: enough that two parts of one item never collide by chance."""


class DecisionVerdict(StrEnum):
    """The verdict on a part; ``undo`` revokes the last decision."""

    ACCEPT = "accept"
    REJECT = "reject"
    REPLACE = "replace"
    UNDO = "undo"


@dataclass(frozen=True)
class NewDecision:
    """A new decision about a part of an item.

    ``value`` replaces the part, only for ``replace``; None replaces it with nothing. Without ``stage``, the item is one of the
    stage that the last merge reads.
    """

    item: str
    part: str
    verdict: str
    value: Any = None
    stage: str | None = None


@dataclass(frozen=True)
class Decision:
    """A stored decision. The latest one about a part counts."""

    number: int
    """Sequence number within the task; also the cursor of a list."""
    stage: str
    item: str
    part: str
    verdict: DecisionVerdict
    value: Any
    actor: str
    at: datetime


def part_key(*content: Any) -> str:
    """The key of a part, made from its content, so that it is the same after a redo that yields the same part.

    Give everything that identifies the part, as values that can be stored: the text before and after a change, or the name of
    a field and its value. A part with other content has another key, and so no decision.
    """
    text = serial.dump(content, "The content of a part")
    canonical = json.dumps(_without_types(json.loads(text)), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGITS]


def _without_types(found: Any) -> Any:
    """The content as plain JSON, as people see it: the page does not know the types, and must compute the same key."""
    if isinstance(found, dict):
        tagged = found.keys() == {TYPE_MARK, VALUE_MARK}
        return _without_types(found[VALUE_MARK]) if tagged else {key: _without_types(one) for key, one in found.items()}
    return [_without_types(one) for one in found] if isinstance(found, list) else found


def part_keys(contents: Iterable[Any]) -> list[str]:
    """The keys of all parts of an item, in order; equal parts are numbered, so that each has its own key."""
    seen: Counter[str] = Counter()
    keys = []
    for content in contents:
        key = part_key(content)
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return keys


def check_verdict(verdict: Any) -> DecisionVerdict:
    """The verdict with this name; BadInput lists the valid ones."""
    try:
        return DecisionVerdict(verdict)
    except ValueError:
        raise BadInput(
            say("no_verdict", verdict=str(verdict)[:100], verdicts=[one.value for one in DecisionVerdict])
        ) from None
