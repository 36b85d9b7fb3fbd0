"""Whatever the columns, angles, fonts and notes of a page are, every letter of it is in its Markdown."""

import math
import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from fanfold.apps.pdf.reading.kept_text import letters
from tests.apps.pdf.test_textlayer import converted
from tests.apps.pdf.writing import Sheet, shown

# `FANFOLD_EXAMPLES=2000` makes more of them.
EXAMPLES = int(os.environ.get("FANFOLD_EXAMPLES", "12"))

words = st.text("abcdefghijklmnoprstuvwyzABCDEÄÖÜéèñç-", min_size=2, max_size=9).filter(
    lambda word: any(map(str.isalpha, word))
)
line = st.lists(words, min_size=1, max_size=3).map(" ".join)
column = st.tuples(st.lists(line, min_size=1, max_size=14), st.sampled_from("RBTIM"), st.sampled_from([7.0, 9.0, 10.0]))
turned = st.tuples(
    st.lists(words, min_size=1, max_size=2).map(" ".join),
    # Far enough from the edges: what is off the page is not lost.
    st.integers(4, 9).map(lambda at: 40 * at),
    st.integers(5, 16).map(lambda at: 40 * at),
    st.sampled_from([90, 180, 270, 12, 45, -7]),
    st.sampled_from("RT"),
)
note = st.tuples(words, line)
grid = st.lists(st.lists(words, min_size=2, max_size=4), min_size=1, max_size=4)
rules = st.sampled_from(["none", "level", "all", "some", "cells", "upright"])
# A note beside the text: its height, its size, and whether it is underlined and blue.
margin = st.tuples(words, st.integers(500, 730), st.sampled_from([6.0, 8.0]), st.booleans())


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    headline=st.one_of(st.none(), line),
    columns=st.lists(column, min_size=1, max_size=3),
    # The same word drawn twice in one place is one word, made bold.
    aside=st.lists(turned, max_size=2, unique_by=lambda drawn: drawn[1:3]),
    notes=st.lists(note, max_size=2),
    cells=st.one_of(st.none(), grid),
    drawn_rules=rules,
    beside=st.lists(margin, max_size=3, unique_by=lambda drawn: drawn[1] // 20),
)
def test_no_letter_of_a_page_is_lost(
    headline: str | None,
    columns: list[tuple[list[str], str, float]],
    aside: list[tuple[str, int, int, int, str]],
    notes: list[tuple[str, str]],
    cells: list[list[str]] | None,
    drawn_rules: str,
    beside: list[tuple[str, int, float, bool]],
) -> None:
    sheet, drawn = Sheet(), [headline or ""]
    if headline:
        sheet.text(64, 790, headline, "B", 20)
    for number, (lines, font, size) in enumerate(columns):
        for row, text in enumerate(lines):
            sheet.text(50 + 180 * number, 740 - number * 3 - row * 1.3 * size, text, font, size)
            drawn.append(text)
    for text, x, y, degrees, font in aside:
        sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
        matrix = f"{cosine:.4f} {sine:.4f} {-sine:.4f} {cosine:.4f} {x} {y}"
        sheet.operators.append(f"BT /{font} 9 Tf {matrix} Tm {shown(text, font)} Tj ET")
        drawn.append(text)
    for text, y, size, is_marked in beside:
        sheet.operators.append("0 0.3 0.8 rg" if is_marked else "0 g")
        sheet.text(4, y, text, "R", size)
        sheet.operators.append(
            f"0 g 0.4 w 4 {y - 1.5} m {4 + 0.5 * size * len(text)} {y - 1.5} l S" if is_marked else ""
        )
        drawn.append(text)
    for number, (mark, text) in enumerate(notes):
        sheet.text(50, 84 - 11 * number, mark, size=5)
        sheet.text(80, 80 - 11 * number, text, size=8)
        drawn += [mark, text]
    for down, found in enumerate(cells or ()):
        for across, text in enumerate(found):
            x, y = 60 + 110 * across, 260 - 18 * down
            sheet.text(x, y, text, size=10)
            drawn.append(text)
            if drawn_rules == "all" or (drawn_rules == "some" and len(text) % 2):
                sheet.operators.append(f"0.5 w {x - 4} {y - 5} 110 18 re S")
            if drawn_rules == "cells":
                sheet.operators.append(f"0.9 g {x - 4} {y - 6} 110 0.8 re f 0 g")
            if drawn_rules == "upright":
                sheet.operators.append(f"0.5 w {x + 14} 150 m {x + 14} {y + 30} l S")
        if drawn_rules == "level":
            sheet.operators.append(f"0.5 w 56 {255 - 18 * down} m 480 {255 - 18 * down} l S")
    with TemporaryDirectory() as folder:
        (page,) = converted(Path(folder) / "a.pdf", sheet)
    assert not letters(" ".join(drawn)) - letters(page.markdown)
    assert page.lost is None
