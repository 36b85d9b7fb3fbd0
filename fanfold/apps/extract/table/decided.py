"""Applies the decisions of people to the cells of a record. No model is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

Cell = dict[str, Any]
Record = dict[str, Any]


class Decided(Protocol):
    """A decision about a cell, such as `fanfold.Decision`."""

    @property
    def verdict(self) -> Any:
        """accept, reject or replace."""

    @property
    def value(self) -> Any:
        """What replaces the value; None for "not reported"."""

    @property
    def actor(self) -> str:
        """Who decided."""

    @property
    def at(self) -> Any:
        """When."""


def with_decisions(record: Record, decisions: Mapping[str, Decided]) -> Record:
    """The record with its decisions applied, by part. Cells without a decision are returned unchanged (the same objects)."""
    if not decisions:
        return record
    decided = {**record, "fields": _fields(record.get("fields", {}), decisions)}
    if "rows" in record:
        rows = [{**row, "fields": _fields(row["fields"], decisions)} for row in record["rows"]]
        decided["rows"] = [row for row in rows if not _is_emptied(row["fields"])]
    return decided


def _is_emptied(fields: Mapping[str, Cell]) -> bool:
    """Whether a person has emptied all cells of a row inside a document: then there is no such row."""
    states = {cell["state"] for cell in fields.values() if cell["value"] is None}
    return "edited" in states and all(cell["value"] is None for cell in fields.values())


def with_decision(cell: Cell, decision: Decided) -> Cell:
    """A cell with one decision: approved unchanged, edited, or emptied ("not reported").

    The original value stays in ``decision``, for the review log.
    """
    verdict = str(decision.verdict)
    at = decision.at.isoformat() if hasattr(decision.at, "isoformat") else decision.at
    taken = {"verdict": verdict, "actor": decision.actor, "at": at, "before": cell.get("value")}
    if verdict == "accept":
        return {**cell, "state": "approved", "decision": taken}
    value = decision.value if verdict == "replace" else None
    status = "found" if value is not None else "not_found"
    return {**cell, "value": value, "state": "edited", "status": status, "reason": None, "decision": taken}


def _fields(fields: Mapping[str, Cell], decisions: Mapping[str, Decided]) -> dict[str, Cell]:
    return {
        name: cell if (decision := decisions.get(cell.get("part", ""))) is None else with_decision(cell, decision)
        for name, cell in fields.items()
    }
