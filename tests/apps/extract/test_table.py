"""What the table holds, and that its files hold it unchanged and harmless."""

import csv
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.extract.table import parquet_file
from fanfold.apps.extract.table.csv_file import write_csv
from fanfold.apps.extract.table.decided import with_decisions
from fanfold.apps.extract.table.parquet_file import write_parquet
from fanfold.apps.extract.table.rows import (
    StoredRows,
    carried_columns,
    count_cells,
    problems,
    rows_of,
    rows_of_failure,
    write_jsonl,
)
from fanfold.apps.extract.table.table_sentences import CHINESE, ENGLISH
from fanfold.apps.extract.table.xlsx_file import LONGEST, write_xlsx
from fanfold.model.decision import Decision, DecisionVerdict
from tests.apps.extract.cells import cell, record, row

AT = datetime(2026, 11, 17, tzinfo=UTC)
HOSTILE = ['=HYPERLINK("http://evil")', "+1+1", "-2+3", "@SUM(A1)", "\tx", "＝1+1", "http://a.b", "{=1}", "a\x00b\x0bc"]


def decision(verdict: str, value: Any = None) -> Decision:
    return Decision(1, "extract", "a", "p", DecisionVerdict(verdict), value, "ada", AT)


def test_identical_files_are_rows_of_their_own_with_their_own_columns() -> None:
    files = [{"name": name, "source": f"in/{name}", "columns": {"group": name}} for name in ("a.pdf", "b.pdf")]
    made = list(rows_of("k", record("a.pdf", {"n": cell(120)}, files)))
    assert [(one["document"], one["source"], one["columns"], one["row"]) for one in made] == [
        ("a.pdf", "in/a.pdf", {"group": "a.pdf"}, 1),
        ("b.pdf", "in/b.pdf", {"group": "b.pdf"}, 1),
    ]
    assert all(one["fields"]["n"]["value"] == 120 for one in made)
    assert carried_columns(made) == ["group"]


def test_rows_within_a_document_share_the_fields_of_the_document() -> None:
    inner = [{"key": str(number), "fields": {"arm": cell(f"arm {number}")}} for number in (1, 2)]
    made = list(rows_of("k", record("a.pdf", {"title": cell("T")}, rows=inner)))
    assert [(one["row"], one["fields"]["title"]["value"], one["fields"]["arm"]["value"]) for one in made] == [
        (1, "T", "arm 1"),
        (2, "T", "arm 2"),
    ]


def test_a_document_that_failed_is_a_row_with_its_reason() -> None:
    made = list(rows_of_failure("k", [{"name": "a.pdf", "source": "a.pdf", "columns": {"x": "1"}}], "a.pdf is empty"))
    assert [(one["error"], one["state"], one["fields"], one["columns"]) for one in made] == [
        ("a.pdf is empty", "failed", {}, {"x": "1"})
    ]
    assert [one["reason"] for one in problems(made, ["n"])] == ["a.pdf is empty"]


def test_decisions_approve_edit_and_empty_cells() -> None:
    fields = {
        "kept": cell(1, part="p0"),
        "good": cell(120, "weak", part="p1", reason="the quote is short"),
        "bad": cell(7, "unsupported", part="p2", reason="no quote"),
        "gone": cell("x", part="p3", quote="x y z"),
    }
    inner = [{"key": "1", "fields": {"arm": cell("a", part="p4")}}]
    original = record("a.pdf", fields, rows=inner)
    before = json.dumps(original)
    decisions = {
        "p1": decision("accept"),
        "p2": decision("replace", 8),
        "p3": decision("replace", None),
        "p4": decision("accept"),
        "other": decision("replace", 99),
    }
    found = with_decisions(original, decisions)
    assert found["fields"]["kept"] is fields["kept"]
    assert (found["fields"]["good"]["value"], found["fields"]["good"]["state"]) == (120, "approved")
    assert (found["fields"]["bad"]["value"], found["fields"]["bad"]["state"]) == (8, "edited")
    assert found["fields"]["bad"]["reason"] is None
    assert found["fields"]["bad"]["decision"] == {
        "verdict": "replace",
        "actor": "ada",
        "at": "2026-11-17T00:00:00+00:00",
        "before": 7,
    }
    gone = found["fields"]["gone"]
    assert (gone["value"], gone["state"], gone["status"]) == (None, "edited", "not_found")
    assert found["rows"][0]["fields"]["arm"]["state"] == "approved"
    assert json.dumps(original) == before


def test_problems_are_the_cells_that_need_a_look() -> None:
    states = ["ok", "weak", "unsupported", "invalid", "absent", "conflict", "edited", "approved"]
    fields = {state: cell(1, state, reason=f"because {state}") for state in states}
    found = list(problems([row("a.pdf", fields)], states))
    assert [(one["field"], one["reason"]) for one in found] == [
        (state, f"because {state}") for state in ("weak", "unsupported", "invalid", "conflict")
    ]
    assert count_cells([row("a.pdf", fields)]) == dict.fromkeys(states, 1)


def test_jsonl_keeps_everything_about_each_cell(tmp_path: Path) -> None:
    rows = [row("a.pdf", {"n": cell(120, quote="120 patients")}), row("b.pdf", {"n": cell(None, "absent")})]
    assert write_jsonl(tmp_path / "t.jsonl", rows) == 2
    stored = StoredRows(tmp_path / "t.jsonl")
    assert list(stored) == rows
    assert list(stored) == rows


def hostile_rows() -> list[dict[str, Any]]:
    return [
        row(text, {"title": cell(text, quote=text), "n": cell(-5)}, columns={"note": text}, error=text)
        for text in HOSTILE
    ]


def test_csv_runs_no_formula_and_keeps_numbers(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", hostile_rows(), ["title", "n"], ["note"])
    header, *found = list(csv.reader((tmp_path / "t.csv").read_text("utf-8").splitlines()))
    assert header == ["document", "note", "title", "n", "state", "error"]
    for cells in found:
        assert cells[3] == "-5"
        assert not any(text[:1] in tuple("=+@\t＝") or (text[:1] == "-" and text != "-5") for text in cells)
    assert found[0][0] == '\'=HYPERLINK("http://evil")'
    write_csv(tmp_path / "t.csv", hostile_rows(), ["title"], formulas=True)
    assert "\n+1+1,+1+1," in (tmp_path / "t.csv").read_text("utf-8").replace("\r", "")


def test_csv_has_a_mark_for_excel_on_request(tmp_path: Path) -> None:
    rows = [row("论文.pdf", {"n": cell([1, 2]), "ok": cell(True), "more": cell({"a": 1})})]
    write_csv(tmp_path / "t.csv", rows, ["n", "ok", "more", "other"], bom=True)
    content = (tmp_path / "t.csv").read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    assert content.decode("utf-8-sig").splitlines()[1] == '论文.pdf,1; 2,true,"{""a"": 1}",,done,'


def sheets(path: Path) -> Any:
    openpyxl = pytest.importorskip("openpyxl")
    return openpyxl.load_workbook(path)


def test_a_workbook_has_values_evidence_and_problems(tmp_path: Path) -> None:
    rows = [
        row("a.pdf", {"n": cell(120, quote="120 patients"), "t": cell("x", "weak", reason="short", quote="x")}),
        row("b.pdf", {}, error="b.pdf is empty", state="failed", columns={"year": "2019"}),
    ]
    write_xlsx(tmp_path / "t.xlsx", rows, ["n", "t"], ["year"])
    book = sheets(tmp_path / "t.xlsx")
    assert book.sheetnames == ["values", "evidence", "problems"]
    values = [[one.value for one in cells] for cells in book["values"].rows]
    assert values == [
        ["document", "year", "n", "t", "state", "error"],
        ["a.pdf", None, 120, "x", "done", None],
        ["b.pdf", "2019", None, None, "failed", "b.pdf is empty"],
    ]
    assert "p. 3: “120 patients”" in book["values"]["C2"].comment.text
    assert "weak: short" in book["values"]["D2"].comment.text
    assert book["values"]["D2"].fill.start_color.rgb != book["values"]["C2"].fill.start_color.rgb
    assert [one.value for one in book["evidence"][2]][:8] == [
        "a.pdf", 1, "n", 120, "ok", "120 patients", "120 patients", 3,
    ]  # fmt: skip
    assert [[one.value for one in cells][2:5] for cells in book["problems"].rows][1:] == [
        ["t", "weak", "short"],
        [None, "failed", "b.pdf is empty"],
    ]


def test_a_workbook_holds_hostile_text_as_text(tmp_path: Path) -> None:
    write_xlsx(tmp_path / "t.xlsx", hostile_rows(), ["title", "n"], ["note"])
    found = list(sheets(tmp_path / "t.xlsx")["values"].rows)[1:]
    assert len(found) == len(HOSTILE)
    for text, cells in zip(HOSTILE, found, strict=True):
        assert [cells[column].value for column in (0, 1, 2, 5)] == [text.replace("\x00", "").replace("\x0b", "")] * 4
        assert {cells[column].data_type for column in (0, 1, 2, 5)} == {"s"}
        assert cells[2].hyperlink is None
        assert cells[3].value == -5


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("x" * 40_000, "x" * (LONGEST - 1) + "…"),
        ("😀" * 20_000, "😀" * ((LONGEST - 1) // 2) + "…"),
        (2**60, str(2**60)),
        (float("nan"), "nan"),
        ("007", "007"),
        ("\ud800x", "x"),
    ],
    ids=["long", "wide", "large", "nan", "zeros", "half"],
)
def test_a_workbook_holds_values_that_excel_cannot(tmp_path: Path, value: Any, shown: str) -> None:
    write_xlsx(tmp_path / "t.xlsx", [row("a.pdf", {"v": cell(value)})], ["v"])
    assert sheets(tmp_path / "t.xlsx")["values"]["B2"].value == shown


def test_a_full_sheet_continues_on_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.apps.extract.table.xlsx_file._ROWS", 3)
    write_xlsx(tmp_path / "t.xlsx", [row(f"{number}.pdf", {"n": cell(number)}) for number in range(5)], ["n"])
    book = sheets(tmp_path / "t.xlsx")
    assert book.sheetnames == ["values", "evidence", "problems", "values 2", "evidence 2", "values 3", "evidence 3"]
    assert [one.value for one in book["values 3"]["A"]] == ["document", "4.pdf"]


def test_parquet_has_typed_values_and_their_evidence(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = [
        row("a'b.pdf", {"n": cell(120, quote="120 patients"), "x": cell(1), "state": cell("s"), "m": cell("=1")}),
        row("b.pdf", {"n": cell(None, "absent"), "x": cell(2.5), "m": cell(3)}, columns={"year": "2019"}),
        row("c.pdf", {}, error="c.pdf is empty", state="failed"),
    ]
    path = tmp_path / "it's.parquet"
    write_parquet(path, rows, ["n", "x", "state", "m"], ["year"])
    found = duckdb.read_parquet(str(path))
    types = dict(zip(found.columns, map(str, found.types), strict=True))
    assert {name: types[name] for name in ("n", "x", "m", "n__page", "n__score", "row")} == {
        "n": "BIGINT",
        "x": "DOUBLE",
        "m": "VARCHAR",
        "n__page": "BIGINT",
        "n__score": "DOUBLE",
        "row": "BIGINT",
    }
    picked = found.project("document, n, x, m, n__page, n__quote, field__state, carried__year, state, error").fetchall()
    assert picked == [
        ("a'b.pdf", 120, 1.0, "=1", 3, "120 patients", "s", None, "done", None),
        ("b.pdf", None, 2.5, "3", None, None, None, "2019", "done", None),
        ("c.pdf", None, None, None, None, None, None, None, "failed", "c.pdf is empty"),
    ]


def test_parquet_without_the_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "available", lambda: False)
    with pytest.raises(ff.Permanent, match=r"pip install 'fanfold\[parquet\]'"):
        write_parquet(tmp_path / "t.parquet", [], ["n"])


def many(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        quote = f"the number {number} was counted in this document"
        yield row(f"{number}.pdf", {f"f{field}": cell(number, quote=quote) for field in range(4)})


def peak(path: Path, count: int, write: Any) -> int:
    tracemalloc.start()
    try:
        write(path, many(count), [f"f{field}" for field in range(4)])
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "write", [write_csv, lambda path, rows, _columns: write_jsonl(path, rows)], ids=["csv", "jsonl"]
)
def test_memory_does_not_grow_with_the_rows(tmp_path: Path, write: Any) -> None:
    peak(tmp_path / "warm", 10, write)
    assert peak(tmp_path / "many", 3000, write) < peak(tmp_path / "few", 300, write) + 300_000


def test_a_workbook_keeps_comments_only_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fanfold.apps.extract.table.xlsx_file._MOST_COMMENTS", 50)
    peak(tmp_path / "warm", 10, write_xlsx)
    assert peak(tmp_path / "many", 700, write_xlsx) < peak(tmp_path / "few", 300, write_xlsx) + 150_000


def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, fanfold.apps.extract.table.xlsx_file, fanfold.apps.extract.table.parquet_file;"
        "import fanfold.apps.extract.table.gold, fanfold.apps.extract.table.duplicates;"
        "import fanfold.apps.extract.evidence.locating, fanfold.apps.extract.documents.finding;"
        "print(sorted({'xlsxwriter', 'duckdb', 'docx', 'rapidfuzz', 'pypdfium2', 'lxml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_sentence_about_tables_is_there_in_chinese() -> None:
    assert ENGLISH.keys() == CHINESE.keys()
