"""Cells, records and rows for the tests of the table."""

from typing import Any


def cell(
    value: Any, state: str = "ok", *, part: str = "", reason: str | None = None, quote: str = ""
) -> dict[str, Any]:
    """A cell as an item stores it."""
    box = {"page": 3, "x": 0.1, "y": 0.2, "width": 0.3, "height": 0.02}
    evidence = {"quote": quote, "text": quote, "page": 3, "line": 17, "start": 810, "end": 861, "score": 97.2}
    return {
        "value": value,
        "raw": value,
        "state": state,
        "status": "found" if value is not None else "not_found",
        "reason": reason,
        "evidence": [{**evidence, "boxes": [box]}] if quote else [],
        "alternatives": [],
        "model": "fake/one",
        "cost": "0.0012",
        "attempts": 1,
        "repaired": False,
        "part": part or f"part of {value}",
    }


def record(name: str, fields: dict[str, Any], files: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    """The output of an item."""
    files = files or [{"name": name, "source": f"papers/{name}", "columns": {}}]
    document = {"name": name, "sha256": "0" * 64, "pages": 9, "rows": files}
    return {"columns": list(fields), "document": document, "fields": fields, **more}


def row(document: str, fields: dict[str, Any], number: int = 1, **more: Any) -> dict[str, Any]:
    """A row of the table."""
    known = {"key": document, "row": number, "document": document, "source": f"papers/{document}", "columns": {}}
    return {**known, "state": "done", "error": None, "fields": fields, **more}
