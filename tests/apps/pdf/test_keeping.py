"""All text of a page is kept, at any angle and in any font; if some is lost, the page says so."""

import math
from pathlib import Path

import pypdfium2 as pdfium
import pytest

from fanfold.apps.pdf.characters.glyphs import own_text, whole
from fanfold.apps.pdf.markdown import layout
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.pages import textlayer
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.reading import angles as turning
from fanfold.apps.pdf.reading import document
from fanfold.apps.pdf.reading import kept_text as keeping
from fanfold.apps.pdf.reading import page_pieces as reading
from tests.apps.pdf.making import make_pdf, text_sheet
from tests.apps.pdf.sample_document import CHINESE
from tests.apps.pdf.test_textlayer import PROSE, converted, sheet_of
from tests.apps.pdf.writing import LEFT, Sheet

LINES = [
    "The first line of a page that is read to its end,",
    "the second one, in which somebody says a little more,",
    "and a third, with the number 1964 in it, which is the last.",
]


def drawn(sheet: Sheet, lines: list[str], matrix: str, top: float = 600, font: str = "T") -> Sheet:
    """Lines drawn with a given text matrix; x and y are placeholders for their positions."""
    for number, line in enumerate(lines):
        sheet.operators.append(f"BT /{font} 12 Tf {matrix} {LEFT} {top - 15 * number:g} Tm ({line}) Tj ET")
    return sheet


def skewed(lines: list[str], degrees: float, top: float = 700) -> Sheet:
    """Lines of a scan that lies askew, as the invisible text of an OCR program."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    sheet = Sheet()
    for number, line in enumerate(lines):
        x, y = LEFT + 60, top - 15 * number
        place = f"{x * cosine - y * sine:.3f} {x * sine + y * cosine:.3f}"
        matrix = f"{cosine:.6f} {sine:.6f} {-sine:.6f} {cosine:.6f} {place}"
        sheet.operators.append(f"BT 3 Tr /T 12 Tf {matrix} Tm ({line}) Tj ET")
    return sheet


def along_the_margin(sheet: Sheet, text: str, x: float = 20) -> Sheet:
    """A line that runs up the left margin."""
    sheet.operators.append(f"BT /R 9 Tf 0 1 -1 0 {x} 200 Tm ({text}) Tj ET")
    return sheet


@pytest.mark.parametrize("degrees", [9, 12, 17, -12])
def test_slanted_type_is_text_like_any_other(tmp_path: Path, degrees: float) -> None:
    shear = math.tan(math.radians(degrees))
    sheet = drawn(sheet_of(PROSE), LINES, f"1 0 {shear:.5f} 1")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == f"{PROSE}\n\n{' '.join(LINES)}"
    assert page.lost is None


def test_a_slanted_word_stays_in_its_line(tmp_path: Path) -> None:
    sheet = Sheet()
    for number in range(3):
        y = 700 - 15 * number
        sheet.operators.append(
            f"BT /T 12 Tf 64 {y} Td (In line {number} there is a ) Tj ET BT /T 12 Tf 1 0 0.2126 1 170 {y} Tm (word) Tj ET "
            f"BT /T 12 Tf 200 {y} Td (that leans, and text behind it) Tj ET"
        )
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == " ".join(f"In line {n} there is a word that leans, and text behind it" for n in range(3))


@pytest.mark.parametrize("degrees", [0.8, 1.5, -3, 7])
def test_the_text_of_a_skewed_scan_is_read_line_by_line(tmp_path: Path, degrees: float) -> None:
    (page,) = converted(tmp_path / "a.pdf", skewed(LINES, degrees))
    assert page.markdown == " ".join(LINES)
    assert page.lost is None


@pytest.mark.parametrize("degrees", [1.5, -3, 7])
def test_words_of_a_skewed_line_stand_on_one_line_again(degrees: float) -> None:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    page = RawPage(1, 600, 800)
    words = []
    for left in range(-200, 200, 80):
        # The box around a word 60 wide and 12 high that is turned clockwise around the middle of the page.
        x, y = 300 + (left + 30) * cosine, 400 + (left + 30) * sine
        across, down = 60 * cosine + 12 * abs(sine), 60 * abs(sine) + 12 * cosine
        box = (x - across / 2, y - down / 2, x + across / 2, y + down / 2)
        words.append((Piece("word", *box, 12 / 1.15, False, False), degrees % 360))
    turning.place(page, words)
    assert [round(piece.x0) for piece in page.pieces] == [300 + left for left in range(-200, 200, 80)]
    assert {(round(piece.y0), round(piece.y1)) for piece in page.pieces} == {(394, 406)}


def test_text_that_runs_up_the_margin_of_one_page_is_kept(tmp_path: Path) -> None:
    (page,) = converted(tmp_path / "a.pdf", along_the_margin(sheet_of(PROSE), "Draft of 12 May, not for sale"))
    assert page.markdown == f"{PROSE}\n\nDraft of 12 May, not for sale"


def test_a_stamp_is_dropped_where_it_is_repeated_in_the_margin(tmp_path: Path) -> None:
    sheets = [along_the_margin(sheet_of(f"{number}. {PROSE}"), f"lent to reader {number}") for number in range(1, 5)]
    for page in converted(tmp_path / "a.pdf", *sheets):
        assert page.markdown.endswith(PROSE)
        assert page.lost is None


def test_turned_text_within_the_page_is_kept_however_often_it_is_repeated(tmp_path: Path) -> None:
    sheets = [along_the_margin(sheet_of(PROSE), "metres above the sea", x=300) for _ in range(4)]
    for page in converted(tmp_path / "a.pdf", *sheets):
        assert page.markdown == f"{PROSE}\n\nmetres above the sea"


def test_letters_under_accents_of_their_own_are_kept(tmp_path: Path) -> None:
    """TeX draws an accent and its letter over each other, which the layout engine takes for a piece drawn twice."""
    sheet = Sheet()
    for number in range(3):
        sheet.operators.append(
            f"BT /T 10 Tf 64 {700 - 20 * number} Td (Sup) Tj 16 0 Td (\xb4) Tj 0 0 Td (erieure \xb4) Tj 0.2 2.5 Td (Ecole) Tj ET"
        )
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert keeping.letters(page.markdown) == keeping.letters("SuperieureEcole" * 3)
    assert page.lost is None


def test_what_is_drawn_twice_to_look_bold_is_said_once(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for shift in (0, 0.4):
        sheet.text(LEFT + shift, 400, "A title that is drawn twice", size=12)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.count("drawn twice") == 1
    assert page.lost is None


def test_pdfium_reads_once_what_is_drawn_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"Line {number} of ten lines that are drawn twice, to look bold" for number in range(10)]
    sheet = Sheet()
    for shift in (0, 0.4):
        for number, line in enumerate(lines):
            sheet.text(LEFT + shift, 700 - 17 * number, line)
    monkeypatch.setattr(reading, "read", lambda *_, **__: ({}, {}))
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown.split() == " ".join(lines).split()


def test_text_beside_the_page_is_not_missed(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    sheet.text(
        2000, 400, "printer's marks and other words that nobody sees, as long as the page itself is or even longer"
    )
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == PROSE
    assert page.lost is None


def test_what_the_layout_engine_loses_is_read_from_pdfium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_pdf(tmp_path / "a.pdf", [PROSE])
    survey = document.examine(path).survey
    whole = textlayer.convert(path, [1], survey)
    monkeypatch.setattr(reading, "read", lambda *_, **__: ({1: RawPage(1, 595, 842)}, {}))
    assert textlayer.convert(path, [1], survey) == whole
    monkeypatch.setattr(reading, "read", lambda *_, **__: ({}, {1: "it cannot be read"}))
    assert textlayer.convert(path, [1], survey) == whole


def test_pdfium_reads_lines_that_are_turned_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for degrees in (-5, 90, 180, 270):
        cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
        sheet = Sheet()
        for number, line in enumerate(LINES):
            x, y = -150, 60 - 15 * number
            place = f"{300 + x * cosine - y * sine:.3f} {420 + x * sine + y * cosine:.3f}"
            sheet.operators.append(
                f"BT /T 12 Tf {cosine:.6f} {sine:.6f} {-sine:.6f} {cosine:.6f} {place} Tm ({line}) Tj ET"
            )
        with monkeypatch.context() as blind:
            blind.setattr(reading, "read", lambda *_, **__: ({}, {}))
            (page,) = converted(tmp_path / f"{degrees}.pdf", sheet)
        assert (degrees, page.markdown) == (degrees, " ".join(LINES))


def test_lost_text_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = layout.lines
    monkeypatch.setattr(layout, "columns", lambda boxes, **_: [lines(boxes)[:2]])
    (page,) = converted(tmp_path / "a.pdf", text_sheet("\n".join(LINES)))
    assert page.lost is not None
    missing = sum(map(str.isalnum, "".join(LINES[2:])))
    assert page.lost.startswith(f"{missing} letters and digits of the page are missing")


def test_running_heads_and_numbers_of_code_lines_are_not_missed(tmp_path: Path) -> None:
    sheets = []
    for number in range(1, 5):
        sheet = Sheet()
        for line in range(1, 40):
            sheet.text(LEFT, sheet.y, str(line), "M", 6)
            sheet.text(LEFT + 20, sheet.y, f"call{number}({'x' * line});", "M", 10)
            sheet.y -= 12
        sheet.frame("A running head that is as long as most of the lines of its page are", number)
        sheets.append(sheet)
    for page in converted(tmp_path / "a.pdf", *sheets):
        assert "running head" not in page.markdown
        assert page.lost is None


def letters_to(names: list[str]) -> list[Sheet]:
    """Pages that begin alike, without any header."""
    sheets = []
    for name in names:
        sheet = Sheet()
        sheet.lines(["Dear reader,", f"this is for {name} and for nobody else, and it goes on", "for some lines."])
        sheets.append(sheet)
    return sheets


def test_a_short_line_at_the_top_of_a_paragraph_is_no_header_however_often_it_recurs(tmp_path: Path) -> None:
    for page in converted(tmp_path / "a.pdf", *letters_to(["Ann", "Bob", "Cem", "Dee"])):
        assert page.markdown.startswith("Dear reader,")


def test_a_line_that_recurs_below_other_text_is_no_header(tmp_path: Path) -> None:
    sheets = []
    for number in range(1, 5):
        sheet = Sheet()
        sheet.text(LEFT, 800, f"Part {'I' * number}, about the letter {'abcd'[number - 1]}", "B", 12)
        sheet.text(LEFT, 760, "Terms that are the same in all parts", size=10)
        sheet.y = 700
        sheet.paragraph(PROSE)
        sheets.append(sheet)
    for page in converted(tmp_path / "a.pdf", *sheets):
        assert "Terms that are the same in all parts" in page.markdown


def test_the_last_entry_of_a_list_with_numbers_is_no_footer(tmp_path: Path) -> None:
    sheet = sheet_of(PROSE)
    for number, title in enumerate(["Contents of the first part", "Contents of the second", "Index of all names"]):
        sheet.text(LEFT, 80 - 17 * number, title, size=10)
        sheet.text(500, 80 - 17 * number, str(117 + 40 * number), size=10)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert "Index of all names" in page.markdown
    assert "197" in page.markdown


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ﬁnal oﬀer", "final offer"),
        ("naïve", "nai\u0308ve"),
        ("type-\nsetter", "typesetter"),
        ("ﺍﻟﻌﺮﺑﻴﺔ", "العربية"),
        ("Ⅳ ①", "IV 1"),
    ],
)
def test_forms_of_a_letter_are_that_letter(before: str, after: str) -> None:
    assert keeping.letters(before) == keeping.letters(after)


def test_chinese_that_is_drawn_sign_by_sign_in_a_font_that_is_not_there_is_kept(tmp_path: Path) -> None:
    sheet = Sheet()
    text = CHINESE[0][:60]
    for number, sign in enumerate(text):
        sheet.text(LEFT + 14 * (number % 30), 700 - 20 * (number // 30), sign, "C", 14)
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == text


def test_pages_are_compared_with_equal_results_in_any_window(tmp_path: Path) -> None:
    sheets = [skewed(LINES, 2), sheet_of(PROSE), drawn(Sheet(), LINES, "1 0 0.21 1")]
    together: list[PageText] = converted(tmp_path / "a.pdf", *sheets)
    survey = document.examine(tmp_path / "a.pdf").survey
    assert together == [textlayer.convert(tmp_path / "a.pdf", [number], survey)[0] for number in (1, 2, 3)]


def test_digits_that_the_layout_engine_confused_are_read_again(tmp_path: Path) -> None:
    """As it does with text in a Chinese font that the machine has and the file has not."""
    text = f"Of all people, 29 answered within 5 weeks. {' '.join([PROSE] * 4)}"
    confused = RawPage(
        1, 595, 842, [Piece(text.replace("2", "-").replace("9", "5"), 72, 72, 500, 84, 10, False, False)]
    )
    opened = pdfium.PdfDocument(make_pdf(tmp_path / "one.pdf", [text]))
    with own_text(opened, 1) as own:
        read = whole(confused, own, 1)
    opened.close()
    assert read is not None
    assert "29 answered within 5 weeks" in " ".join(read.text.split())


def test_an_accent_drawn_over_a_letter_is_part_of_it(tmp_path: Path) -> None:
    sheet = Sheet()
    sheet.operators.append("BT /T 12 Tf 64 700 Td [(Jonas K\xa8) 415 (onig und die Seen)] TJ ET")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert page.markdown == "Jonas König und die Seen"
