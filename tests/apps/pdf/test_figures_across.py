"""Columns above a figure are read before those below it, and lists continue from column to column."""

import textwrap
from pathlib import Path

import pytest

from tests.apps.pdf.test_right_to_left import drawn, turned
from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import Sheet

LEFTS = (60.0, 230.0, 400.0)


def columns(sheet: Sheet, top: float, parts: list[list[str]]) -> None:
    for left, lines in zip(LEFTS, parts, strict=False):
        for number, line in enumerate(lines):
            sheet.text(left, top - 11 * number, line, "T", 9)


def prose(name: str, lines: int) -> list[str]:
    return textwrap.wrap(f"{name} {PROSE * 3}", 36)[:lines]


def test_columns_above_a_figure_come_before_those_below_it(tmp_path: Path) -> None:
    above, below = [prose(name, 6) for name in ("One", "Two", "Three")], [prose(name, 2) for name in ("Four", "Five")]
    sheet = Sheet()
    columns(sheet, 740, above)
    sheet.operators.append("0.6 w 110 560 380 90 re S")
    columns(sheet, 530, below)
    (page,) = converted(tmp_path / "figure.pdf", sheet)
    assert page.markdown.split() == " ".join(line for part in [*above, *below] for line in part).split()


def test_white_space_in_one_column_alone_divides_nothing(tmp_path: Path) -> None:
    left, right = prose("One", 6) + prose("Two", 6), prose("Three", 24)
    sheet = Sheet()
    columns(sheet, 740, [left[:6], right])
    columns(sheet, 740 - 11 * 14, [left[6:]])
    (page,) = converted(tmp_path / "gap.pdf", sheet)
    assert page.markdown.split() == " ".join([*left, *right]).split()


def test_paragraphs_with_numbers_whose_first_line_is_indented_are_whole(tmp_path: Path) -> None:
    sheet = Sheet()
    texts = [f"({number}) {PROSE.split('.')[0]}, and so it is with paragraph {number}." for number in (1, 2, 3)]
    for text in [*texts, f"The end of it. {PROSE.split('.')[0]}."]:
        first, *rest = textwrap.wrap(text, 44)
        sheet.lines([first], 76, "T", 11, 13)
        sheet.lines(rest, 64, "T", 11, 13)
    (page,) = converted(tmp_path / "numbers.pdf", sheet)
    entries = [f"{number}. {text[4:]}" for number, text in enumerate(texts, 1)]
    assert page.markdown.split("\n\n")[0].splitlines() == entries
    assert page.markdown.split("\n\n")[1].startswith("The end of it.")


def test_a_list_continues_in_the_next_column(tmp_path: Path) -> None:
    sheet = Sheet()
    columns(sheet, 740, [[*prose("One", 5), "1. the first entry of a list", "2. the second entry of a list"]])
    sheet.text(LEFTS[1], 740, "3. the third entry of a list", "T", 9)
    for number, line in enumerate(prose("Two", 6), 1):
        sheet.text(LEFTS[1], 730 - 11 * number, line, "T", 9)
    (page,) = converted(tmp_path / "list.pdf", sheet)
    assert [line for line in page.markdown.splitlines() if line.lstrip()[:1].isdigit()] == [
        "1. the first entry of a list",
        "2. the second entry of a list",
        "3. the third entry of a list",
    ]


def test_entries_from_right_to_left_are_of_one_list(tmp_path: Path) -> None:
    sheet = Sheet()
    entries = ["שורה ארוכה מאוד ברשימה", "שורה", "שורה ארוכה"]
    for number, entry in enumerate(entries, 1):
        drawn(sheet, f"{turned(entry)} .{number}", 740 - 17 * number)
    (page,) = converted(tmp_path / "list.pdf", sheet)
    assert page.markdown.splitlines() == [f"{number}. {entry}" for number, entry in enumerate(entries, 1)]


def test_the_head_of_a_page_above_a_rule_is_read_before_its_columns(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.text(60, 780, "Proposed Rules", "B", 20)
    for number, line in enumerate(("The Register", "Volume 85, number 152", "Thursday, 6 August")):
        sheet.text(LEFTS[2], 786 - 14 * number, line, "R", 8)
    sheet.operators.append("1 w 60 745 m 550 745 l S")
    parts = [prose(name, 20) for name in ("One", "Two", "Three")]
    columns(sheet, 725, parts)
    (page,) = converted(tmp_path / "head.pdf", sheet)
    assert page.markdown.startswith("# Proposed Rules\n\nThe Register")
    assert (
        page.markdown.split()[-sum(len(" ".join(part).split()) for part in parts) :]
        == " ".join(line for part in parts for line in part).split()
    )


def test_a_title_that_runs_in_stays_with_its_paragraph_and_begins_it(tmp_path: Path) -> None:
    sheet = Sheet()
    for number, (title, line, rest) in enumerate(
        (
            ("SUMMARY:", "The agency proposes a new", "rule for all of its aeroplanes of that kind, and it ends."),
            ("ACTION:", "Notice of the new rule that", "it has made known to all of them, and asks for comments."),
            ("FURTHER INFORMATION CONTACT:", "Ian", "Brown, at the office of the agency, who knows it all."),
        )
    ):
        top = 740 - 26 * number
        sheet.text(64, top, title, "B", 7)
        sheet.text(64 + 4.9 * len(title) + 4, top, line, "T", 9)
        sheet.text(64, top - 13, rest, "T", 9)
    (page,) = converted(tmp_path / "titles.pdf", sheet)
    parts = page.markdown.split("\n\n")
    assert [part.split(":**")[0] for part in parts] == ["**SUMMARY", "**ACTION", "**FURTHER INFORMATION CONTACT"]
    assert parts[2].endswith("Ian Brown, at the office of the agency, who knows it all.")


def test_a_paragraph_that_continues_in_the_next_column_is_one(tmp_path: Path) -> None:
    lines = textwrap.wrap(PROSE * 4, 40)
    half = len(lines) // 2
    assert lines[half][0].islower()
    sheet = Sheet()
    columns(sheet, 740, [lines[:half], lines[half : 2 * half]])
    (page,) = converted(tmp_path / "joined.pdf", sheet)
    assert page.markdown == " ".join(lines[: 2 * half])


@pytest.mark.parametrize("first", ["Another begins here and is", "# it is so"])
def test_other_paragraphs_stay_apart(tmp_path: Path, first: str) -> None:
    lines = textwrap.wrap(PROSE, 40)[:7]
    sheet = Sheet()
    columns(sheet, 740, [lines, [first, *lines[1:]]])
    (page,) = converted(tmp_path / "apart.pdf", sheet)
    assert page.markdown.count("\n\n") == 1


def test_an_entry_below_one_that_continues_in_the_next_column_is_not_nested(tmp_path: Path) -> None:
    entry = textwrap.wrap(f"• {PROSE}", 40)[:6]
    sheet = Sheet()
    columns(sheet, 740, [[*prose("One", 6), *entry[:3]], [*entry[3:], "• and another entry of it", *prose("Two", 5)]])
    (page,) = converted(tmp_path / "nested.pdf", sheet)
    assert "\n- and another entry of it" in page.markdown
