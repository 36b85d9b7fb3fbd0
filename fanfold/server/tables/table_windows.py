"""Queries a task's table: a window of rows, the problems, or one cell, with decisions applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fanfold.engine.client import Client
from fanfold.errors import NotFound
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Task
from fanfold.model.text.sentences import say
from fanfold.server.tables.cells import (
    PROBLEMS,
    REVIEWED,
    STATES,
    Cell,
    RecordRow,
    brief,
    decided,
    is_record,
    record_rows,
    sources_in,
)
from fanfold.server.tables.item_index import IndexedItem
from fanfold.server.tables.table_index import FoundRow, IndexedRow, TableIndex, TableIndexes

FAILED = "failed"
OPEN = "open"
ROW_STATES = (FAILED, OPEN)
"""States of a whole row to filter by: its document failed, or is not done yet."""
LARGEST_WINDOW = 200


@dataclass(frozen=True)
class TableFilter:
    """A filter for rows: by the state of a cell (in one column, if named) and by document."""

    states: tuple[str, ...] = ()
    column: str = ""
    document: str = ""

    def takes(self, index: TableIndex, one: FoundRow) -> bool:
        """Whether a row passes the filter."""
        if self.document and self.document.casefold() not in one.row.document.casefold():
            return False
        if not self.states:
            return True
        if row_state(one.item) in self.states:
            return True
        cells = one.row.cells
        chosen = [cells[self.column]] if self.column in cells else [] if self.column else list(cells.values())
        return any(index.state(one.item, cell) in self.states for cell in chosen)


@dataclass(frozen=True)
class TableWindow:
    """Rows of a table, and figures about the whole table."""

    columns: list[str]
    offset: int
    total: int
    """Number of rows that pass the filter."""
    rows: list[dict[str, Any]]
    cells: dict[str, int]
    documents: dict[str, int]
    reviewed: int
    unread: int
    is_cut: bool
    stage: str
    picture_stage: str = ""
    next: int | None = None


def row_state(item: IndexedItem[IndexedRow]) -> str:
    """The state of a row's document: `done`, `failed`, or `open` for any other."""
    return {ItemState.DONE.value: "done", ItemState.FAILED.value: FAILED}.get(item.state, OPEN)


class Tables:
    """Queries on the tables of tasks, for one client."""

    def __init__(self, client: Client, indexes: TableIndexes) -> None:
        self.client = client
        self._indexes = indexes

    def window(
        self, task_id: str, wanted: TableFilter, offset: int = 0, limit: int = 100, *, is_brief: bool = False
    ) -> TableWindow:
        """Some rows of the table, in item order."""
        index = self._indexes.of(self.client.lookup, task_id)
        with index.lock:
            index.look()
            found = [one for one in index.rows() if wanted.takes(index, one)]
            shown = found[offset : offset + min(limit, LARGEST_WINDOW)]
            columns = [wanted.column] if wanted.column else index.columns
            rows = self._rows(index, shown, columns)
            counts = index.counts()
            return TableWindow(
                columns=list(index.columns),
                offset=offset,
                total=len(found),
                rows=[_brief(row) for row in rows] if is_brief else rows,
                cells={state: counts[state] for state in STATES if counts[state]},
                documents=dict(Counter(row_state(item) for item in index.items.values())),
                reviewed=sum(counts[state] for state in REVIEWED),
                unread=index.unread,
                is_cut=index.is_cut,
                stage=index.stage,
                picture_stage=index.stages[0],
                next=offset + len(shown) if offset + len(shown) < len(found) else None,
            )

    def problems(self, task_id: str, offset: int, limit: int) -> tuple[list[dict[str, Any]], int]:
        """Failed documents and poorly supported cells, in order, and their total number."""
        index = self._indexes.of(self.client.lookup, task_id)
        with index.lock:
            index.look()
            found = [
                (one, column)
                for one in index.rows()
                for column in (
                    [None]
                    if one.item.state == ItemState.FAILED
                    else [name for name, cell in one.row.cells.items() if index.state(one.item, cell) in PROBLEMS]
                )
            ]
            shown = found[offset : offset + min(limit, LARGEST_WINDOW)]
            rows = self._rows(index, [one for one, _ in shown], index.columns)
        return [_problem(row, column) for row, (_, column) in zip(rows, shown, strict=True)], len(found)

    def cell(self, task_id: str, key: str, number: int, column: str) -> tuple[dict[str, Any], Cell]:
        """One row of the table, and its cell in a column. Raises NotFound if there is none."""
        rows = self.record(task_id, key)
        row = next((one for one in rows if one["row"] == number), None)
        if row is None or column not in row["fields"]:
            raise NotFound(say("no_cell", task=task_id, item=key[:200], row=number, column=column[:100]))
        return row, row["fields"][column]

    def record(self, task_id: str, key: str) -> list[dict[str, Any]]:
        """All rows of one item, in full."""
        task = self.client.get(task_id)
        index = self._indexes.of(self.client.lookup, task_id)
        detail = self.client.item(task.id, key, index.stage)
        decisions = {one.part: one for one in self.client.decisions(task.id, stage=index.stage, item=detail.item.key)}
        if not is_record(detail.output):
            return []
        item: IndexedItem[IndexedRow] = IndexedItem(
            detail.item.seq, detail.item.key, index.stage, detail.item.state, 0, detail.item.error_message
        )
        found = record_rows(detail.output, item.key)
        return [
            _row(item, number, one, {name: _decided(cell, decisions) for name, cell in one.cells.items()})
            for number, one in enumerate(found, 1)
        ]

    def _rows(self, index: TableIndex, shown: Sequence[FoundRow], columns: Sequence[str]) -> list[dict[str, Any]]:
        """These rows with their cells, read from the outputs."""
        records = _records(index, {one.item.seq: one.item for one in shown})
        made = []
        for one in shown:
            known = records.get(one.item.seq, [])
            row = known[one.number - 1] if one.number <= len(known) else RecordRow(one.row.document, "", {}, {})
            cells = {
                name: decided(cell, index.decisions.get((one.item.key, str(cell.get("part") or ""))))
                for name, cell in row.cells.items()
                if name in columns
            }
            made.append(_row(one.item, one.number, row, cells))
        return made


def _records(index: TableIndex, items: dict[int, IndexedItem[IndexedRow]]) -> dict[int, list[RecordRow]]:
    """The rows of these items by position, with their cells."""
    found: dict[int, list[RecordRow]] = {}
    for row in index.bodies(items.values()):
        output = index.store.unfold(row.output) if row.state == ItemState.DONE else None
        if is_record(output):
            found[row.seq] = record_rows(output, row.key)
        else:
            sources = sources_in(index.store.unfold(row.input), row.key)
            found[row.seq] = [RecordRow(*source, {}) for source in sources]
    return found


def _decided(cell: Cell, decisions: dict[str, Any]) -> Cell:
    return decided(cell, decisions.get(str(cell.get("part") or "")))


def _row(item: IndexedItem[IndexedRow], number: int, row: RecordRow, cells: dict[str, Cell]) -> dict[str, Any]:
    error = item.error if item.state == ItemState.FAILED else None
    told = {
        "key": item.key,
        "row": number,
        "document": row.document,
        "source": row.source,
        "columns": dict(row.columns),
    }
    return told | {"state": item.state, "error": error, "fields": cells}


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"columns": {}, "fields": {name: brief(cell) for name, cell in row["fields"].items()}}


def _problem(row: dict[str, Any], column: str | None) -> dict[str, Any]:
    cell = row["fields"].get(column) or {}
    told = {"key": row["key"], "row": row["row"], "document": row["document"], "column": column}
    state = FAILED if column is None else cell.get("state")
    return told | {"state": state, "value": cell.get("value"), "reason": row["error"] or cell.get("reason")}


def has_table(task: Task, view: str) -> bool:
    """Whether a task is shown as a table."""
    return view == "table" and any(stage.total for stage in task.stages)
