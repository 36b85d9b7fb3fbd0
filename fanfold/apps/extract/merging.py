"""Merges the records of all documents and people's decisions into the table: one line of JSON per row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import fanfold as ff
from fanfold.apps.extract.items import rows_of_input
from fanfold.apps.extract.table.decided import with_decisions
from fanfold.apps.extract.table.rows import Row, rows_of, rows_of_failure, write_jsonl
from fanfold.apps.extract.template.fields import Template


class Counting:
    """Counts cells by state and collects the manifest's columns while the rows are written."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self.cells: Counter[str] = Counter()
        self.carried: dict[str, None] = {}

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.cells.update(cell["state"] for cell in row["fields"].values())
            self.carried |= dict.fromkeys(row["columns"])
            yield row


def join(task: ff.TaskWork, results: ff.Results, template: Template) -> dict[str, Any]:
    """The result of the task: a summary of the table, and its file."""
    counted = Counting(table_rows(results, template))
    path = task.scratch / "table.jsonl"
    count = write_jsonl(path, counted)
    return {
        "columns": template.names,
        "carried": list(counted.carried),
        "rows": count,
        "cells": dict(sorted(counted.cells.items())),
        "file": task.write("table.jsonl", path),
    }


def table_rows(results: ff.Results, template: Template) -> Iterator[Row]:
    """The rows of the table, in the order of the documents. A failed document is a row with its reason."""
    for result in results.all():
        if not result.ok:
            state = "pending" if result.error_message is None else "failed"
            yield from rows_of_failure(result.key, _files(result), result.error_message or "", state)
            continue
        record = with_decisions(result.output, result.decisions)
        for row in rows_of(result.key, record):
            fields = row["fields"]
            yield row | {"fields": {name: fields[name] for name in template.names if name in fields}}


def _files(result: ff.Result[Any, Any]) -> list[dict[str, Any]]:
    """The files of a document that has no record."""
    told = result.input if isinstance(result.input, dict) else {}
    name = str(told.get("name") or result.key)
    return rows_of_input(told, name)
