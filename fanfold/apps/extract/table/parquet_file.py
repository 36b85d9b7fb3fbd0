"""Writes the table as Parquet, if the extra ``fanfold[parquet]`` is installed: values, and state, page, quote and score."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.extract.table.rows import Row
from fanfold.apps.extract.table.table_sentences import say_of_table
from fanfold.apps.extract.table.values import written

_TYPES = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE"}
_LARGEST = 2**63
_MORE = {"state": "VARCHAR", "page": "BIGINT", "quote": "VARCHAR", "score": "DOUBLE"}


def available() -> bool:
    """Whether the ``parquet`` extra is installed, checked without importing it."""
    return importlib.util.find_spec("duckdb") is not None


def write_parquet(path: Path, rows: Iterable[Row], columns: Sequence[str], carried: Sequence[str] = ()) -> None:
    """Write a Parquet file. The rows are read twice: first for the type of each column, then for the values."""
    if not available():
        raise ff.Permanent(say_of_table("needs_parquet"), code="needs_parquet")
    import duckdb

    types = _types(rows, columns, carried)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder, duckdb.connect() as connection:
        flat = Path(folder) / "rows.jsonl"
        with flat.open("w", encoding="utf-8", newline="\n") as file:
            for row in _flat(rows, columns, carried, types):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        source = "read_json(?, format='newline_delimited', columns=?, maximum_object_size=268435456)"
        connection.execute("SET preserve_insertion_order=true")
        connection.execute(f"COPY (FROM {source}) TO {_literal(path)} (FORMAT parquet)", [str(flat), types])


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _types(rows: Iterable[Row], columns: Sequence[str], carried: Sequence[str]) -> dict[str, str]:
    """The type of each column: numbers only where all values are numbers."""
    seen: dict[str, set[str]] = {name: set() for name in columns}
    for row in rows:
        for name in columns:
            value = row["fields"].get(name, {}).get("value")
            if value is not None:
                seen[name].add(_type(value))
    types = dict.fromkeys(["document", "source", *map(_carried_name, carried)], "VARCHAR") | {"row": "BIGINT"}
    for name, kinds in seen.items():
        types[_field_name(name)] = _common(kinds)
        types |= {f"{_field_name(name)}__{part}": kind for part, kind in _MORE.items()}
    return types | {"state": "VARCHAR", "error": "VARCHAR"}


def _type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LARGEST:
        return "VARCHAR"
    return _TYPES.get(type(value), "VARCHAR")


def _common(kinds: set[str]) -> str:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "DOUBLE" if kinds == {"BIGINT", "DOUBLE"} else "VARCHAR"


def _carried_name(name: str) -> str:
    return f"carried__{name}"


def _field_name(name: str) -> str:
    """The column of a field, renamed if a document column has the same name."""
    return f"field__{name}" if name.lower() in ("document", "source", "row", "state", "error") else name


def _flat(
    rows: Iterable[Row], columns: Sequence[str], carried: Sequence[str], types: dict[str, str]
) -> Iterator[dict[str, Any]]:
    for row in rows:
        flat: dict[str, Any] = {name: row[name] for name in ("document", "source", "row", "state", "error")}
        flat |= {_carried_name(name): row["columns"].get(name) for name in carried}
        for name in columns:
            cell = row["fields"].get(name)
            if cell is None:
                continue
            field = _field_name(name)
            value = cell.get("value")
            flat[field] = written(value) if value is not None and types[field] == "VARCHAR" else value
            evidence = (cell.get("evidence") or [{}])[0]
            flat |= {f"{field}__{part}": evidence.get(part) for part in ("page", "quote", "score")}
            flat[f"{field}__state"] = cell["state"]
        yield flat
