"""Decides which fields of a document are asked again: new and changed fields, those named by a person, or all."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fanfold.apps.extract.asking.states import Cell
from fanfold.apps.extract.template.fields import ROW, Field, Template

Record = dict[str, Any]


@dataclass(frozen=True)
class Redo:
    """What a person wants asked again. Without fields, only new and changed fields are asked."""

    token: str
    fields: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    """Only cells in these states; empty for all."""
    model: str = ""
    is_opinion: bool = False
    """Whether new answers are compared with the current ones instead of replacing them."""

    @classmethod
    def new(cls, **values: Any) -> Redo:
        """A new redo, different from every earlier one."""
        return cls(secrets.token_hex(6), **values)

    @classmethod
    def of(cls, text: str) -> Redo | None:
        """Read the option of an item."""
        if not text:
            return None
        found: dict[str, Any] = json.loads(text)
        lists = {name: tuple(found[name]) for name in ("fields", "states")}
        return cls(**(found | lists))

    def text(self) -> str:
        """The option of an item."""
        return json.dumps(asdict(self), ensure_ascii=False)


@dataclass
class Plan:
    """Which cells of an earlier record are kept, and which fields are asked."""

    ask: list[Field]
    kept: dict[str, Cell] = field(default_factory=dict)
    rows: list[dict[str, Cell]] = field(default_factory=list)
    set_aside: dict[str, Any] = field(default_factory=dict)
    """Cells of removed columns, by fingerprint, so that a column that is added back is not asked again."""


def planned(template: Template, earlier: Record | None, redo: Redo | None) -> Plan:
    """The plan for a document. A person's retry without a new redo asks everything again."""
    if earlier is None or redo is None or redo.token == earlier.get("redo"):
        return Plan(list(template.fields))
    prints = template.fingerprints()
    asked: Mapping[str, str] = earlier["asked"]
    cells: dict[str, Cell] = dict(earlier["fields"])
    aside = dict(earlier.get("set_aside") or {})
    for name, cell in cells.items():
        aside[asked[name]] = cell
    kept = {
        one.name: aside[prints[one.name]]
        for one in template.of_document
        if prints[one.name] in aside and not _is_chosen(redo, one.name, aside[prints[one.name]])
    }
    ask = [one for one in template.of_document if one.name not in kept]
    rows = [row["fields"] for row in earlier.get("rows", ())]
    if template.of_rows and _asks_rows(template, asked, prints, redo, rows):
        ask, rows = [*ask, *template.of_rows], []
    current = {prints[name] for name in prints}
    return Plan(ask, kept, rows, {mark: cell for mark, cell in aside.items() if mark not in current})


def _is_chosen(redo: Redo, name: str, cell: Cell) -> bool:
    """Whether a person wants this cell asked again."""
    if redo.is_opinion or name not in (redo.fields or (name,)) or not (redo.fields or redo.states):
        return False
    return not redo.states or cell["state"] in redo.states


def _asks_rows(
    template: Template, asked: Mapping[str, str], prints: Mapping[str, str], redo: Redo, rows: Sequence[dict[str, Cell]]
) -> bool:
    """Whether the rows are asked again: all of them, since a row is one answer."""
    names = [one.name for one in template.of_rows]
    if any(asked.get(name) != prints[name] for name in names):
        return True
    cells = [(name, row[name]) for row in rows for name in names if name in row]
    chosen = any(_is_chosen(redo, name, cell) for name, cell in cells)
    return chosen or (not rows and any(name in redo.fields for name in names))


def opinion_fields(template: Template, redo: Redo) -> list[Field]:
    """The fields that a second model is asked about. A row is one answer, so one field of it stands for all."""
    chosen = redo.fields or template.names
    has_rows = any(one.name in chosen for one in template.of_rows)
    return [one for one in template.fields if (has_rows if one.scope == ROW else one.name in chosen)]
