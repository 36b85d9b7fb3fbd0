"""Tables without rules are found whole: all their rows and columns, and none of the text around them."""

import itertools
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pytest

from fanfold.apps.pdf.markdown.pieces import RawPage, Table
from fanfold.apps.pdf.tables import finding
from fanfold.apps.pdf.tables.judging import is_table
from tests.apps.pdf.test_layout import piece
from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import Sheet

TREES = (
    ("Alder", "A-12", "9", "wet ground"),
    ("Birch", "B-7", "120", "poor soil"),
    ("Cedar", "A-133", "8", "dry ground"),
    ("Elm", "X-20", "1,024", "rich soil"),
    ("Fir", "C-41", "77", "high ground"),
    ("Hazel", "C-5", "35", "edge of woods"),
)
NAMES = ("Tree", "Number", "Count", "Where it grows")
SIZE = 10.0


def width(text: str) -> float:
    """All letters of the font "Q" are half as wide as high."""
    return len(text) * SIZE / 2


def page_of(
    rows: Sequence[Sequence[str]], *, gap: float = 20, lead: float = 16, align: str = "llrl", above: str = ""
) -> Sheet:
    """A page with text, a table in it that has no rules, and text."""
    sheet = Sheet()
    sheet.lines(textwrap.wrap(PROSE, 88), 60, "T", 11, 13)
    sheet.y -= 10
    if above:
        sheet.lines([above], 60, "Q", SIZE, 18)
    columns = [max(width(cell) for cell in column) for column in zip(*rows, strict=True)]
    starts = list(itertools.accumulate([60.0, *(column + gap for column in columns)]))
    for row in rows:
        for cell, left, wide, side in zip(row, starts, columns, align, strict=False):
            if cell:
                sheet.text(left + (wide - width(cell) if side == "r" else 0), sheet.y, cell, "Q", SIZE)
        sheet.y -= lead
    sheet.y -= 10
    sheet.lines(textwrap.wrap(PROSE, 88), 60, "T", 11, 13)
    return sheet


def written(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def table_of(path: Path, sheet: Sheet) -> list[str]:
    (page,) = converted(path / "table.pdf", sheet)
    assert page.lost is None
    parts = page.markdown.split("\n\n")
    assert parts[0] == parts[-1] == PROSE
    return parts[1:-1]


@pytest.mark.parametrize("gap", [9.0, 20.0, 40.0])
@pytest.mark.parametrize("lead", [12.0, 14.0, 17.0])
def test_a_table_has_all_its_rows_and_columns(tmp_path: Path, gap: float, lead: float) -> None:
    rows = [NAMES, *TREES]
    assert table_of(tmp_path, page_of(rows, gap=gap, lead=lead)) == [written(rows)]


@pytest.mark.parametrize("other", [1, 2])
def test_text_below_a_table_of_two_columns_is_not_cut_into_its_rows(tmp_path: Path, other: int) -> None:
    rows = [(row[0], row[other]) for row in (NAMES, *TREES)]
    assert table_of(tmp_path, page_of(rows, lead=17, align="lr")) == [written(rows)]


def test_a_caption_is_no_row(tmp_path: Path) -> None:
    rows = [NAMES, *TREES]
    caption = "Table 4: Trees of the northern basin and the ground they like best"
    assert table_of(tmp_path, page_of(rows, above=caption)) == [caption, written(rows)]


@pytest.mark.parametrize("empty", [1, 2, 3])
def test_rows_with_empty_cells_are_rows(tmp_path: Path, empty: int) -> None:
    rows = [list(row) for row in (NAMES, *TREES)]
    rows[3][empty] = rows[6][empty] = ""
    assert table_of(tmp_path, page_of(rows)) == [written(rows)]


def test_a_head_wider_than_its_columns_belongs_to_the_table(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.lines(textwrap.wrap(PROSE, 88), 60, "T", 11, 13)
    sheet.y -= 20
    for x, name in ((80, "LINE"), (180, "POSITION"), (280, "DESCRIPTION")):
        sheet.text(x, sheet.y, name, "B", 9)
    sheet.y -= 34
    for number, (place, text) in enumerate(
        (("01-05", "Code"), ("06", "Kind"), ("07-18", "File"), ("59-62", "Name")), 1
    ):
        for x, cell in ((125, str(number)), (210, place), (280, text)):
            sheet.text(x, sheet.y, cell, "R", 9)
        sheet.y -= 19
    (page,) = converted(tmp_path / "head.pdf", sheet)
    assert "| LINE | POSITION | DESCRIPTION |\n|---|---|---|\n| 1 | 01-05 | Code |" in page.markdown
    assert page.markdown.count("POSITION") == 1


def test_titles_below_the_rule_of_a_page_are_no_rows_of_the_table_below_them(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.operators += ["1 w 60 790 m 535 790 l S", "1 w 60 560 m 535 560 l S"]
    sheet.text(60, 774, "Exhibit 12 (continued on the following pages)", "B", 9)
    sheet.text(60, 762, "Codes of the display and what they are for", "B", 9)
    for number, row in enumerate((NAMES, *TREES)):
        for x, cell in zip((90, 180, 260, 350), row, strict=True):
            sheet.text(x, 730 - 19 * number, cell, "R", 9)
    (page,) = converted(tmp_path / "titles.pdf", sheet)
    assert page.markdown.split("\n\n")[-1] == written([NAMES, *TREES])
    assert "Exhibit 12 (continued on the following pages)" in page.markdown.split("|")[0]
    assert page.lost is None


def test_an_index_in_two_columns_is_no_table() -> None:
    rows = [
        ["A", "", "M", ""],
        ["Alder", "5", "Maple, red", "4, 17"],
        ["Ash", "7", "", ""],
        ["Aspen", "5", "Mulberry", "12"],
    ]
    columns = [(50.0, 150.0), (160.0, 170.0), (300.0, 400.0), (410.0, 420.0)]
    table = Table(rows, columns, 50, 100, 420, 160)
    assert not is_table(table, [], 10)
    table.rows[0] = ["Tree", "Page", "Tree", "Page"]
    assert is_table(table, [], 10)


def test_a_table_has_no_text_that_was_taken_from_the_page() -> None:
    pieces = [piece("Elm", 60, 100), piece("a tree", 160, 100), piece("Fir", 60, 116)]
    cells = [["Elm", "a tree"], ["Fir", ""]]
    seen = Table(cells, [(60.0, 75.0), (160.0, 195.0)], 40, 100, 195, 130)
    assert [table.rows for table in finding.find(RawPage(1, 600, 800, pieces, [seen]), 10)] == [cells]
    # Numbers of lines that were left out, and a row of them.
    seen = Table([["17 Elm", "a tree"], ["18 Fir", ""], ["19", ""]], seen.columns, 40, 100, 195, 130)
    assert finding.find(RawPage(1, 600, 800, pieces, [seen]), 10) == []
