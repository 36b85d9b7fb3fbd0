"""Arabic and Hebrew are read from right to left, with digits, Latin words and brackets as they are meant."""

from pathlib import Path

import pytest

from fanfold.apps.pdf.markdown import directions, layout
from fanfold.apps.pdf.pages.page_lines import read
from tests.apps.pdf.test_layout import piece
from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Pdf, Sheet

RIGHT = 520.0
SIZE = 12.0
LAM_ALEF = "\ufefb"


def drawn(sheet: Sheet, visual: str, y: float, right: float = RIGHT) -> None:
    """A line that ends at the right, its characters given from left to right."""
    sheet.text(right - len(visual) * SIZE / 2, y, visual, "Q", SIZE)


def markdown(path: Path, *lines: str) -> str:
    sheet = Sheet()
    for number, line in enumerate(lines):
        drawn(sheet, line, 700 - 17 * number)
    return converted(path / "lines.pdf", sheet)[0].markdown


def turned(text: str) -> str:
    """Letters as they are drawn, from left to right."""
    return text[::-1]


HEBREW = "שלום לכולם וברוכים הבאים אל הספר"
ARABIC = "مرحبا بكم في هذا الكتاب الجديد"


@pytest.mark.parametrize("text", [HEBREW, ARABIC])
def test_letters_are_in_the_order_in_which_they_are_read(tmp_path: Path, text: str) -> None:
    assert markdown(tmp_path, turned(text)) == text


def test_a_glyph_of_two_letters_keeps_their_order(tmp_path: Path) -> None:
    visual = turned("هذا الس" + LAM_ALEF + "م عليكم يا صديقي")
    assert markdown(tmp_path, visual) == "هذا السلام عليكم يا صديقي"


def test_numbers_and_latin_words_among_hebrew_are_read_from_left_to_right(tmp_path: Path) -> None:
    visual = f"{turned('ועוד שלוש מילים בעברית')} 3.14 {turned('וגם')} Deep Blue {turned('הספר של')}"
    assert markdown(tmp_path, visual) == "הספר של Deep Blue וגם 3.14 ועוד שלוש מילים בעברית"


def test_hebrew_among_latin_words_is_turned_around_alone(tmp_path: Path) -> None:
    visual = f"The greeting {turned('שלום לכם')} is well known in the whole world today"
    assert markdown(tmp_path, visual) == "The greeting שלום לכם is well known in the whole world today"


@pytest.mark.parametrize("drawn_as", ["(2024)", ")2024("])
def test_brackets_open_before_what_they_hold(tmp_path: Path, drawn_as: str) -> None:
    # Some files have them as they look on the line, others as they read.
    visual = f"{turned('היה טוב מאוד')} {drawn_as} {turned('בשנה שעברה')}"
    assert markdown(tmp_path, visual) == "בשנה שעברה (2024) היה טוב מאוד"


def test_years_with_a_dash_are_read_as_each_script_has_them(tmp_path: Path) -> None:
    visual = f"{turned('ועוד מילים')} 2024-2026 {turned('בשנים')}"
    assert markdown(tmp_path, visual) == "בשנים 2024-2026 ועוד מילים"
    visual = f"{turned('كلمات أخرى')} 2026-2024 {turned('في سنوات')}"
    assert markdown(tmp_path, visual) == "في سنوات 2024-2026 كلمات أخرى"


def test_a_short_last_line_ends_a_paragraph_and_does_not_begin_one(tmp_path: Path) -> None:
    lines = [f"{word} לכולם וברוכים הבאים אל הספר הזה שלנו היום" for word in ("שלום", "ברכה", "תודה", "אהבה")]
    lines.insert(2, "והסוף.")
    found = markdown(tmp_path, *map(turned, lines))
    assert found == f"{lines[0]} {lines[1]} והסוף.\n\n{lines[3]} {lines[4]}"


def test_the_right_column_is_read_first(tmp_path: Path) -> None:
    sheet = Sheet()
    right = [f"שורה ימנית ארוכה מספיק {letter} בטור" for letter in "אבגדהו"]
    left = [f"שורה שמאלית ארוכה מספיק {letter} בטור" for letter in "אבגדהו"]
    for number, (one, other) in enumerate(zip(right, left, strict=True)):
        drawn(sheet, turned(one), 700 - 17 * number)
        drawn(sheet, turned(other), 700 - 17 * number, 270)
    found = converted(tmp_path / "columns.pdf", sheet)[0].markdown
    assert found.split() == " ".join([*right, *left]).split()


def test_words_have_their_boxes_from_the_right(tmp_path: Path) -> None:
    sheet = Sheet()
    drawn(sheet, turned(f"הספר הס{LAM_ALEF}ם אחר"), 700)
    path = tmp_path / "words.pdf"
    path.write_bytes(Pdf([sheet]).written())
    (line,) = read(path).pages[0].lines
    places = [run.box.x for run in line.runs]
    assert len(places) == 3
    assert places == sorted(places, reverse=True)


def test_pieces_of_arabic_are_read_from_right_to_left_and_so_are_the_numbers_among_them() -> None:
    pieces = [piece("العالم", 50, 100), piece("34", 100, 100), piece("12", 115, 100), piece("مرحبا", 140, 100)]
    assert layout.lines(pieces)[0].text == "مرحبا 12 34 العالم"


def test_pieces_of_latin_words_keep_their_order_among_arabic_and_arabic_ones_among_latin() -> None:
    arabic = [piece("العالم في كل مكان", 50, 100), piece("Deep", 150, 100), piece("Blue", 180, 100)]
    assert layout.lines([*arabic, piece("مرحبا", 240, 100)])[0].text == "مرحبا Deep Blue العالم في كل مكان"
    latin = [piece("The greeting", 50, 100), piece("مرحبا", 120, 100), piece("is well known", 160, 100)]
    assert layout.lines(latin)[0].text == "The greeting مرحبا is well known"


def test_a_turned_page_is_where_it_was_at_the_end() -> None:
    box = piece("مرحبا", 50, 100)
    with directions.mirrored([box], 600) as is_mirrored:
        assert is_mirrored
        assert (box.x0, box.x1) == (525, 550)
    assert (box.x0, box.x1) == (50, 75)
    with directions.mirrored([piece("hello", 50, 100)], 600) as is_mirrored:
        assert not is_mirrored
