"""Converts the text layer of a page to Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.apps.pdf.markdown import blocks, layout
from fanfold.apps.pdf.markdown import markdown_writer as rendering
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.headings import Headings
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table
from fanfold.apps.pdf.markdown.running_lines import Running
from fanfold.apps.pdf.markdown.table_rows import absorb
from fanfold.apps.pdf.reading import page_pieces as reading
from fanfold.apps.pdf.reading import pdfium_text as exact
from fanfold.apps.pdf.reading.document import opened
from fanfold.apps.pdf.reading.glyphs import OwnText, own_text, whole
from fanfold.apps.pdf.reading.kept_text import MOST_LOST, letters, reason
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.model.shortage import shortage

if TYPE_CHECKING:
    import pypdfium2 as pdfium

# A page with fewer letters than this and an image over most of it is a scan with a stamp.
_FEW_LETTERS = 60
_MOST_OF_IT = 0.6
# With a larger share of unreadable characters, the text layer is worth less than the image.
_GARBLED = 0.25
# A longer cell is a paragraph.
_LONGEST_CELL = 400
_BULLETS = re.compile("[•●▪■◦○]")
# Markup whose letters are not those of the page.
_MARKUP = re.compile(r"</?su[bp]>|(?<=\])\([a-z]+:[^)\s]*\)")
_ODD = re.compile("[\x00-\x1f\ufffd\ue000-\uf8ff]")


@dataclass(frozen=True)
class PageText:
    """One page: its Markdown, its plain text, and whether that text is unreliable."""

    page: int
    markdown: str
    text: str
    needs_ocr: bool
    problem: str | None = None
    lost: str | None = None
    """Message about text that is on the page but not in its Markdown."""


def convert(path: Path, pages: Sequence[int], survey: dict[str, Any]) -> list[PageText]:
    """Convert some pages. Using the survey of the whole document makes each page's result independent of its neighbours."""
    if not pages:
        return []
    found, problems = reading.read(path, pages, forms=bool(survey.get("forms")))
    headings = Headings(survey)
    running = Running(survey)
    with opened(path) as document:
        return [_page(document, number, found.get(number), problems.get(number), headings, running) for number in pages]


def _page(
    document: pdfium.PdfDocument,
    number: int,
    read: RawPage | None,
    problem: str | None,
    headings: Headings,
    running: Running,
) -> PageText:
    try:
        with own_text(document, number) as own:
            raw = whole(read, own, number)
            if raw is None or (read is None and not raw.pieces):
                return PageText(number, "", "", True, problem or say_of_pdf("page_could_not_be_read"))
            return _judged(document, raw, own, headings, running)
    except Exception as error:
        if shortage(error) is not None:
            raise
        # One bad page must not keep the others from being converted.
        return PageText(number, "", "", True, f"{type(error).__name__}: {error}")


def _judged(
    document: pdfium.PdfDocument, raw: RawPage, own: OwnText | None, headings: Headings, running: Running
) -> PageText:
    beside = running.beside(raw, headings.body)
    dropped = running.drop(raw, headings.body)
    needs_ocr = is_unreliable(document, raw, beside)
    found = _blocks(raw, own, headings)
    markdown = rendering.markdown(found, raw.links)
    kept = [_MARKUP.sub("", markdown), *dropped, *_line_numbers(raw, found)]
    return PageText(raw.number, markdown, rendering.plain(found), needs_ocr, lost=_lost(own, kept))


def is_unreliable(document: pdfium.PdfDocument, raw: RawPage, beside: Sequence[Piece]) -> bool:
    """Whether the text layer is worth less than the image: nothing, garbled, or only a stamp on a picture.

    ``beside`` are the pieces that do not recur on other pages. A page without any text may show it as a drawing; so may one
    with only a header, if there is an image below.
    """
    return not raw.pieces or _garbled(raw.pieces) or (_is_sparse(beside) and _is_picture(document, raw))


def _lost(own: OwnText | None, kept: list[str]) -> str | None:
    """Message for a page that lost text; None if all of it is there."""
    if own is None:
        return None
    found = letters("\n".join(kept))
    if (own.letters - found).total() <= MOST_LOST:
        return None
    # Text drawn twice or outside the page was not lost.
    lost = (letters(own.visible) - found).total()
    return reason(lost) if lost > MOST_LOST else None


def _line_numbers(raw: RawPage, found: Sequence[Block]) -> list[str]:
    """The line numbers of code listings, which are not part of the code."""
    used = {id(piece) for block in found if block.kind == "code" for line in block.lines for piece in line.pieces}
    if not used:
        return []
    return [piece.text for piece in raw.pieces if piece.text.isdigit() and id(piece) not in used]


def _blocks(raw: RawPage, own: OwnText | None, headings: Headings) -> list[Block]:
    tables = complete_tables(raw)
    held = {id(piece) for table in tables for piece in inside(raw.pieces, table)}
    free = [piece for piece in raw.pieces if id(piece) not in held]
    if own is not None:
        raw.links = exact.correct(own, free)
    found = [
        block
        for column in layout.columns([*free, *tables])
        for block in headings.mark(blocks.group(absorb(column)), raw.number)
    ]
    # Text at another angle does not fit between the lines of the page, so it follows them.
    aside = (column for group in raw.turned for column in layout.columns(group.pieces))
    return found + [block for column in aside for block in blocks.group(column)]


def complete_tables(raw: RawPage) -> list[Table]:
    """The tables of a page that hold all the text of their area."""
    return [table for table in raw.tables if _complete(table, raw.pieces)]


def inside(pieces: Sequence[Piece], table: Table) -> list[Piece]:
    """The pieces in the area of a table."""
    left, top, right, bottom = 2 * table.x0 - 2, 2 * table.y0 - 2, 2 * table.x1 + 2, 2 * table.y1 + 2
    return [piece for piece in pieces if top <= piece.y0 + piece.y1 <= bottom and left <= piece.x0 + piece.x1 <= right]


def _complete(table: Table, pieces: Sequence[Piece]) -> bool:
    """Whether a table is one, and holds all the text of its area; if not, the plain lines are better."""
    there = inside(pieces, table)
    told = letters("".join("".join(row) for row in table.rows))
    if letters("".join(piece.text for piece in there)) - told:
        return False
    return not (_is_prose(table) or _is_listing(there) or _is_squeezed_contents(table))


def _is_prose(table: Table) -> bool:
    """Whether columns of text or a list were misread as a table: one column, whole paragraphs, or bullets in its cells."""
    cells = [cell for row in table.rows for cell in row if cell.strip()]
    if max(map(len, table.rows)) < 2:
        return True
    return any(len(cell) > _LONGEST_CELL or len(_BULLETS.findall(cell)) > 2 for cell in cells) and len(cells) < 12


def _is_listing(pieces: Sequence[Piece]) -> bool:
    """Whether most of an area is code."""
    total = sum(len(piece.text) for piece in pieces)
    return total > 0 and 2 * sum(len(piece.text) for piece in pieces if piece.mono) > total


def _is_squeezed_contents(table: Table) -> bool:
    """Whether a table of contents was misread as a table with several entries per row: "2.1 Syntax 2.2 Names | 2 3"."""
    numbers = [row[-1].split() for row in table.rows if row and row[-1]]
    return (
        len(numbers) > 1
        and all(word.isdigit() for cell in numbers for word in cell)
        and sum(len(cell) > 1 for cell in numbers) * 2 >= len(numbers)
        and all(len(row[-2].split()) > 2 * len(row[-1].split()) for row in table.rows if len(row) > 1 and row[-1])
    )


def _garbled(pieces: Sequence[Piece]) -> bool:
    text = "".join(piece.text for piece in pieces)
    return len(_ODD.findall(text)) > _GARBLED * len(text)


def _is_sparse(pieces: Sequence[Piece]) -> bool:
    return sum(len(piece.text) for piece in pieces) < _FEW_LETTERS


def _is_picture(document: pdfium.PdfDocument, raw: RawPage) -> bool:
    """Whether an image covers most of a page."""
    import pypdfium2 as pdfium
    from pypdfium2.raw import FPDF_PAGEOBJ_IMAGE

    area = 0.0
    try:
        for image in document[raw.number - 1].get_objects(filter=[FPDF_PAGEOBJ_IMAGE]):
            left, bottom, right, top = image.get_bounds()
            area = max(area, (right - left) * (top - bottom))
    except pdfium.PdfiumError:
        return False
    return area > _MOST_OF_IT * raw.width * raw.height
