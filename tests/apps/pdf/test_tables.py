"""Tables are read by their rules and their columns; what only looks like a table is not one."""

import itertools
from pathlib import Path

from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table
from fanfold.apps.pdf.tables import finding
from tests.apps.pdf.test_textlayer import converted, sheet_of
from tests.apps.pdf.writing import Sheet

PROSE = "Rain in the northern basin has been declining since the first measurements were taken, which the tables show."


def rule(sheet: Sheet, x0: float, y0: float, x1: float, y1: float) -> None:
    """A straight line."""
    sheet.operators.append(f"0.6 w {x0:g} {y0:g} m {x1:g} {y1:g} l S")


def row(sheet: Sheet, y: float, cells: dict[float, str], font: str = "R") -> None:
    """Cells on one line, by their left edges."""
    for x, text in cells.items():
        sheet.text(x, y, text, font, 10)


def test_a_cell_without_a_rule_inside_covers_several_columns_and_rows(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y in (700, 660, 640):
        rule(sheet, 64, y, 304, y)
    rule(sheet, 144, 680, 304, 680)
    for x, top in ((64, 700), (144, 700), (224, 680), (304, 700)):
        rule(sheet, x, 640, x, top)
    row(sheet, 676, {70: "Region"}, "B")
    row(sheet, 686, {150: "Season"}, "B")
    row(sheet, 666, {150: "Summer", 230: "Winter"}, "B")
    row(sheet, 646, {70: "North", 150: "12.5", 230: "30.1"})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert '<tr><th rowspan="2">Region</th><th colspan="2">Season</th></tr>' in page.markdown
    assert "<tr><th>Summer</th><th>Winter</th></tr>" in page.markdown
    assert "<tr><td>North</td><td>12.5</td><td>30.1</td></tr>" in page.markdown


def test_rows_between_three_rules_are_rows_and_their_header_is_above_the_second_rule(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y in (700, 672, 600):
        rule(sheet, 64, y, 400, y)
    row(sheet, 688, {70: "Station", 200: "Mean", 300: "Share"}, "B")
    row(sheet, 677, {300: "in percent"}, "B")
    for number in range(4):
        row(sheet, 656 - 16 * number, {70: f"Lake {number}", 200: f"{number}.5", 300: f"{10 * number}"})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| Station | Mean | Share in percent |" in page.markdown
    assert "| Lake 3 | 3.5 | 30 |" in page.markdown


def test_values_below_each_other_in_one_drawn_row_are_rows(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y in (700, 680, 610):
        rule(sheet, 64, y, 304, y)
    for x in (64, 184, 304):
        rule(sheet, x, 610, x, 700)
    row(sheet, 686, {70: "Kind", 190: "Count"}, "B")
    for number, kind in enumerate(("alder", "birch", "cedar", "elm")):
        row(sheet, 666 - 15 * number, {70: kind, 190: str(7 * number)})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| cedar | 14 |" in page.markdown


def test_headings_with_their_numbers_apart_are_no_table(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y, number, title in ((640, "5", "Implementation"), (610, "5.1", "Initial set up"), (580, "5.1.1", "Options")):
        sheet.text(64, y, number, "B", 14)
        sheet.text(110, y, title, "B", 14)
    sheet.y = 550
    sheet.paragraph(PROSE)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "|" not in page.markdown
    assert [line.lstrip("# ") for line in page.markdown.split("\n") if line.startswith("#")] == [
        "5 Implementation",
        "5.1 Initial set up",
        "5.1.1 Options",
    ]


def test_a_box_around_a_word_is_no_cell(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE, PROSE)
    sheet.text(64, 600, "Press", size=10)
    sheet.text(100, 600, "Enter", "M", 10)
    sheet.operators.append("0.5 w 98 597 34 12 re S")
    sheet.text(140, 600, "and wait.", size=10)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "|" not in page.markdown
    assert "<table>" not in page.markdown


def test_contacts_beside_running_text_are_no_table(tmp_path: Path) -> None:
    sheet = Sheet()
    side = ("Contact", "Desk 0: 773 42", "Desk 1: 544 44", "Desk 2: 610 45", "Press: 554 46", "Hours", "9 to 5")
    text = (
        "The simple council compares the policy across all of the",
        "sites that take part, and each network predicts both the",
        "orchestra and the narrow circuit. As was reported, each",
        "bridge reduces a kernel and a surface. No novel suggests",
        "the urban engine more than the device of that year, which",
        "precedes the robust database. A river supports both the",
        "harbour and the broad council, and no compiler does so.",
    )
    for number, (contact, line) in enumerate(zip(side, text, strict=True)):
        row(sheet, 700 - 13 * number, {64: contact, 200: line})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "|" not in page.markdown
    assert "take part, and each network predicts both the orchestra" in page.markdown


def test_a_cell_that_is_on_the_page_once_is_not_written_twice() -> None:
    texts = {
        "Return to Springfield": (200, 60),
        "Item 7": (50, 75),
        "Airfare": (200, 75),
        "9": (50, 90),
        "Hotel": (200, 90),
    }
    pieces = [Piece(text, x, y, x + 5 * len(text), y + 10, 10, False, False) for text, (x, y) in texts.items()]
    rows = [["Return to Springfield", "", "Return to Springfield"], ["Item 7", "", "Airfare"], ["9", "", "Hotel"]]
    page = RawPage(1, 600, 800, pieces, [Table(rows, [(50, 100), (110, 150), (200, 310)], 50, 60, 310, 100)])
    (table,) = finding.find(page, 10.0)
    assert table.rows[0] == ["", "", "Return to Springfield"]


def test_rules_are_seen_on_a_page_with_a_stamp_in_its_margin(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    sheet.operators.append("BT /R 16 Tf 0 1 -1 0 30 300 Tm (Preprint 2301.00001) Tj ET")
    sheet.table((("Kind", "Count"), ("alder", "7"), ("birch", "9")), (120, 120))
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| alder | 7 |" in page.markdown


def test_a_body_without_upright_rules_has_the_columns_of_its_drawn_header(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y in (700, 680, 560):
        rule(sheet, 64, y, 464, y)
    for x, bottom in ((64, 560), (164, 680), (344, 680), (464, 560)):
        rule(sheet, x, bottom, x, 700)
    row(sheet, 686, {70: "Payee", 170: "Purpose", 350: "Amount"}, "B")
    for number, name in enumerate(("BAIN", "SMITH", "ARMER", "ENGLERT", "CAMPBELL")):
        row(sheet, 668 - 22 * number, {70: name, 170: "Travel of staff", 400: f"{number + 3}7.50"})
        row(sheet, 657 - 22 * number, {170: "there and back" + " with an overnight stop in town" * (number == 2)})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| SMITH | Travel of staff there and back | 47.50 |" in page.markdown
    assert "| ARMER | Travel of staff there and back with an overnight stop in town | 57.50 |" in page.markdown


def test_wrapped_words_belong_to_the_value_above_them(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for y in (700, 680, 620):
        rule(sheet, 64, y, 464, y)
    for x in (204, 334):
        rule(sheet, x, 620, x, 700)
    row(sheet, 686, {70: "Action", 210: "Labor", 340: "Cost"}, "B")
    row(sheet, 668, {70: "Wiring change .......", 210: "Up to 79 hours =", 340: "Up to $900."})
    row(sheet, 656, {210: "Up to $715."})
    row(sheet, 644, {70: "Sensor test .........", 210: "40 hours =", 340: "$3,400."})
    row(sheet, 632, {210: "$3,400."})
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| Wiring change … | Up to 79 hours = Up to $715. | Up to $900. |" in page.markdown
    assert "| Sensor test … | 40 hours = $3,400. | $3,400. |" in page.markdown


def cell_by_cell(sheet: Sheet, y: float, height: float, edges: tuple[float, ...]) -> None:
    """A rule or shading of a row that is drawn for each cell by itself."""
    sheet.operators.extend(
        f"0.9 g {left} {y} {right - left} {height} re f 0 g" for left, right in itertools.pairwise(edges)
    )


def test_rules_drawn_cell_by_cell_show_the_edges_of_columns(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    edges = (64, 130, 190, 400)
    row(sheet, 688, {65: "Berth", 160: "Ships", 191: "Remark"}, "B")
    for number, remark in enumerate(("closed in May", "with a new crane, in use since June", "open")):
        cell_by_cell(sheet, 684 - 20 * number, 0.8, edges)
        # The figure ends where the remark begins, as in tables of web pages.
        row(sheet, 670 - 20 * number, {65: f"North {number}", 169: f"{number}.17", 191: remark})
    cell_by_cell(sheet, 624, 0.8, edges)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| Berth | Ships | Remark |" in page.markdown
    assert "| North 1 | 1.17 | with a new crane, in use since June |" in page.markdown


def test_the_row_below_the_last_shaded_one_belongs_to_the_table(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for number, (name, fee) in enumerate(
        (("Small ship", "40"), ("Large ship", "120"), ("Pilot", "75"), ("Crane", "9"))
    ):
        if number % 2 == 0:
            cell_by_cell(sheet, 666 - 16 * number, 14, (64, 200, 300))
        row(sheet, 670 - 16 * number, {65: name, 205: fee})
    sheet.y = 580
    sheet.paragraph(PROSE)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "| Small ship | 40 |" in page.markdown
    assert "| Crane | 9 |" in page.markdown
