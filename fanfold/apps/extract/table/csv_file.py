"""Writes the table as CSV: a row for each document, its values, and its error."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

from fanfold.apps.extract.table.rows import Row
from fanfold.apps.extract.table.values import harmless, written


def write_csv(
    path: Path,
    rows: Iterable[Row],
    columns: Sequence[str],
    carried: Sequence[str] = (),
    *,
    bom: bool = False,
    formulas: bool = False,
) -> None:
    """Write CSV in UTF-8. ``bom`` is for Excel. With ``formulas``, text that looks like a formula is not escaped."""
    safe = (lambda text: text) if formulas else harmless
    with path.open("w", encoding="utf-8-sig" if bom else "utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(safe(name) for name in ("document", *carried, *columns, "state", "error"))
        for row in rows:
            fields = row["fields"]
            writer.writerow(
                [
                    safe(written(row["document"])),
                    *(safe(written(row["columns"].get(name))) for name in carried),
                    *(safe(written(fields[name].get("value"))) if name in fields else "" for name in columns),
                    row["state"],
                    safe(written(row["error"])),
                ]
            )
