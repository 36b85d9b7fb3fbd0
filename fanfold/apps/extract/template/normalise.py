"""Brings answers into a normal form: numbers, dates, DOIs, amounts in one unit, choices by their aliases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date
from typing import Any

from fanfold.apps.extract.sentences import say_of_extract
from fanfold.apps.extract.template.check import fold
from fanfold.apps.extract.template.fields import BOOLEAN, INTEGER, LIST, NUMBER, Field

NUMBER_TEXT = re.compile(
    r"([-−–]?)\s*(\d{1,3}(?:[ ,'’\u00a0\u2009\u202f]\d{3})+|\d+)(?:\.(\d+))?(?:[eE]([-+]?\d{1,3}))?"
)
AMOUNT = re.compile(rf"^[^\d−–-]{{0,4}}{NUMBER_TEXT.pattern}\s*(.*)$")
DOI = re.compile(r"10\.\d{4,9}/\S+")
DAY, MONTH, YEAR = r"(?P<day>\d{1,2})", r"(?P<month>\d{1,2})", r"(?P<year>\d{4})"
WORD = r"(?P<word>[^\W\d_]{3,12})\.?"
DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{YEAR}(?:[-/.]{MONTH}(?:[-/.]{DAY})?)?(?:[T ].*)?",
        rf"{YEAR}\s*年(?:\s*{MONTH}\s*月(?:\s*{DAY}\s*[日号])?)?",
        rf"(?:{DAY}(?:st|nd|rd|th)?\.?\s+)?(?:of\s+)?{WORD},?\s+{YEAR}",
        rf"{WORD}\s+{DAY}(?:st|nd|rd|th)?,?\s+{YEAR}",
        rf"{DAY}\.\s?{MONTH}\.\s?{YEAR}",
        rf"(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{YEAR}",
    )
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
UNITS: tuple[dict[str, float], ...] = (
    {"kg": 1e3, "g": 1.0, "mg": 1e-3, "µg": 1e-6, "ug": 1e-6, "mcg": 1e-6, "ng": 1e-9, "t": 1e6},
    {"l": 1.0, "dl": 0.1, "cl": 0.01, "ml": 1e-3, "µl": 1e-6, "ul": 1e-6},
    {"km": 1e3, "m": 1.0, "cm": 1e-2, "mm": 1e-3, "µm": 1e-6, "um": 1e-6, "nm": 1e-9},
    {"d": 86_400.0, "day": 86_400.0, "h": 3_600.0, "hour": 3_600.0, "min": 60.0, "minute": 60.0, "s": 1.0, "second": 1.0,
     "ms": 1e-3, "week": 604_800.0},
    {"month": 1.0, "year": 12.0},
    {"%": 1.0, "percent": 1.0, "‰": 0.1},
)  # fmt: skip
"""Units by quantity, each with its factor relative to the first unit."""
TRUE, FALSE = ("true", "yes", "y", "1", "是"), ("false", "no", "n", "0", "否")


class NotNormal(ValueError):
    """A value that has no normal form; the text is a sentence."""


def normal(field: Field, value: Any) -> Any:
    """The value in the form that the field asks for. Raises NotNormal."""
    if field.enum:
        many = field.type == LIST and isinstance(value, list)
        return [_choice(field, one) for one in value] if many else _choice(field, value)
    if field.type == LIST:
        parts = value if isinstance(value, list) else [value]
        return [_typed(field.of, one) for one in parts]
    if field.normalise in FORMS:
        return FORMS[field.normalise](field, value)
    return _typed(field.type, value)


def _typed(kind: str, value: Any) -> Any:
    """A value of a simple type. Text for a number or boolean is converted; anything else is left for the schema to reject."""
    if kind in (INTEGER, NUMBER) and isinstance(value, str):
        return _number(kind, value)
    if kind == INTEGER and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind == BOOLEAN and isinstance(value, str) and fold(value) in (*TRUE, *FALSE):
        return fold(value) in TRUE
    if kind == "string" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return " ".join(value.split()) if kind == "string" and isinstance(value, str) else value


def _choice(field: Field, value: Any) -> Any:
    """The intended choice: an exact match, another spelling of it, or the choice of an alias."""
    if value in field.enum:
        return value
    wanted = fold(str(value))
    spelled = next((choice for choice in field.enum if fold(str(choice)) == wanted), None)
    return field.aliases.get(wanted, value) if spelled is None else spelled


def _number(kind: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    found = AMOUNT.match(unicodedata.normalize("NFKC", value).strip())
    rest = found.group(5).strip() if found is not None else ""
    if found is None or any(letter.isdigit() for letter in rest):
        raise NotNormal(say_of_extract("not_a_number", value=value[:100]))
    return _read(found, kind)


def _read(found: re.Match[str], kind: str) -> int | float:
    sign, whole, part, power = found.group(1, 2, 3, 4)
    text = ("-" if sign else "") + "".join(filter(str.isdigit, whole))
    if part is None and power is None:
        return int(text)
    number = float(f"{text}.{part or 0}e{power or 0}")
    return int(number) if kind == INTEGER and number.is_integer() else number


def _amount(field: Field, value: Any) -> Any:
    """A number in the field's unit, from a text such as `0.25 g`; a plain number is in that unit."""
    if not isinstance(value, str):
        return value
    found = AMOUNT.match(unicodedata.normalize("NFKC", value).strip())
    if found is None:
        raise NotNormal(say_of_extract("not_a_number", value=value[:100]))
    number, unit = _read(found, NUMBER), _unit(found.group(5))
    target = _unit(field.unit)
    if not unit or unit == target:
        return _whole(number, field)
    for units in UNITS:
        if unit in units and target in units:
            return _whole(round(number * units[unit] / units[target], 9), field)
    raise NotNormal(say_of_extract("other_unit", value=value[:100], unit=field.unit))


def _unit(text: str) -> str:
    """A unit as in the table of units: one form of the micro sign, words in the singular."""
    word = unicodedata.normalize("NFKC", text.strip()).replace("μ", "µ").rstrip(".")
    word = unicodedata.normalize("NFC", word).replace("\u03bc", "µ")
    lower = word.lower()
    if lower.endswith("s") and len(lower) > 3:
        return lower[:-1]
    return lower if lower in ("l", "dl", "cl", "ml", "µl", "ul") or len(lower) > 3 else word


def _whole(number: float, field: Field) -> int | float:
    return int(number) if field.type == INTEGER and float(number).is_integer() else number


def _date(field: Field, value: Any) -> Any:
    """An ISO date with the given precision: 2020, 2020-03 or 2020-03-12."""
    if not isinstance(value, str | int):
        return value
    text = unicodedata.normalize("NFKC", str(value)).strip().rstrip(".")
    for pattern in DATES:
        if (found := pattern.fullmatch(text)) is not None and (made := _iso(found.groupdict())) is not None:
            return made
    raise NotNormal(say_of_extract("not_a_date", value=str(value)[:100]))


def _iso(parts: dict[str, Any]) -> str | None:
    """The date from its parts; None if it does not exist, or if day and month are ambiguous."""
    year, month, day = parts["year"], parts.get("month"), parts.get("day")
    if word := parts.get("word"):
        month = next((number for number, name in enumerate(MONTHS, 1) if word.lower().startswith(name)), 0)
    if first := parts.get("first"):
        first, second = int(first), int(parts["second"])
        if first <= 12 and second <= 12 and first != second:
            return None
        day, month = (first, second) if first > 12 else (second, first)
    try:
        found = date(int(year), 1 if month is None else int(month), int(day or 1))
    except ValueError:
        return None
    return str(year) if month is None else found.isoformat()[: 10 if day else 7]


def _doi(field: Field, value: Any) -> Any:
    """A DOI without its URL prefix, in lower case."""
    found = DOI.search(str(value))
    if found is None:
        raise NotNormal(say_of_extract("not_a_doi", value=str(value)[:100]))
    return found.group().rstrip(".,;)]}>\"'").lower()


FORMS: dict[str, Callable[[Field, Any], Any]] = {
    "date": _date,
    "doi": _doi,
    "unit": _amount,
    "number": lambda field, value: _number(field.type, value),
}
