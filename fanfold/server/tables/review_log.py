"""The review log of a task as CSV: who decided what about which cell and when, with the value before and after."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from fanfold.engine.client import Client
from fanfold.errors import FanfoldError
from fanfold.model.decision import Decision, DecisionVerdict
from fanfold.server.tables.cells import is_record, record_rows

AT_ONCE = 1_000
HEADINGS = (
    "number", "time", "who", "item", "document", "column", "part", "decision", "before", "after",
)  # fmt: skip
FORMULAS = ("=", "+", "-", "@", "\t", "\r")


def review_log(client: Client, task_id: str) -> Iterator[str]:
    """The log, a piece at a time, in the order of the decisions."""
    yield _csv([HEADINGS])
    records: dict[str, dict[str, tuple[str, str, Any]]] = {}
    after = 0
    while found := client.decisions(task_id, history=True, after=after, limit=AT_ONCE):
        for one in found:
            if one.item not in records:
                records = {one.item: _parts(client, task_id, one)}
            yield _csv([_line(one, records[one.item].get(one.part, ("", "", None)))])
        after = found[-1].number


def _parts(client: Client, task_id: str, decision: Decision) -> dict[str, tuple[str, str, Any]]:
    """Document, column and value of each part of an item; empty if its output is gone or has another shape."""
    try:
        output = client.output(task_id, decision.item, decision.stage)
    except FanfoldError:
        return {}
    if not is_record(output):
        return {}
    return {
        str(cell.get("part")): (row.document, column, cell.get("value"))
        for row in record_rows(output, decision.item)
        for column, cell in row.cells.items()
    }


def _line(one: Decision, cell: tuple[str, str, Any]) -> tuple[str, ...]:
    document, column, before = cell
    after = one.value if one.verdict is DecisionVerdict.REPLACE else before
    told = (str(one.number), one.at.isoformat(), one.actor, one.item, document, column, one.part, one.verdict.value)
    return (*told, _text(before), _text(after))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _csv(rows: Iterable[Iterable[str]]) -> str:
    """Lines of CSV that a spreadsheet does not take for formulas."""
    sink = io.StringIO()
    writer = csv.writer(sink)
    for row in rows:
        writer.writerow([f"'{text}" if text.startswith(FORMULAS) and not _is_number(text) else text for text in row])
    return sink.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
