"""Makes table rows from records, counts their cells, and lists what a person should check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Cell = dict[str, Any]

PROBLEMS = ("weak", "unsupported", "invalid", "conflict")
"""States of cells that a person should look at."""


def rows_of(key: str, record: Mapping[str, Any], state: str = "done") -> Iterator[Row]:
    """The rows of a document: all rows found in it, repeated for each file with this content."""
    document = record["document"]
    inner = record.get("rows") or [{"fields": {}}]
    for file in document.get("rows") or [{"name": document["name"], "source": "", "columns": {}}]:
        for number, row in enumerate(inner, 1):
            fields = {**record.get("fields", {}), **row["fields"]}
            yield _row(key, number, file, state, None, fields)


def rows_of_failure(key: str, files: Iterable[Mapping[str, Any]], error: str, state: str = "failed") -> Iterator[Row]:
    """The rows of a document that could not be read or asked about: a reason and no fields."""
    for file in files:
        yield _row(key, 1, file, state, error, {})


def _row(
    key: str, number: int, file: Mapping[str, Any], state: str, error: str | None, fields: Mapping[str, Cell]
) -> Row:
    return {
        "key": key,
        "row": number,
        "document": file["name"],
        "source": file.get("source", ""),
        "columns": dict(file.get("columns") or {}),
        "state": state,
        "error": error,
        "fields": dict(fields),
    }


def count_cells(rows: Iterable[Row]) -> Counter[str]:
    """How many cells are in each state."""
    return Counter(cell["state"] for row in rows for cell in row["fields"].values())


def carried_columns(rows: Iterable[Row]) -> list[str]:
    """The columns carried through from a manifest, in order of first appearance."""
    return list(dict.fromkeys(name for row in rows for name in row["columns"]))


def problems(rows: Iterable[Row], columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Failed documents and cells that a person should check, with their reasons."""
    for row in rows:
        told = {"document": row["document"], "row": row["row"]}
        if row["error"]:
            yield {**told, "field": None, "state": row["state"], "reason": row["error"], "value": None}
        for name in columns:
            cell = row["fields"].get(name)
            if cell is not None and cell["state"] in PROBLEMS:
                yield {
                    **told,
                    "field": name,
                    "state": cell["state"],
                    "reason": cell.get("reason"),
                    "value": cell.get("value"),
                }


def write_jsonl(path: Path, rows: Iterable[Row]) -> int:
    """Write one JSON row per line, with all data of each cell. Returns the number of rows."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str))
            file.write("\n")
            count += 1
    return count


class StoredRows:
    """The rows of a JSONL file, read again each time, one at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[Row]:
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)
