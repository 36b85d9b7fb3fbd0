"""Compares numbers by value: ``1,234`` and ``1 234`` are one number, ``12.5 %`` may be 0.125, ``二十`` is 20."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

from fanfold.apps.extract.evidence.number_words import worded

_MINUS = str.maketrans("−–—‒‐‑﹣－", "--------")
_NUMBER = re.compile(
    r"""
    (?P<sign>(?<![\w.)\]%-])-\s?)?
    (?P<digits>
        \d{1,3}(?:[,\u00a0\u2009\u202f\u0020'’]\d{3})+(?:\.\d+)?(?![\d])   # 1,234,567.8 and 1 234
      | \d{1,3}(?:\.\d{3}){2,}(?:,\d+)?                                    # 1.234.567,8
      | \d+(?:[.,·]\d+)?
      | (?<![\w])\.\d+
    )
    (?:\s?(?:×|x|\*)\s?10\s?\^?\s?(?P<power>[-+]?\d{1,3}) | e(?P<exponent>[-+]?\d{1,3})(?!\w))?
    (?P<percent>\s?(?:%|‰|percent\b|per\scent\b|个百分点))?
    (?:\s?(?P<factor>thousand|million|billion|万|亿|千)(?![a-z]))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SPACED = re.compile(r"[\u00a0\u2009\u202f \u0020'’]")
_FACTORS = {"thousand": 3, "million": 6, "billion": 9, "千": 3, "万": 4, "亿": 8}


def digits_in(value: Any, text: str) -> bool:
    """Whether the text has every number of a value, in any notation. True for a value without numbers.

    A number with a sign needs the same sign. A share may be written as a percentage.
    """
    wanted = numbers_of(value)
    if not wanted:
        return True
    there = {number for readings in _numbers(text) for number in readings}
    there.update(Decimal(number) for number in worded(text))
    return all(number in there for number in wanted)


def numbers_of(value: Any) -> list[Decimal]:
    """The numbers of a value: a number itself, or those in a text or in all entries of a list."""
    if value is None or isinstance(value, bool):
        return []
    if isinstance(value, int | float | Decimal):
        return [_decimal(value)]
    if isinstance(value, dict | list | tuple):
        entries: Iterable[Any] = value.values() if isinstance(value, dict) else value
        return [number for one in entries for number in numbers_of(one)]
    return [readings[0] for readings in _numbers(str(value))]


def missing_numbers(quote: str, text: str) -> bool:
    """Whether a quote has a number that the text does not have; a number may have several readings."""
    there = {number for readings in _numbers(text) for number in readings}
    return any(there.isdisjoint(readings) for readings in _numbers(quote))


def _decimal(value: float | Decimal) -> Decimal:
    return Decimal(str(value)).normalize() + 0


def _numbers(text: str) -> Iterator[list[Decimal]]:
    """The possible readings of each number of a text, the most likely one first."""
    plain = unicodedata.normalize("NFKC", _powers(text)).translate(_MINUS)
    for match in _NUMBER.finditer(plain):
        readings = [reading for written in _written(match["digits"]) if (reading := _read(written, match)) is not None]
        if match["percent"]:
            share = Decimal("0.001") if "‰" in match["percent"] else Decimal("0.01")
            readings += [reading * share for reading in readings]
        if match["factor"]:
            readings += [reading.scaleb(_FACTORS[match["factor"].lower()]) for reading in readings]
        if readings:
            yield [reading.normalize() + 0 for reading in readings]


def _powers(text: str) -> str:
    """Mark exponents, because normalisation would turn ``10⁻³`` into 103."""
    return re.sub(r"(?<=10)[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda match: "^" + unicodedata.normalize("NFKC", match[0]), text)


def _written(digits: str) -> list[str]:
    """The ways to read separators: ``1,234`` is a whole number, or 1.234 where the comma is the decimal sign."""
    plain = _SPACED.sub("", digits).replace("·", ".")
    if plain.count(".") > 1:
        return [plain.replace(".", "").replace(",", ".")]
    if "," not in plain:
        parts = [plain]
        # "1 234" may also be two numbers side by side, as in a table.
        return parts if plain == digits else [*parts, *_SPACED.split(digits)]
    whole, decimal = plain.replace(",", ""), plain.replace(",", ".")
    if plain.count(",") > 1 or "." in plain:
        return [whole]
    return [whole, decimal] if re.fullmatch(r"\d{1,3},\d{3}", plain) else [decimal, *plain.split(",")]


def _read(written: str, match: re.Match[str]) -> Decimal | None:
    try:
        number = Decimal(written)
    except InvalidOperation:
        return None
    power = match["power"] or match["exponent"]
    if power:
        number = number.scaleb(int(power))
    return -number if match["sign"] else number
