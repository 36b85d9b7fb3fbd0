"""Words and labels before a text are part of it, and numbered formulas are no table."""

import textwrap
from pathlib import Path

import pytest

from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import LEFT, Sheet

SAID = (
    "The first thing that is to be said about it is that it has a beginning and an end, and so it is.",
    "Paper is patient, says a proverb, and a printer is not.",
    "What both have in common is that they take one line after the other, and that neither of them cares what is on it.",
    "Yes.",
    "No, sir.",
    "Whoever writes cares about nothing else, and so it is.",
)


def labelled(labels: tuple[str, ...], indent: float) -> Sheet:
    sheet = Sheet()
    for label, said in zip(labels, SAID, strict=True):
        sheet.text(LEFT, sheet.y, label, "T", 11)
        sheet.lines(textwrap.wrap(said, 60), LEFT + indent, "T", 11, 14)
        sheet.y -= 6
    return sheet


@pytest.mark.parametrize(
    ("labels", "indent"),
    [
        (("JOHN:", "MARY:", "JOHN:", "MARY:", "JOHN:", "MARY:"), 70),
        (("1.1", "1.2", "1.3", "2.1", "2.2", "2.3"), 36),
        (tuple(f"Article {number}" for number in range(1, 7)), 80),
        (tuple(f"§ {number}" for number in range(1, 7)), 40),
    ],
)
def test_a_label_stays_with_its_paragraph(tmp_path: Path, labels: tuple[str, ...], indent: float) -> None:
    (page,) = converted(tmp_path / "labelled.pdf", labelled(labels, indent))
    assert page.markdown == "\n\n".join(f"{label} {said}" for label, said in zip(labels, SAID, strict=True))


def test_the_first_words_of_lines_are_no_column(tmp_path: Path) -> None:
    sheet = Sheet()
    for line in textwrap.wrap(PROSE * 2, 60):
        first, rest = line.split(" ", 1)
        sheet.text(LEFT, sheet.y, first, "T", 11)
        sheet.text(LEFT + 60, sheet.y, rest, "T", 11)
        sheet.y -= 14
    (page,) = converted(tmp_path / "cut.pdf", sheet)
    assert page.markdown.split() == " ".join(textwrap.wrap(PROSE * 2, 60)).split()


def test_words_of_lines_that_are_spread_are_no_table(tmp_path: Path) -> None:
    sheet = Sheet()
    # All letters of this font are half as wide as high.
    for line in textwrap.wrap(PROSE * 2, 34):
        words = line.split()
        gap = (260 - 5.5 * sum(map(len, words))) / (len(words) - 1)
        x = float(LEFT)
        for word in words:
            sheet.text(x, sheet.y, word, "Q", 11)
            x += 5.5 * len(word) + gap
        sheet.y -= 13
    (page,) = converted(tmp_path / "spread.pdf", sheet)
    assert page.markdown.count("|---") == 0


@pytest.mark.parametrize("parts", [((220, "{} + b = c"),), ((200, "{} + b"), (260, "="), (280, "x + 1"))])
@pytest.mark.parametrize("number", ["({})", "(2.{})"])
def test_numbered_formulas_are_no_table(tmp_path: Path, parts: tuple[tuple[float, str], ...], number: str) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for at, name in enumerate("aefk", 1):
        for x, part in parts:
            sheet.text(x, sheet.y, part.format(name), "R")
        sheet.text(500, sheet.y, number.format(at), "R")
        sheet.y -= 24
    sheet.paragraph(PROSE)
    (page,) = converted(tmp_path / "formulas.pdf", sheet)
    formula = " ".join(part for _, part in parts)
    wanted = [f"{formula.format(name)} {number.format(at)}" for at, name in enumerate("aefk", 1)]
    assert [part for part in page.markdown.split("\n\n") if part != PROSE] == wanted


def test_a_column_of_negative_sums_is_still_a_table(tmp_path: Path) -> None:
    sheet = Sheet()
    for name, value in (("Rent", "(120)"), ("Travel", "(75)"), ("Wages", "(980)"), ("Paper", "(14)")):
        sheet.text(LEFT, sheet.y, name)
        sheet.text(LEFT + 120, sheet.y, "paid")
        sheet.text(LEFT + 260, sheet.y, value)
        sheet.y -= 17
    (page,) = converted(tmp_path / "sums.pdf", sheet)
    assert "| Travel | paid | (75) |" in page.markdown


def test_lines_of_contents_stay_together(tmp_path: Path) -> None:
    sheet = Sheet()
    for number, title in (("2.1", "Syntax"), ("2.2", "Naming"), ("2.3", "Simple rules"), ("2.4", "Notes")):
        sheet.text(LEFT, sheet.y, number)
        sheet.lines([title], LEFT + 40)
    (page,) = converted(tmp_path / "contents.pdf", sheet)
    assert "\n\n" not in page.markdown
