"""Divides fields into groups that are asked together: services cut off an answer with too many values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fanfold.apps.extract.template.fields import ROW, Field

MOST_LEAVES = 15


@dataclass(frozen=True)
class Group:
    """Fields that are asked in one call."""

    fields: tuple[Field, ...]
    is_rows: bool = False
    """Whether the answer is a list of rows, each with a value of every field."""

    def halves(self) -> tuple[Group, Group] | None:
        """The group in two parts; None if it cannot be divided. Fields of a row stay together."""
        if self.is_rows or len(self.fields) < 2:
            return None
        middle = (len(self.fields) + 1) // 2
        return Group(self.fields[:middle]), Group(self.fields[middle:])


def groups(fields: Iterable[Field], most: int = MOST_LEAVES) -> Iterator[Group]:
    """The fields in groups of nearly equal size; the fields of rows are a separate group."""
    known = tuple(fields)
    single = [field for field in known if field.scope != ROW]
    count = -(-len(single) // most)
    for number in range(count):
        yield Group(tuple(single[number * len(single) // count : (number + 1) * len(single) // count]))
    if rows := tuple(field for field in known if field.scope == ROW):
        yield Group(rows, is_rows=True)
