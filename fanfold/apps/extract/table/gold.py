"""Compares the table with known values from a CSV file: accuracy, missing and invented values per column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import fanfold as ff
from fanfold.apps.extract.documents.decoding import decode
from fanfold.apps.extract.evidence.folding import fold
from fanfold.apps.extract.evidence.numbers import numbers_of
from fanfold.apps.extract.table.rows import Row
from fanfold.apps.extract.table.table_sentences import say_of_table
from fanfold.apps.extract.table.values import written

_DOCUMENT = ("document", "source", "name", "file", "path", "key")
_NOTHING = frozenset(("", "na", "n/a", "none", "null", "notreported", "notapplicable", "无", "未报告", "/"))
# "UK|United Kingdom" accepts either.
_OR = "|"

Gold = dict[tuple[str, int], dict[str, str]]
"""Known values by document and row."""


@dataclass(slots=True)
class Column:
    """How one column compares with the known values."""

    right: int = 0
    wrong: int = 0
    """A value other than the known one."""
    missing: int = 0
    """No value, but one is known."""
    invented: int = 0
    """A value where it is known that there is none."""

    @property
    def total(self) -> int:
        """Cells that were compared."""
        return self.right + self.wrong + self.missing + self.invented

    @property
    def accuracy(self) -> float | None:
        """Share of right cells; None if none was compared."""
        return self.right / self.total if self.total else None


@dataclass(slots=True)
class Comparison:
    """The columns, the cells that differ, and known rows that the table does not have."""

    columns: dict[str, Column]
    differences: list[dict[str, Any]] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The comparison for a file or a page."""
        columns = {name: {**asdict(one), "accuracy": one.accuracy} for name, one in self.columns.items()}
        return {"columns": columns, "differences": self.differences, "unmatched": self.unmatched}


def read_gold(path: Path, columns: Sequence[str]) -> Gold:
    """The known values of a CSV file: a column that names the document, perhaps one with the row, and fields."""
    text = decode(path.read_bytes()).text
    delimiter = max((",", ";", "\t"), key=text.split("\n", 1)[0].count)
    rows = [
        {name.strip(): cell or "" for name, cell in row.items() if isinstance(name, str)}
        for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    ]
    if not rows:
        raise ff.Permanent(say_of_table("gold_empty", file=path.name), code="bad_gold")
    names = list(rows[0])
    by_lower = {name.lower(): name for name in names}
    document = next((by_lower[name] for name in _DOCUMENT if name in by_lower), None)
    if document is None:
        raise ff.Permanent(say_of_table("gold_no_document", file=path.name, columns=names), code="bad_gold")
    known = [name for name in columns if name in names]
    if not known:
        raise ff.Permanent(say_of_table("gold_no_field", file=path.name, columns=list(columns)), code="bad_gold")
    number = by_lower.get("row")
    return {
        (row[document].strip(), _number(row[number]) if number else 1): {name: row[name] for name in known}
        for row in rows
        if row[document].strip()
    }


def compare(rows: Iterable[Row], gold: Gold) -> Comparison:
    """Compare each known cell with the table. A document may be named by its file name, its path, its stem or its hash."""
    names = dict.fromkeys(name for known in gold.values() for name in known)
    result = Comparison({name: Column() for name in names})
    used: set[tuple[str, int]] = set()
    for row in rows:
        key = next((key for name in _names(row) if (key := (name, row["row"])) in gold), None)
        if key is None:
            continue
        used.add(key)
        for name, known in gold[key].items():
            _count(result, row, name, known)
    result.unmatched = [document for document, number in gold if (document, number) not in used]
    return result


def same(known: str, value: Any) -> bool:
    """Whether a value is the known one: numbers by value, text without regard to case, space and punctuation marks."""
    return any(_same(one.strip(), value) for one in known.split(_OR))


def _same(known: str, value: Any) -> bool:
    if isinstance(value, bool):
        return fold(known).text in (("true", "yes", "1", "是") if value else ("false", "no", "0", "否"))
    if isinstance(value, int | float):
        return numbers_of(known) == numbers_of(value)
    if isinstance(value, list):
        return sorted(_parts(known)) == sorted(fold(written(one)).text for one in value)
    mine, theirs = fold(written(value)).text, fold(known).text
    return mine == theirs or mine.strip(".,;:") == theirs.strip(".,;:")


def _parts(known: str) -> list[str]:
    return [folded for part in known.split(";") if (folded := fold(part).text)]


def _count(result: Comparison, row: Row, name: str, known: str) -> None:
    value = row["fields"].get(name, {}).get("value")
    column = result.columns[name]
    nothing_known = fold(known).text in _NOTHING
    if value is None or value in ("", []):
        outcome = "right" if nothing_known else "missing"
    elif nothing_known:
        outcome = "invented"
    else:
        outcome = "right" if same(known, value) else "wrong"
    setattr(column, outcome, getattr(column, outcome) + 1)
    if outcome != "right":
        result.differences.append(
            {"document": row["document"], "row": row["row"], "field": name, "outcome": outcome}
            | {"known": known, "value": value}
        )


def _names(row: Row) -> list[str]:
    return [row["document"], row["source"], PurePosixPath(row["document"]).stem, row["key"]]


def _number(text: str) -> int:
    return int(text) if text.strip().isdigit() else 1
