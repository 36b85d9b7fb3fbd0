"""Reads a manifest: a CSV or JSONL file with a row for each document, whose other columns are carried into the table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.extract.documents.decoding import decode
from fanfold.apps.extract.documents.document_sentences import say_of_document

ENDINGS = (".csv", ".tsv", ".jsonl")
NAMED = "manifest"
"""Name, without its ending, of a file in an archive that is always taken for a manifest."""
SOURCE = ("source", "file", "path", "filename", "文件", "文件名")
"""Columns that may name the file; the first one present is used."""
NAME = ("name", "名称")


@dataclass(frozen=True, slots=True)
class Row:
    """One row: its file, an optional display name, and the columns carried into the table."""

    source: str
    name: str
    columns: dict[str, str]


def rows(path: Path) -> list[Row]:
    """The rows of a manifest. Raises Permanent with what is wrong with it."""
    text = decode(path.read_bytes()).text
    is_json = path.suffix.lower() in (".jsonl", ".ndjson") or text.lstrip().startswith("{")
    found = list(_json(path, text) if is_json else _csv(text))
    if not found:
        raise ff.Permanent(say_of_document("manifest_empty", file=path.name), code="bad_manifest")
    names = list(dict.fromkeys(name for row in found for name in row))
    source = _column(names, SOURCE)
    if source is None:
        raise ff.Permanent(say_of_document("manifest_no_source", file=path.name, columns=names), code="bad_manifest")
    name = _column(names, NAME)
    used = {source, name}
    return [
        Row(
            row.get(source, "").strip(),
            row.get(name, "").strip() if name else "",
            {key: value for key, value in row.items() if key not in used},
        )
        for row in found
    ]


def names_files(path: Path) -> bool:
    """Whether a file has a column that names files, as a manifest does."""
    try:
        return bool(rows(path))
    except ff.Permanent:
        return False


def _column(names: list[str], known: tuple[str, ...]) -> str | None:
    return next((name for wanted in known for name in names if name.strip().lower() == wanted), None)


def _csv(text: str) -> Iterator[dict[str, str]]:
    first = text.split("\n", 1)[0]
    delimiter = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = [name.strip() for name in next(reader, [])]
    for cells in reader:
        if any(cell.strip() for cell in cells):
            yield {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _json(path: Path, text: str) -> Iterator[dict[str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise _bad_line(path, number, str(error)) from error
        if not isinstance(row, dict):
            raise _bad_line(path, number, type(row).__name__)
        yield {str(name): _written(value) for name, value in row.items()}


def _bad_line(path: Path, number: int, why: str) -> ff.Permanent:
    return ff.Permanent(say_of_document("manifest_line", file=path.name, line=number, why=why), code="bad_manifest")


def _written(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
