"""Columns, headings in the margin and lists beside them are read in the order of a reader."""

from pathlib import Path

from fanfold.apps.pdf.markdown import layout
from tests.apps.pdf.test_layout import WIDTH, piece, stack, texts
from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Sheet

TEXT = (
    "The retention register holds the modules of accounts that were",
    "merged before the year began, and gives them back",
)


def side_headed() -> Sheet:
    """Numbered paragraphs with their headings in the left margin, between rules at the top and at the bottom of the page."""
    sheet = Sheet()
    sheet.operators += ["1 w 60 790 m 535 790 l S", "1 w 60 60 m 535 60 l S"]
    for number in range(4):
        top = 740 - 130 * number
        sheet.text(64, top, f"2.3.{number} Restoring", "B", 9)
        sheet.text(64, top - 11, "of old modules", "B", 9)
        for entry in range(3):
            sheet.text(180, top - 36 * entry, f"({entry + 1})", size=9)
            for at, line in enumerate(TEXT):
                sheet.text(202, top - 36 * entry - 11 * at, f"{line}." if at else line, size=9)
    return sheet


def test_headings_in_the_margin_come_before_their_numbered_paragraphs(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", side_headed())
    assert "|" not in page.markdown
    lines = [line.lstrip("# ") for line in page.markdown.splitlines() if line]
    for number in range(4):
        at = lines.index(f"2.3.{number} Restoring of old modules")
        assert [line[:16] for line in lines[at + 1 : at + 4]] == [f"{entry}. The retention" for entry in (1, 2, 3)]


def test_the_number_of_a_formula_stays_in_its_column() -> None:
    left = [f"left {number} is a line that fills its column" for number in range(8)]
    left[4] = "a = b + c"
    edge = 50 + max(map(len, left)) * WIDTH
    number = piece("(2)", edge - 3 * WIDTH, 100 + 4 * 12)
    right = [f"right {number} is a line that fills its column" for number in range(8)]
    found = texts(layout.columns([*stack(left, 50, 100), number, *stack(right, edge + 9, 100)]))
    assert found[4] == "a = b + c (2)"
    assert found[8:] == right


def test_a_gutter_hardly_wider_than_a_letter_divides_columns() -> None:
    left = [f"left {number} is a line that fills its column" for number in range(8)]
    edge = 50 + max(map(len, left)) * WIDTH
    right = [f"right {number} is a line that fills its column" for number in range(8)]
    title = piece("A title across both", edge - 40, 60, 12)
    found = texts(layout.columns([title, *stack(left, 50, 100), *stack(right, edge + 9, 103)]))
    assert found == [title.text, *left, *right]
