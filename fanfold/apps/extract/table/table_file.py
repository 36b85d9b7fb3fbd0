"""Writes the table of a result to a file, in the form that the ending of its name asks for."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from fanfold.apps.extract.table.csv_file import write_csv
from fanfold.apps.extract.table.parquet_file import write_parquet
from fanfold.apps.extract.table.rows import StoredRows
from fanfold.apps.extract.table.xlsx_file import write_xlsx
from fanfold.running.many_files.saving import Placed

FORMS = {".csv": "csv", ".xlsx": "xlsx", ".jsonl": "jsonl", ".parquet": "parquet"}
"""Forms of the table by the ending of its file."""
WRITERS = {".csv": write_csv, ".xlsx": write_xlsx, ".parquet": write_parquet}


def place(result: dict[str, Any], target: Path) -> Placed:
    """The table at ``target``."""
    return Placed({target: partial(_content, result, target.suffix.lower())})


def _content(result: dict[str, Any], ending: str) -> bytes:
    rows: Path = result["file"].path
    write = WRITERS.get(ending)
    if write is None:
        return rows.read_bytes()
    with tempfile.TemporaryDirectory(prefix="fanfold-table-") as folder:
        path = Path(folder) / f"table{ending}"
        write(path, StoredRows(rows), result["columns"], result["carried"])
        return path.read_bytes()
