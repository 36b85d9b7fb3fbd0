"""A line is removed from a page only if it is proven to be a running line; every other line is kept."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fanfold as ff
from fanfold.apps.pdf.markdown import page_numbers
from fanfold.apps.pdf.markdown.running_lines import signatures
from fanfold.apps.pdf.pages.page_checks import check_against
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.reading.kept_text import letters
from tests.apps.pdf.test_textlayer import PROSE, converted, sheet_of
from tests.apps.pdf.writing import HEIGHT, LEFT, Sheet

NOTICE = [
    "Notice to all tenants",
    "The water will be turned off on 12 March from 9 to 12.",
    "Please store enough water in advance.",
]
TOPICS = ["paper", "ink", "glue", "thread", "cloth", "board", "leather", "gold"]


def placed(*lines: tuple[float, str], size: float = 12) -> Sheet:
    """A page with these lines at these heights, counted from the bottom."""
    sheet = Sheet()
    for y, text in lines:
        sheet.text(LEFT, y, text, size=size)
    return sheet


def notice(*more: str) -> Sheet:
    return placed(*((800 - 16 * number, line) for number, line in enumerate([*NOTICE, *more])))


def chapter_page(topic: str) -> Sheet:
    """A page of a book, unlike any other page."""
    return sheet_of(f"This page is about {topic}. {PROSE}", f"There is more to be said about {topic}. {PROSE}")


def all_of(page: PageText, *lines: str) -> bool:
    """Whether a page has all of these lines, and reports no loss."""
    return page.lost is None and all(line in " ".join(page.markdown.split()) for line in lines)


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
def test_copies_of_a_notice_keep_all_of_it(tmp_path: Path, copies: int) -> None:
    pages = converted(tmp_path / "a.pdf", *(notice() for _ in range(copies)))
    assert all(all_of(page, *NOTICE) for page in pages)


def test_copies_of_a_long_notice_keep_its_title(tmp_path: Path) -> None:
    sheets = [sheet_of(PROSE, PROSE) for _ in range(4)]
    for sheet in sheets:
        sheet.text(LEFT, 815, "Notice to all tenants")
    assert all(all_of(page, "Notice to all tenants", PROSE) for page in converted(tmp_path / "a.pdf", *sheets))


@pytest.mark.parametrize("line", ["Flat {}", "To {}", "{}"])
def test_notices_that_differ_in_one_line_keep_that_line_and_all_others(tmp_path: Path, line: str) -> None:
    differing = [line.format(number) for number in range(1, 6)]
    pages = converted(tmp_path / "a.pdf", *(notice(text) for text in differing))
    assert all(all_of(page, *NOTICE, text) for page, text in zip(pages, differing, strict=True))


def test_an_answer_without_the_words_of_a_notice_is_refused(tmp_path: Path) -> None:
    page = converted(tmp_path / "a.pdf", *(notice("Flat 7") for _ in range(3)))[0]
    with pytest.raises(ff.BadAnswer):
        check_against(page.text)("Hello.")
    assert check_against(page.text)(page.markdown) == page.markdown


def test_certificates_keep_their_titles_names_and_signatures(tmp_path: Path) -> None:
    names = ["Ada Lovelace", "Alan Turing", "Grace Hopper", "Kurt Weill", "Lise Meitner"]
    sheets = []
    for name in names:
        sheet = placed((560, "This is to certify that"), (520, name), (480, "has taken part"), (60, "The director"))
        sheet.text(LEFT, 780, "Certificate", "B", 26)
        sheets.append(sheet)
    for page, name in zip(converted(tmp_path / "a.pdf", *sheets), names, strict=True):
        assert all_of(page, "Certificate", "This is to certify that", name, "has taken part", "The director")


def test_forms_keep_the_lines_that_are_printed_on_all_of_them(tmp_path: Path) -> None:
    sheets = [
        placed(
            (800, "Pay slip"), (700, f"Month {n}"), (680, f"Gross pay {3000 + 37 * n}.00 EUR"), (40, f"Copy {n * n}")
        )
        for n in range(1, 7)
    ]
    for number, page in enumerate(converted(tmp_path / "a.pdf", *sheets), 1):
        wanted = ["Pay slip", f"Month {number}", f"Gross pay {3000 + 37 * number}.00 EUR", f"Copy {number * number}"]
        assert all_of(page, *wanted)


def test_labels_and_tickets_keep_their_numbers(tmp_path: Path) -> None:
    for first in (1, 101):
        sheets = [placed((800, "Summer raffle"), (420, "Good luck"), (40, str(first + n))) for n in range(6)]
        for number, page in enumerate(converted(tmp_path / "a.pdf", *sheets), first):
            assert all_of(page, "Summer raffle", "Good luck", str(number))


def test_sizes_are_no_roman_page_numbers(tmp_path: Path) -> None:
    sizes = ["XL", "L", "XXL", "L"]
    sheets = [placed((800, size), (420, f"A shirt in {topic}")) for size, topic in zip(sizes, TOPICS, strict=False)]
    for page, size in zip(converted(tmp_path / "a.pdf", *sheets), sizes, strict=True):
        assert all_of(page, size)


def test_slides_of_one_word_keep_the_title_that_all_have(tmp_path: Path) -> None:
    sheets = [placed((800, "Review of the northern region"), (420, topic)) for topic in TOPICS]
    for page, topic in zip(converted(tmp_path / "a.pdf", *sheets), TOPICS, strict=True):
        assert all_of(page, "Review of the northern region", topic)


def test_a_title_in_large_type_is_kept_however_often_it_recurs(tmp_path: Path) -> None:
    sheets = [chapter_page(topic) for topic in TOPICS]
    for sheet in sheets:
        sheet.text(LEFT, 800, "What a binder needs", "B", 20)
    assert all(all_of(page, "What a binder needs") for page in converted(tmp_path / "a.pdf", *sheets))


HEADS: dict[str, Callable[[int], str]] = {
    "same": lambda _: "A History of Bookbinding",
    "counting": lambda page: f"A History of Bookbinding, page {page + 20}",
    "padded": lambda page: f"A History of Bookbinding 06 frame {page:05}",
    "odd and even": lambda page: "A History of Bookbinding" if page % 2 else "by a Binder of Books",
    "chapters": lambda page: "Of Soft Materials" if page < 5 else "Of Hard Materials",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS.keys())
def test_running_heads_and_page_numbers_are_taken_off(tmp_path: Path, head: Callable[[int], str]) -> None:
    sheets = [chapter_page(topic) for topic in TOPICS]
    for number, sheet in enumerate(sheets, 1):
        sheet.frame(head(number), number + 20)
    for page, topic in zip(converted(tmp_path / "a.pdf", *sheets), TOPICS, strict=True):
        assert page.markdown.startswith(f"This page is about {topic}.")
        assert page.markdown.endswith("about nothing else.")
        assert page.lost is None


def test_the_title_of_a_section_beside_a_running_head_is_kept_where_it_would_be_missed(tmp_path: Path) -> None:
    sheets = [*(sheet_of(*[f"On {topic}: {PROSE}"] * 4) for topic in TOPICS), sheet_of("The end of this book.")]
    for number, sheet in enumerate(sheets):
        sheet.text(LEFT, 806, "A History of Bookbinding", size=8.5)
        sheet.text(480, 806, f"About {'abcdefghi'[number]}", size=8.5)
    *pages, last = converted(tmp_path / "a.pdf", *sheets)
    assert not any("History" in page.markdown or "About" in page.markdown for page in pages)
    assert "History" not in last.markdown
    assert all_of(last, "About i", "The end of this book.")


def test_a_page_that_has_only_running_lines_keeps_them(tmp_path: Path) -> None:
    sheets = [*(chapter_page(topic) for topic in TOPICS), Sheet()]
    for number, sheet in enumerate(sheets, 1):
        sheet.frame("A History of Bookbinding", number)
    *pages, last = converted(tmp_path / "a.pdf", *sheets)
    assert not any("History" in page.markdown for page in pages)
    assert all_of(last, "A History of Bookbinding")


def test_numbers_at_the_edge_that_do_not_count_the_pages_are_kept(tmp_path: Path) -> None:
    sheets = [chapter_page(topic) for topic in TOPICS]
    numbers = [(7 * number * number) % 97 + 100 for number in range(len(sheets))]
    for sheet, number in zip(sheets, numbers, strict=True):
        sheet.text(LEFT, 40, str(number))
    for page, number in zip(converted(tmp_path / "a.pdf", *sheets), numbers, strict=True):
        assert all_of(page, str(number))


def test_a_foot_that_differs_in_more_than_the_page_number_is_kept(tmp_path: Path) -> None:
    sheets = [chapter_page(topic) for topic in TOPICS]
    for number, sheet in enumerate(sheets, 1):
        sheet.text(LEFT, 30, f"Total due {number * number * 17}.50")
    for number, page in enumerate(converted(tmp_path / "a.pdf", *sheets), 1):
        assert all_of(page, f"Total due {number * number * 17}.50")


def test_the_first_line_of_a_single_form_is_kept_with_its_number(tmp_path: Path) -> None:
    sheet = chapter_page("invoices")
    sheet.text(LEFT, 810, "Invoice")
    sheet.text(480, 810, "1017")
    (page,) = converted(tmp_path / "a.pdf", sheet)
    assert all_of(page, "Invoice 1017")


def test_the_last_row_of_a_table_is_kept_however_often_it_recurs(tmp_path: Path) -> None:
    sheets = [chapter_page(topic) for topic in TOPICS]
    for sheet in sheets:
        for y, row in ((115, ("Preparer Phone Number", "49-60")), (98, ("Foreign Code", "72-73"))):
            sheet.text(LEFT, y, row[0])
            sheet.text(LEFT + 200, y, row[1])
    assert all(all_of(page, "Foreign Code", "72-73") for page in converted(tmp_path / "a.pdf", *sheets))


@pytest.mark.parametrize(
    ("text", "value"), [("iv", 4), ("ix", 9), ("xl", 40), ("XXXVIII", 38), ("vx", None), ("iiii", None), ("12", 12)]
)
def test_roman_numbers_are_read(text: str, value: int | None) -> None:
    assert page_numbers._value(text) == value


LINES = ["Notice to tenants", "Flat {}", "{}", "Ada Lovelace", "Page {} of 9", "XL", "Total {}.50", "Room {}, floor 2"]
PLACES = [806, 790, 760, 500, 420, 90, 60, 36]
small_page = st.dictionaries(
    st.sampled_from(PLACES), st.tuples(st.sampled_from(LINES), st.sampled_from([1, 2, 17, 0])), min_size=1, max_size=5
)


def said(page: int, line: str, number: int) -> str:
    """What a line says on a page; 0 stands for the number of the page."""
    return line.format(number or page)


def may_go(place: int, text: str, page: int, counted: Counter[tuple[str, int]], numbers: Counter[int]) -> bool:
    """Whether a line could be proven: at the edge, and known from three pages or counting them."""
    if 0.14 * HEIGHT < HEIGHT - place < 0.87 * HEIGHT:
        return False
    if text.startswith("Page ") or (text.isdigit() and numbers[int(text) - page] > 1):
        return True
    return any(counted[known, place] > 2 for known in signatures(text, page))


@settings(max_examples=60, deadline=None)
@given(st.lists(small_page, min_size=1, max_size=6))
def test_small_pages_keep_every_line_that_is_not_proven(drawn: list[dict[int, tuple[str, int]]]) -> None:
    pages = [{place: said(number, *line) for place, line in lines.items()} for number, lines in enumerate(drawn, 1)]
    counted: Counter[tuple[str, int]] = Counter()
    numbers: Counter[int] = Counter()
    for number, lines in enumerate(pages, 1):
        counted.update((known, place) for place, text in lines.items() for known in signatures(text, number))
        numbers.update({int(text) - number for text in lines.values() if text.isdigit()})
    with TemporaryDirectory() as folder:
        found = converted(Path(folder) / "a.pdf", *(placed(*lines.items()) for lines in pages))
    for page, lines in zip(found, pages, strict=True):
        kept = [text for place, text in lines.items() if not may_go(place, text, page.page, counted, numbers)]
        assert letters(page.markdown) >= letters(" ".join(kept))
        assert letters(page.markdown).total() >= 0.2 * letters(" ".join(lines.values())).total()
        assert page.markdown
        assert page.lost is None
