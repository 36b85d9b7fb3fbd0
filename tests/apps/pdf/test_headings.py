"""Headings are found by more than one sign, and what only looks like one is left alone."""

import re
from pathlib import Path

import pytest

from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import LEFT, Sheet


def headings_of(path: Path, *sheets: Sheet) -> list[str]:
    return re.findall(r"^#+ .+$", "\n".join(page.markdown for page in converted(path, *sheets)), re.MULTILINE)


def set_with(*lines: tuple[str, str, float]) -> Sheet:
    """A page of paragraphs, each below a line of this text, font and size."""
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for text, font, size in lines:
        sheet.lines([text], font=font, size=size, lead=20)
        sheet.paragraph(PROSE)
    return sheet


def test_numbered_headings_in_the_type_of_the_text_are_found(tmp_path: Path) -> None:
    sheet = set_with(("1 Purpose", "R", 12), ("2 Scope", "R", 12), ("2.1 Limits of scope", "R", 12))
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# 1 Purpose", "# 2 Scope", "## 2.1 Limits of scope"]


def test_levels_begin_at_one_and_leave_none_out(tmp_path: Path) -> None:
    sheet = set_with(
        ("Foxes at home", "B", 20), ("1 Habits", "B", 15), ("1.1 Sleep", "B", 12), ("1.1.1 At noon", "B", 12)
    )
    assert headings_of(tmp_path / "a.pdf", sheet) == [
        "# Foxes at home",
        "## 1 Habits",
        "### 1.1 Sleep",
        "#### 1.1.1 At noon",
    ]


@pytest.mark.parametrize("title", ["Abstract", "References", "Acknowledgements", "6 Conclusion"])
def test_well_known_titles_need_no_type_of_their_own(tmp_path: Path, title: str) -> None:
    assert headings_of(tmp_path / "a.pdf", set_with((title, "R", 12))) == [f"# {title}"]


@pytest.mark.parametrize(
    "text",
    [
        "Table 3: Foxes by year and county",
        "Figure 2. A fox",
        "fox@example.org",
        "12 March 2024",
        "1,204.50 EUR",
        "The fox was never seen again.",
    ],
)
def test_captions_addresses_dates_figures_and_sentences_in_bold_are_no_headings(tmp_path: Path, text: str) -> None:
    assert headings_of(tmp_path / "a.pdf", set_with((text, "B", 12))) == []


def test_a_bold_title_that_fills_a_line_and_runs_on_stays_with_its_paragraph(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    sheet.lines(["A title that runs in and is so long that it needs all of a first line"], font="B")
    sheet.text(LEFT, sheet.y, "and more.", "B")
    sheet.text(LEFT + 62, sheet.y, "Then the paragraph begins and goes on for a while.")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "#" not in page.markdown
    assert "needs all of a first line and more.** Then" in page.markdown


def test_a_numbered_list_is_no_sequence_of_headings(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    sheet.listing(["1.", "2.", "3."], ("Foxes sleep", "Foxes eat", "Foxes run"))
    sheet.paragraph(PROSE)
    assert headings_of(tmp_path / "a.pdf", sheet) == []


def test_where_most_of_a_page_is_bold_nothing_stands_out_by_it(tmp_path: Path) -> None:
    sheet = Sheet()
    for number in range(8):
        sheet.lines([f"A bold statement without a full stop number {number}"], font="B", lead=34)
    assert headings_of(tmp_path / "a.pdf", sheet) == []
