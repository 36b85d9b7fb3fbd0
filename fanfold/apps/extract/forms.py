"""The forms of the table: CSV, XLSX, JSONL, Parquet, and lists of problems and of possible duplicates."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import fanfold as ff
from fanfold.apps.extract.merging import table_rows
from fanfold.apps.extract.table.rows import Row, StoredRows, carried_columns, problems, write_jsonl
from fanfold.apps.extract.template.reading import read_template


@dataclass(frozen=True)
class Table:
    """The rows of a form, and its columns."""

    rows: Iterable[Row]
    columns: list[str]
    carried: list[str]


def table_of(work: ff.FormWork) -> Table:
    """The table of a completed task, or the rows finished so far."""
    if not work.is_partial:
        result = work.result
        return Table(StoredRows(result["file"].path), result["columns"], result["carried"])
    template = read_template(work.task.options["template"])
    path = work.scratch / "rows.jsonl"
    write_jsonl(path, table_rows(work.results("extract"), template))
    rows = StoredRows(path)
    return Table(rows, template.names, carried_columns(rows))


def as_csv(work: ff.FormWork) -> Path:
    """One row per document, or per row inside a document. Text never becomes a formula."""
    from fanfold.apps.extract.table.csv_file import write_csv

    return _written(work, "table.csv", write_csv)


def as_excel_csv(work: ff.FormWork) -> Path:
    """CSV with a byte order mark, which Excel needs to detect UTF-8."""
    from fanfold.apps.extract.table.csv_file import write_csv

    return _written(work, "table.csv", lambda *given: write_csv(*given, bom=True))


def as_xlsx(work: ff.FormWork) -> Path:
    """Values, evidence and problems, one sheet each."""
    from fanfold.apps.extract.table.xlsx_file import write_xlsx

    return _written(work, "table.xlsx", write_xlsx)


def as_parquet(work: ff.FormWork) -> Path:
    """Values with state, page, quote and score."""
    from fanfold.apps.extract.table.parquet_file import write_parquet

    return _written(work, "table.parquet", write_parquet)


def as_jsonl(work: ff.FormWork) -> Path:
    """Everything that is known of each cell, one row per line."""
    path = work.scratch / "table.jsonl"
    write_jsonl(path, table_of(work).rows)
    return path


def as_problems(work: ff.FormWork) -> str:
    """Failed documents and doubtful cells with their reasons, one per line."""
    table = table_of(work)
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in problems(table.rows, table.columns))


def as_duplicates(work: ff.FormWork) -> str:
    """Documents that may be the same work. Nothing is merged."""
    from fanfold.apps.extract.table.duplicates import suggestions

    found = [asdict(one) for one in suggestions(table_of(work).rows)]
    return json.dumps(found, ensure_ascii=False, indent=2) + "\n"


def _written(work: ff.FormWork, name: str, write: Callable[..., object]) -> Path:
    table = table_of(work)
    path = work.scratch / name
    write(path, table.rows, table.columns, table.carried)
    return path


def declare(pipeline: ff.Pipeline) -> None:
    """Declare the forms of a pipeline."""
    made: tuple[tuple[str, str, str, str, Callable[[ff.FormWork], object]], ...] = (
        ("csv", "CSV", "text/csv", ".csv", as_csv),
        ("xlsx", "Excel", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xlsx", as_xlsx),
        ("csv-excel", "CSV for Excel", "text/csv", ".csv", as_excel_csv),
        ("jsonl", "JSONL", "application/jsonl", ".jsonl", as_jsonl),
        ("parquet", "Parquet", "application/vnd.apache.parquet", ".parquet", as_parquet),
        ("problems", "Problems", "application/jsonl", ".problems.jsonl", as_problems),
        ("duplicates", "Possible duplicates", "application/json", ".duplicates.json", as_duplicates),
    )
    for name, label, media_type, ending, make in made:
        pipeline.form(name, label=label, media_type=media_type, ending=ending, partial=True)(make)
