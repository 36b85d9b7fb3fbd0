"""What did a person decide about a part of a result? Decisions, and the keys by which parts are known again."""

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
"""Hexadecimal digits of a part key: two parts of one item never share one by chance."""


class DecisionVerdict(StrEnum):
    """What is decided about a part; ``undo`` takes the decision back."""

    ACCEPT = "accept"
    REJECT = "reject"
    REPLACE = "replace"
    UNDO = "undo"


@dataclass(frozen=True)
class NewDecision:
    """A decision to be made: about which part of which item, and what is decided.

    ``value`` is what replaces the part, for ``replace`` alone; None replaces it by nothing. Without ``stage`` it is about an item
    of the stage that the last merge reads.
    """

    item: str
    part: str
    verdict: str
    value: Any = None
    stage: str | None = None


@dataclass(frozen=True)
class Decision:
    """A decision as it is kept: the latest one about a part counts."""

    number: int
    """Counts the decisions of a task; the cursor of a list."""
    stage: str
    item: str
    part: str
    verdict: DecisionVerdict
    value: Any
    actor: str
    at: datetime


def part_key(*content: Any) -> str:
    """The key of a part, made from what it says, so that it is the same after a redo that yields the same part.

    Give everything that makes the part what it is, as values that can be kept: the text before and after a change, or the name
    of a field and its value. A part that says something else has another key, and so no decision.
    """
    text = serial.dump(content, "The content of a part")
    canonical = json.dumps(_without_types(json.loads(text)), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:DIGITS]


def _without_types(found: Any) -> Any:
    """Content as people see it: the page does not know the types, and must come to the same key."""
    if isinstance(found, dict):
        tagged = found.keys() == {TYPE_MARK, VALUE_MARK}
        return _without_types(found[VALUE_MARK]) if tagged else {key: _without_types(one) for key, one in found.items()}
    return [_without_types(one) for one in found] if isinstance(found, list) else found


def part_keys(contents: Iterable[Any]) -> list[str]:
    """The keys of all parts of an item, in order; parts that say the same are numbered, so each has a key of its own."""
    seen: Counter[str] = Counter()
    keys = []
    for content in contents:
        key = part_key(content)
        seen[key] += 1
        keys.append(key if seen[key] == 1 else f"{key}-{seen[key]}")
    return keys


def check_verdict(verdict: Any) -> DecisionVerdict:
    """The verdict of that name; BadInput says which there are."""
    try:
        return DecisionVerdict(verdict)
    except ValueError:
        raise BadInput(
            say("no_verdict", verdict=str(verdict)[:100], verdicts=[one.value for one in DecisionVerdict])
        ) from None
