"""Numbers of lines in a margin are left out, and other columns of numbers are not."""

import textwrap
from pathlib import Path

import pytest

from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import Sheet

LINES = textwrap.wrap(PROSE * 4, 70)


def numbered(step: int, *, x: float, first: int = 1, lead: float = 20) -> Sheet:
    sheet = Sheet()
    for number, line in enumerate(LINES):
        sheet.text(110, 740 - lead * number, line, "T")
        label = str(number + first)
        if int(label) % step == 0:
            sheet.text(x - 5 * len(label), 740 - lead * number, label, "T", 10)
    return sheet


@pytest.mark.parametrize("step", [1, 2, 5])
@pytest.mark.parametrize("x", [92.0, 60.0, 530.0])
@pytest.mark.parametrize("first", [1, 96])
def test_numbers_of_lines_are_no_text(tmp_path: Path, step: int, x: float, first: int) -> None:
    (page,) = converted(tmp_path / "numbered.pdf", numbered(step, x=x, first=first))
    assert page.markdown == " ".join(LINES)
    assert page.lost is None


def test_numbers_between_the_columns_of_a_patent_are_no_text(tmp_path: Path) -> None:
    lines = textwrap.wrap(PROSE * 8, 40)
    half = len(lines) // 2
    sheet = Sheet()
    for number in range(half):
        sheet.text(60, 740 - 14 * number, lines[number], "T", 10)
        sheet.text(330, 740 - 14 * number, lines[half + number], "T", 10)
        if number % 5 == 4:
            sheet.text(300, 740 - 14 * number, str(number + 1), "T", 8)
    (page,) = converted(tmp_path / "patent.pdf", sheet)
    assert page.markdown.split() == " ".join(lines[: 2 * half]).split()


def test_numbers_printed_on_the_paper_are_no_text_whatever_is_written_beside_them(tmp_path: Path) -> None:
    sheet = Sheet()
    for number in range(28):
        sheet.text(80 - 6 * len(str(number + 1)), 770 - 24 * number, str(number + 1), "T")
    for y, text in ((770, "Jane Roe, plaintiff"), (740, "against"), (715, "John Doe"), (690, "Case 12-345")):
        sheet.text(110, y, text, "T")
    (page,) = converted(tmp_path / "court.pdf", sheet)
    assert page.markdown.split() == ["Jane", "Roe,", "plaintiff", "against", "John", "Doe", "Case", "12-345"]


def test_numbers_of_a_table_stay(tmp_path: Path) -> None:
    sheet = Sheet()
    names = ["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple"]
    for number, name in enumerate(names):
        for x, text in ((64, str(number + 1)), (110, name), (260, str(37 * number + 11)), (360, "in leaf")):
            sheet.text(x, 740 - 18 * number, text)
    (page,) = converted(tmp_path / "table.pdf", sheet)
    for number, name in enumerate(names):
        assert str(number + 1) in page.markdown.split(name)[0].split()[-2:], page.markdown
    assert page.lost is None


def test_numbers_of_a_list_stay(tmp_path: Path) -> None:
    sheet = Sheet()
    y = 740
    for number in range(8):
        sheet.text(64, y, str(number + 1))
        for line in textwrap.wrap(PROSE, 70)[:3]:
            sheet.text(90, y, line)
            y -= 15
    (page,) = converted(tmp_path / "list.pdf", sheet)
    assert [word for word in page.markdown.replace(".", " ").split() if word.isdigit()] == list("12345678")


def test_years_beside_text_stay(tmp_path: Path) -> None:
    sheet = Sheet()
    for number, line in enumerate(LINES[:8]):
        sheet.text(64, 740 - 16 * number, str((1990, 1995, 1997, 1998, 2003, 2004, 2010, 2011)[number]))
        sheet.text(120, 740 - 16 * number, line)
    (page,) = converted(tmp_path / "years.pdf", sheet)
    assert "1997" in page.markdown
