"""Turns a model's answer about a field into a cell: normalises the value, checks its schema and locates its evidence."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

import fanfold as ff
from fanfold.apps.extract.asking.answers import Envelope
from fanfold.apps.extract.asking.states import ABSENT, INVALID, OK, UNSUPPORTED, WEAK, Cell
from fanfold.apps.extract.documents.document import Document
from fanfold.apps.extract.evidence.folding import fold, is_ideograph
from fanfold.apps.extract.evidence.located import Evidence
from fanfold.apps.extract.evidence.locating import locate
from fanfold.apps.extract.evidence.numbers import digits_in
from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.fields import LIST, NUMERIC, STRING, Field
from fanfold.apps.extract.template.normalise import NotNormal, normal

ERRORS_SHOWN = 3
SHORT_VALUE = 80
"""A value up to this length should appear in its quote; a longer one may be a summary."""
LEAST_SAID = 0.6
"""Minimum share of a short value's words (in Chinese: pairs of characters) that must be in its quote."""
WORDS = re.compile(r"\w+")


def judged(field: Field, said: Envelope, document: Document, *, model: str = "", cost: float | None = None) -> Cell:
    """The cell for an answer. An invalid cell has no value, only ``raw`` and the reason."""
    known: dict[str, Any] = {
        "status": said.status,
        "model": model or None,
        "cost": None if cost is None else f"{cost:.6f}",
    }
    if not said.is_answered:
        return cell(field, INVALID, reason=say_of_extract("not_answered"), **known | {"status": "unclear"})
    if said.value is None or said.value in ("", []) or said.status in ("not_found", "not_applicable"):
        return cell(field, ABSENT, reason=_absence(said), **known)
    value, error = valid(field, said.value)
    raw = said.value if value != said.value or error else None
    if error:
        place = _evidence(field, said, document)
        return cell(field, INVALID, raw=said.value, reason=error, evidence=place, quote=said.quote, **known)
    evidence = _evidence(field, said, document)
    state, reason = _support(field, value, said, evidence)
    return cell(field, state, value, raw=raw, reason=reason, evidence=evidence, quote=said.quote, **known)


def cell(
    field: Field,
    state: str,
    value: Any = None,
    *,
    raw: Any = None,
    status: str = "found",
    reason: str | None = None,
    evidence: Evidence | None = None,
    quote: str = "",
    model: str | None = None,
    cost: str | None = None,
) -> Cell:
    """A cell with the key that people's decisions refer to."""
    return {
        "value": value,
        "raw": raw,
        "state": state,
        "status": status,
        "reason": reason,
        "evidence": [] if evidence is None else [evidence.as_json()],
        "alternatives": [],
        "model": model,
        "cost": cost,
        "attempts": 1,
        "repaired": False,
        "part": ff.part_key(field.name, raw if state == INVALID else value, quote),
    }


def valid(field: Field, value: Any) -> tuple[Any, str | None]:
    """The normalised value, and the reason if it cannot be used."""
    try:
        made = normal(field, value)
    except NotNormal as problem:
        return value, problem.args[0]
    errors = [_error(error) for error in _validator(field).iter_errors(made)]
    return made, "; ".join(errors[:ERRORS_SHOWN]) or None


@lru_cache(maxsize=2_000)
def _compiled(schema: str) -> Any:
    """A compiled schema, cached because every document has the same fields."""
    import jsonschema_rs

    return jsonschema_rs.validator_for(schema)


def _validator(field: Field) -> Any:
    return _compiled(json.dumps(field.schema, sort_keys=True))


def _error(error: Any) -> str:
    where = "".join(f"[{part}]" for part in error.instance_path)
    return f"{where}{': ' if where else ''}{error.message}"[:300]


def _absence(said: Envelope) -> str:
    return say_of_extract("not_applicable") if said.status == "not_applicable" else say_of_extract("not_reported")


def _evidence(field: Field, said: Envelope, document: Document) -> Evidence | None:
    if field.evidence == "none" or not said.quote.strip():
        return None
    return locate(document, said.quote, said.line)


def _support(field: Field, value: Any, said: Envelope, evidence: Evidence | None) -> tuple[str, str | None]:
    """How far the document supports a valid value."""
    if field.evidence == "none":
        return (WEAK, say_of_extract("unclear")) if said.status == "unclear" else (OK, None)
    if evidence is None:
        reason = say_of_extract("quote_not_there") if said.quote.strip() else say_of_extract("no_quote")
        return (UNSUPPORTED if field.evidence == "required" or said.quote.strip() else WEAK), reason
    if not _follows(field, value, said.value, evidence.text):
        return UNSUPPORTED, say_of_extract("not_in_quote", value=str(said.value)[:100])
    if evidence.is_weak:
        return WEAK, say_of_extract("quote_weak", score=round(evidence.score))
    if said.status == "unclear":
        return WEAK, say_of_extract("unclear")
    if not _is_said(field, value, evidence.text):
        return WEAK, say_of_extract("words_not_in_quote")
    return OK, None


def _follows(field: Field, value: Any, raw: Any, text: str) -> bool:
    """Whether the quote contains the value where it must: the digits of a number, the year of a date, a DOI."""
    if field.normalise == "doi":
        return str(value) in "".join(text.split()).lower()
    if field.normalise == "date":
        return digits_in(int(str(value)[:4]), text)
    if field.enum or not (field.type in NUMERIC or (field.type == LIST and field.of in NUMERIC)):
        return True
    return digits_in(raw, text)


def _is_said(field: Field, value: Any, text: str) -> bool:
    """Whether the quote contains all numbers of a text value and, if the value is short, most of its words.

    Words are compared only if both are in the same script, since an answer may be a translation. Numbers are always
    compared: the titles of a series may differ only in a number.
    """
    kind = field.of if field.type == LIST else field.type
    if kind != STRING or field.enum or field.normalise:
        return True
    if not digits_in(value, text):
        return False
    there = fold(text).text
    return all(_is_near(one, there) for one in (value if isinstance(value, list) else [value]))


def _is_near(value: str, there: str) -> bool:
    text = fold(value).text
    chinese = any(map(is_ideograph, text))
    if len(text) > SHORT_VALUE or chinese != any(map(is_ideograph, there)) or text in there:
        return True
    parts = [fold(word).text for word in WORDS.findall(value)]
    if chinese:
        # Single characters prove little, so compare pairs: 研究 is in the name of every study design.
        parts = [text[at : at + 2] for at in range(max(len(text) - 1, 1))]
    return sum(part in there for part in parts) >= LEAST_SAID * len(parts)
