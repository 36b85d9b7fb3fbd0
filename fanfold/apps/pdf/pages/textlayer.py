"""Converts the text layer of a page to Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanfold.apps.pdf.characters import cutting, unmapped_bullets
from fanfold.apps.pdf.characters import pdfium_text as exact
from fanfold.apps.pdf.characters.glyphs import OwnText, own_text, whole
from fanfold.apps.pdf.figures import figure_blocks
from fanfold.apps.pdf.figures.areas import areas_of
from fanfold.apps.pdf.formulas import displayed, glyph_signs, inline_math
from fanfold.apps.pdf.formulas.glyph_signs import Glyphs
from fanfold.apps.pdf.heads.headings import Headings
from fanfold.apps.pdf.markdown import blocks, column_joins, directions, footnotes, hyphens, layout
from fanfold.apps.pdf.markdown import markdown_writer as rendering
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table
from fanfold.apps.pdf.markdown.running_lines import Running
from fanfold.apps.pdf.pages.page_text import PageText
from fanfold.apps.pdf.reading import page_pieces as reading
from fanfold.apps.pdf.reading.document import opened
from fanfold.apps.pdf.reading.kept_text import MOST_LOST, letters, reason
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.apps.pdf.tables import finding
from fanfold.apps.pdf.tables.table_rows import absorb
from fanfold.model.shortage import shortage

if TYPE_CHECKING:
    import pypdfium2 as pdfium

# A page with fewer letters than this and an image over most of it is a scan with a stamp.
_FEW_LETTERS = 60
_MOST_OF_IT = 0.6
# With a larger share of unreadable characters, the text layer is worth less than the image.
_GARBLED = 0.25
# Markup whose letters are not those of the page.
_MARKUP = re.compile(r"</?su[bp]>|(?<=\])\([a-z]+:[^)\s]*\)")
_ODD = re.compile("[\x00-\x1f\ufffd\ue000-\uf8ff]")


@dataclass(frozen=True)
class _Rules:
    """How the pages of a document are judged, and whether their figures are looked for."""

    headings: Headings
    running: Running
    wants_figures: bool


def convert(path: Path, pages: Sequence[int], survey: dict[str, Any]) -> list[PageText]:
    """Convert some pages. Using the survey of the whole document makes each page's result independent of its neighbours."""
    if not pages:
        return []
    found, problems = reading.read(path, pages, forms=bool(survey.get("forms")))
    rules = _Rules(Headings(survey), Running(survey), bool(survey.get("figures")))
    with opened(path) as document, hyphens.evidence(survey):
        return [_page(document, number, found.get(number), problems.get(number), rules) for number in pages]


def _page(
    document: pdfium.PdfDocument,
    number: int,
    read: RawPage | None,
    problem: str | None,
    rules: _Rules,
) -> PageText:
    try:
        with own_text(document, number) as own:
            raw = whole(read, own, number)
            if raw is None or (read is None and not raw.pieces):
                return PageText(number, "", "", True, problem or say_of_pdf("page_could_not_be_read"))
            return _judged(document, raw, own, rules)
    except Exception as error:
        if shortage(error) is not None:
            raise
        # One bad page must not keep the others from being converted.
        return PageText(number, "", "", True, f"{type(error).__name__}: {error}")


def _judged(document: pdfium.PdfDocument, raw: RawPage, own: OwnText | None, rules: _Rules) -> PageText:
    headings, running = rules.headings, rules.running
    beside = running.beside(raw, headings.body)
    dropped = running.drop(raw, headings.body)
    needs_ocr = is_unreliable(document, raw, beside)
    glyphs = glyph_signs.of_mathematics(own)
    found, tables = _blocks(raw, own, headings, glyphs)
    text = rendering.plain(found)
    inline = inline_math.take(found, glyphs, raw)
    markdown = inline.put_into(rendering.markdown(found, raw.links))
    # LaTeX has commands for letters and signs of formulas.
    formulas = (line.text for block in found if block.kind == "formula" for line in block.lines)
    kept = [
        _MARKUP.sub("", markdown),
        *dropped,
        *formulas,
        *inline.texts,
        *(line.number for block in found for line in block.lines),
    ]
    page = PageText(raw.number, markdown, text, needs_ocr, lost=_lost(own, kept))
    if own is None or needs_ocr or not rules.wants_figures:
        return page
    illustrated, figures = figure_blocks.placed(
        found, areas_of(own, raw, tables), raw.number, displayed.unread_areas(found)
    )
    return replace(
        page, figures=tuple(figures), illustrated=inline.put_into(rendering.markdown(illustrated, raw.links))
    )


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


def _blocks(
    raw: RawPage, own: OwnText | None, headings: Headings, glyphs: Glyphs | None
) -> tuple[list[Block], list[Table]]:
    """The blocks of a page in reading order, and its tables."""
    if own is not None:
        cutting.at_rules(own, raw)
        unmapped_bullets.add(own, raw)
        raw.links = exact.correct(own, raw.pieces)
    tables = finding.find(raw, headings.body)
    taken = {id(piece) for table in tables for piece in finding.held(table, raw.pieces)}
    free = [piece for piece in raw.pieces if id(piece) not in taken]
    boxes: list[layout.Box] = [*free, *tables]
    with directions.mirrored(boxes, raw.width) as is_mirrored:
        columns, notes = footnotes.take(
            layout.columns(boxes, is_mirrored=is_mirrored, rules=raw.rules.level), headings.body
        )
        columns = columns if is_mirrored else list(map(absorb, displayed.written(columns, glyphs, raw)))
        found = list(column_joins.joined(headings.mark_columns(columns, raw.number)))
        if is_mirrored:
            directions.turn_lines((*found, *notes), raw.width)
    # Text at another angle does not fit between the lines of the page, so it follows them.
    aside = (column for group in raw.turned for column in layout.columns(group.pieces))
    return [*found, *(block for column in aside for block in blocks.group(column)), *notes], tables


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
