"""An index of a task's table: the state of every cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fanfold.model.lifecycle import ItemState
from fanfold.model.task import TaskRow
from fanfold.server.tables.cells import columns_of, is_record, kind_of, record_rows, sources_in, state_of
from fanfold.server.tables.item_index import IndexedItem, ItemIndex, TaskIndexes
from fanfold.store.items.query import ItemRow
from fanfold.store.store import Store


class IndexedCell(NamedTuple):
    """A cell in the index: its own state, and the key of the part that decisions refer to."""

    state: str
    part: str


@dataclass
class IndexedRow:
    """A row in the index."""

    document: str
    cells: dict[str, IndexedCell] = field(default_factory=dict)


class FoundRow(NamedTuple):
    """A row of the table: its item, and its number among the rows of the item, from 1."""

    item: IndexedItem[IndexedRow]
    number: int
    row: IndexedRow


class TableIndex(ItemIndex[IndexedRow]):
    """The index of one task's table."""

    def __init__(self, store: Store, row: TaskRow) -> None:
        super().__init__(store, row)
        self.columns: list[str] = []
        self.kinds: dict[str, str] = {}
        """The kind of values in each column, taken from its first non-empty value."""

    def rows(self) -> Iterator[FoundRow]:
        """All rows, in the order of the items."""
        for item in self.items.values():
            for number, row in enumerate(item.rows, 1):
                yield FoundRow(item, number, row)

    def state(self, item: IndexedItem[IndexedRow], cell: IndexedCell) -> str:
        """The state of a cell, with people's decisions applied."""
        return state_of({"state": cell.state, "value": ""}, self.decisions.get((item.key, cell.part)))

    def counts(self) -> Counter[str]:
        """The cells by state."""
        return Counter(self.state(one.item, cell) for one in self.rows() for cell in one.row.cells.values())

    def _learn(self, item: IndexedItem[IndexedRow], row: ItemRow) -> None:
        record = self.store.unfold(row.output) if item.state == ItemState.DONE and item.stage == self.stage else None
        if not is_record(record):
            told = self.store.unfold(row.input)
            item.rows = [IndexedRow(name) for name, *_ in sources_in(told, item.key)]
            return
        self.columns = list(dict.fromkeys([*self.columns, *columns_of(record)]))
        for name, cell in (pair for one in record_rows(record, item.key) for pair in one.cells.items()):
            if name not in self.kinds and (kind := kind_of(cell.get("value"))) is not None:
                self.kinds[name] = kind
        item.rows = [
            IndexedRow(one.document, {name: _indexed(cell) for name, cell in one.cells.items()})
            for one in record_rows(record, item.key)
        ]


def _indexed(cell: dict[str, Any]) -> IndexedCell:
    return IndexedCell(state_of(cell), str(cell.get("part") or ""))


class TableIndexes(TaskIndexes[TableIndex]):
    """The tables of the most recently viewed tasks."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, TableIndex)
