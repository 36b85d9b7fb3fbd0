"""Headings are found by more than one sign, and what only looks like one is left alone."""

import re
from pathlib import Path

import pytest

from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import BODY, LEFT, Sheet


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


@pytest.mark.parametrize("font", ["T", "I"])
def test_titles_in_a_face_of_their_own_are_found(tmp_path: Path, font: str) -> None:
    sheet = set_with(("Where foxes live", font, 12), ("What foxes eat", font, 12))
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# Where foxes live", "# What foxes eat"]


def test_titles_in_a_colour_of_their_own_are_found_without_white_space_above(tmp_path: Path) -> None:
    sheet = Sheet()
    for title in ("Where foxes live", "What foxes eat"):
        sheet.operators.append("0 0.4 0.8 rg")
        sheet.lines([title])
        sheet.operators.append("0 g")
        sheet.paragraph(PROSE)
    found = headings_of(tmp_path / "a.pdf", Sheet(), sheet)
    assert found == ["# Where foxes live", "# What foxes eat"]


def test_underlined_titles_are_found_and_underlined_words_are_not(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for text, end in (("Where foxes live", LEFT + 7.4 * BODY), ("Foxes live in the north and the south", LEFT + 30)):
        sheet.operators.append(f"0.5 w {LEFT} {sheet.y - 2} m {end} {sheet.y - 2} l S")
        sheet.lines([text], lead=20)
        sheet.paragraph(PROSE)
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# Where foxes live"]


def test_centred_titles_are_found_if_there_are_several(tmp_path: Path) -> None:
    def made(*titles: str) -> Sheet:
        sheet = Sheet()
        sheet.paragraph(PROSE)
        for title in titles:
            sheet.y -= 12
            sheet.text(260, sheet.y, title)
            sheet.y -= 26
            sheet.paragraph(PROSE)
        return sheet

    assert headings_of(tmp_path / "a.pdf", made("On foxes", "On birds")) == ["# On foxes", "# On birds"]
    assert headings_of(tmp_path / "b.pdf", made("All is vanity")) == []


@pytest.mark.parametrize("text", ["Total: 1,204.50 EUR", "Note 3: foxes"])
def test_a_label_with_a_value_is_no_heading(tmp_path: Path, text: str) -> None:
    assert headings_of(tmp_path / "a.pdf", set_with((text, "B", 12))) == []


def test_terms_above_indented_definitions_are_no_headings(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for term in ("Red fox", "Grey fox"):
        sheet.lines([term], font="B")
        sheet.paragraph(PROSE, x=LEFT + 20)
    assert headings_of(tmp_path / "a.pdf", sheet) == []


def test_definitions_is_a_heading_and_definition_3_is_none(tmp_path: Path) -> None:
    sheet = set_with(("Definitions", "B", 12), ("Definition 3", "B", 12))
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# Definitions"]


def test_a_numbered_title_below_a_list_of_bullets_is_no_entry_of_it(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for number in range(3):
        sheet.lines([f"\u2022 Foxes of the kind number {number}"])
    sheet.y -= 12
    sheet.lines(["B. Conclusion"], font="I", lead=24)
    sheet.paragraph(PROSE)
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# B. Conclusion"]


def test_a_centred_title_of_two_close_lines_is_one_heading(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(90, sheet.y, "A long title about the foxes of the north", "B", 20)
    sheet.text(270, sheet.y - 20, "and south", "B", 20)
    sheet.y -= 70
    sheet.paragraph(PROSE)
    sheet.paragraph(PROSE)
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# A long title about the foxes of the north and south"]


def test_terms_above_short_definitions_are_no_headings(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.paragraph(PROSE)
    for term in ("Berth", "Pilot", "Quay"):
        sheet.lines([term], font="B")
        sheet.lines([f"What is meant by {term.lower()} in a harbour."], LEFT + 24)
    assert headings_of(tmp_path / "a.pdf", sheet) == []


def test_authors_and_where_they_work_are_no_headings(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(150, 780, "Drift in Shallow Lakes", size=20)
    sheet.text(110, 750, "Maria Oliveira", size=14)
    sheet.text(370, 750, "Jonas Berger", size=14)
    sheet.text(200, 732, "Institute of Hydrology, Bremen", size=14)
    for column in (64, 310):
        for number in range(24):
            sheet.text(column, 690 - 14 * number, "the lake responds to wind within hours", size=11)
    assert headings_of(tmp_path / "a.pdf", sheet) == ["# Drift in Shallow Lakes"]
