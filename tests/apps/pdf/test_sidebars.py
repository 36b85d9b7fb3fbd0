"""A sidebar or an info box is kept whole beside the text, and the head of the page comes first."""

import itertools
import random
import re
import textwrap
from pathlib import Path

import pytest

from fanfold.apps.pdf.markdown.pieces import Table
from fanfold.apps.pdf.tables.judging import is_table
from tests.apps.pdf.test_textlayer import PROSE, converted
from tests.apps.pdf.writing import Sheet

SECTIONS = ("Experience", "Education", "Projects")
CONTACT = [
    "CONTACT", "12 Long Street", "0123 456789", "a.b@example.org", "", "SKILLS", "Python and Rust", "Welding", "Speaking",
    "", "LANGUAGES", "English", "Norwegian", "German", "French",
]  # fmt: skip


def sentences(prefix: str, words: int, seed: int) -> str:
    """Prose of made-up words that all begin alike."""
    chance = random.Random(seed)
    found: list[str] = []
    while len(found) < words:
        length = chance.randint(6, 14)
        own = [prefix + "".join(chance.choices("aeioubdfg", k=chance.randint(1, 4))) for _ in range(length)]
        found += [own[0].capitalize(), *own[1:-1], f"{own[-1]}."]
    return " ".join(found)


def is_mixed(markdown: str) -> bool:
    """Whether words of the text (ba…) and of the sidebar (si…) alternate more often than once."""
    kinds = [word[:2] for word in re.findall(r"[a-z]+", markdown.lower()) if word[:2] in ("ba", "si")]
    return len(list(itertools.groupby(kinds))) > 3


def resume(title: list[str]) -> Sheet:
    sheet = Sheet()
    for number, line in enumerate(reversed(title)):
        sheet.text(220, 780 + 26 * number, line, "B", 22)
    sheet.y = 770
    sheet.lines(CONTACT, 50, "R", 10, 15)
    sheet.y = 740
    for seed, section in enumerate(SECTIONS):
        sheet.text(220, sheet.y, section, "B", 14)
        sheet.y -= 20
        sheet.lines(textwrap.wrap(sentences("ba", 70, seed), 62), 220, "T", 11, 13)
        sheet.y -= 14
    return sheet


@pytest.mark.parametrize("title", [["The head of the page"], ["The head of the page", "in two lines"]])
def test_the_head_of_a_page_comes_before_the_sidebar_to_its_left_which_is_whole(
    tmp_path: Path, title: list[str]
) -> None:
    (page,) = converted(tmp_path / "resume.pdf", resume(title))
    assert page.markdown.startswith(f"# {' '.join(title)}\n")
    places = [page.markdown.index(text) for text in (*filter(None, CONTACT), *SECTIONS)]
    assert places == sorted(places)
    assert "|" not in page.markdown


@pytest.mark.parametrize("mark", ["", "• "])
@pytest.mark.parametrize("seed", range(2))
def test_short_entries_beside_every_line_of_a_text_are_no_table(tmp_path: Path, mark: str, seed: int) -> None:
    chance = random.Random(seed)
    sheet = Sheet()
    for number in range(42):
        entry = sentences("si", 1, seed * 100 + number).split()[: chance.randint(1, 3)]
        sheet.text(60, 770 - 13 * number, mark + " ".join(entry).strip("."), "R", 10)
    sheet.y = 770
    for part in range(5):
        sheet.lines(textwrap.wrap(sentences("ba", 90, 7 * seed + part), 48), 270, "T", 11, 13)
        sheet.y -= 6 * chance.randint(0, 1)
    (page,) = converted(tmp_path / "list.pdf", sheet)
    assert "|" not in page.markdown
    assert not is_mixed(page.markdown)
    assert page.lost is None


@pytest.mark.parametrize("entry", ["• {} of the list", "{}"])
def test_rows_of_a_sidebar_and_a_text_are_no_table(entry: str) -> None:
    names = ["Alder", "Birch", "Cedar", "Elm", "Fir", "Hazel", "Larch", "Maple"]
    lines = textwrap.wrap(PROSE * 2, 42)[:8]
    rows = [[entry.format(name), line] for name, line in zip(names, lines, strict=True)]
    assert not is_table(Table(rows, [(50, 150), (200, 500)], 50, 100, 500, 220), [], 11)


def test_terms_and_what_they_mean_are_still_a_table() -> None:
    rows = [["int", "whole number of any length"], ["float", "number with a point"], ["str", "text of any length"]]
    rows += [["list", "values in their order"], ["dict", "values by their name"]]
    assert is_table(Table(rows, [(50, 150), (200, 500)], 50, 100, 500, 180), [], 11)


def test_a_headline_of_one_column_stays_in_its_column(tmp_path: Path) -> None:
    sheet = Sheet()
    for number, line in enumerate(textwrap.wrap(PROSE * 3, 44)):
        sheet.text(60, 740 - 13 * number, line.replace("Paper", "Stone"), "T", 11)
        sheet.text(310, 710 - 13 * number, line, "T", 11)
    sheet.text(310, 736, "A headline", "B", 20)
    (page,) = converted(tmp_path / "columns.pdf", sheet)
    assert (
        page.markdown.index("Stone is patient") < page.markdown.index("# A headline") < page.markdown.index("Paper is")
    )


def test_notes_level_with_paragraphs_stay_among_them(tmp_path: Path) -> None:
    sheet = Sheet()
    for name in "abcd":
        sheet.text(60, sheet.y, f"Note {name} on this", "R", 8)
        sheet.lines(textwrap.wrap(f"Part {name}. {PROSE}", 60)[:3], 220, "T", 11, 13)
        sheet.y -= 8
    (page,) = converted(tmp_path / "notes.pdf", sheet)
    places = [page.markdown.index(text) for name in "abcd" for text in (f"Part {name}", f"Note {name}")]
    assert places == sorted(places)
