"""Reads a PDF as lines with the page and the box of every word: the text that other applications search and quote."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from fanfold.apps.pdf.characters import cutting, unmapped_bullets
from fanfold.apps.pdf.characters import pdfium_text as exact
from fanfold.apps.pdf.characters.glyphs import OwnText, own_text, whole
from fanfold.apps.pdf.heads.headings import Headings
from fanfold.apps.pdf.markdown import directions, layout
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.markdown.running_lines import Running
from fanfold.apps.pdf.pages import ocr as recognition
from fanfold.apps.pdf.pages.cell_lines import cell_lines
from fanfold.apps.pdf.pages.textlayer import is_unreliable
from fanfold.apps.pdf.reading import document as documents
from fanfold.apps.pdf.reading import page_pieces
from fanfold.apps.pdf.reading.pdf_text import Box, LineText, PageText, PdfText, Run
from fanfold.apps.pdf.reading.word_boxes import Characters, Edges
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.apps.pdf.tables import finding
from fanfold.model.shortage import shortage

if TYPE_CHECKING:
    import pypdfium2 as pdfium

Ocr = Literal["auto", "always", "never"]

# Pages read at a time. Opening the document takes longer than reading a page; all pages at once would take memory.
_WINDOW = 32
# In multiples of the type size: a wider gap within a line separates cells of a table.
_CELL_GAP = 1.8


def read(
    path: Path,
    *,
    pages: str | Sequence[int] | None = None,
    password: str | None = None,
    ocr: Ocr = "auto",
    name: str | None = None,
) -> PdfText:
    """Read a PDF as pages, lines and words, each with its box, in reading order.

    ``pages`` is a range such as ``1-3,7`` or a list of numbers; by default all. With ``ocr="auto"`` pages without a text layer
    are read by OCR if the extra is installed; ``always`` reads all pages by OCR, ``never`` none. A page that cannot be read has
    no lines and a ``problem``; a document that cannot be read raises ``Permanent``. pdfium is not thread-safe, so call it in a
    child process: ``await item.in_child(read, path)``.
    """
    if password is None:
        return _read(path, pages, ocr, name or path.name)
    with tempfile.TemporaryDirectory() as folder:
        unlocked = Path(folder) / "document.pdf"
        documents.unlock(path, password, unlocked, name=name or path.name)
        return _read(unlocked, pages, ocr, name or path.name)


def _read(path: Path, pages: str | Sequence[int] | None, ocr: Ocr, name: str) -> PdfText:
    wanted = pages if isinstance(pages, str) else ",".join(map(str, pages or ()))
    examined = documents.examine(path, wanted, name=name)
    reader = _Reader(path, examined, ocr)
    with documents.opened(path, name=name) as document:
        return PdfText(list(reader.pages(document)), examined.total)


class _Reader:
    """Reads the pages of one document by the rules of its survey."""

    def __init__(self, path: Path, examined: documents.Examined, ocr: Ocr) -> None:
        self.path = path
        self.wanted = examined.pages
        self.forms = bool(examined.survey.get("forms"))
        self.headings = Headings(examined.survey)
        self.running = Running(examined.survey)
        self.ocr = ocr

    def pages(self, document: pdfium.PdfDocument) -> Iterator[PageText]:
        for at in range(0, len(self.wanted), _WINDOW):
            window = self.wanted[at : at + _WINDOW]
            found, problems = page_pieces.read(self.path, window, forms=self.forms)
            for number in window:
                yield self._page(document, number, found.get(number), problems.get(number))

    def _page(self, document: pdfium.PdfDocument, number: int, read: RawPage | None, problem: str | None) -> PageText:
        try:
            with own_text(document, number) as own:
                raw = whole(read, own, number)
                if raw is None or (read is None and not raw.pieces):
                    layer = PageText(number, *_size(own, read), [], "text", problem=problem)
                    return self._recognised(layer, problem or say_of_pdf("page_could_not_be_read"))
                return self._judged(document, raw, own)
        except Exception as error:
            if shortage(error) is not None:
                raise
            # One bad page must not keep the others from being read.
            return PageText(number, 0.0, 0.0, [], "text", problem=f"{type(error).__name__}: {error}")

    def _judged(self, document: pdfium.PdfDocument, raw: RawPage, own: OwnText | None) -> PageText:
        beside = self.running.beside(raw, self.headings.body)
        all_pieces = _pieces(raw)
        self.running.drop(raw, self.headings.body)
        kept = {id(piece) for piece in _pieces(raw)}
        dropped = [piece for piece in all_pieces if id(piece) not in kept]
        unreliable = is_unreliable(document, raw, beside)
        width, height = _size(own, raw)
        characters = Characters(own)
        writer = _Lines(characters, width, height)
        for piece in all_pieces:
            piece.shown = piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)
        lines = writer.written(_lines(raw, own, self.headings))
        running = writer.written((line, False) for line in layout.lines(dropped))
        page = PageText(raw.number, width, height, lines, "text", running)
        return self._recognised(page, say_of_pdf("no_ocr", page=raw.number)) if unreliable else self._forced(page)

    def _forced(self, page: PageText) -> PageText:
        return self._recognised(page, say_of_pdf("no_ocr", page=page.number)) if self.ocr == "always" else page

    def _recognised(self, page: PageText, otherwise: str) -> PageText:
        """The page by OCR. If OCR is not wanted or not installed, its text layer and a reason."""
        picture = documents.picture(self.path, page.number)
        if picture.blank:
            return page
        if self.ocr == "never" or not recognition.available():
            return PageText(
                page.number, page.width, page.height, page.lines, "text", page.running, page.problem or otherwise
            )
        pieces = recognition.lines_of(picture.jpeg)
        width, height = (page.width, page.height) if page.width else (float(picture.width), float(picture.height))
        writer = _Lines(Characters(None), width, height)
        for piece in pieces:
            left, top, right, bottom = piece.shown or (0.0, 0.0, 0.0, 0.0)
            piece.shown = (left * width, top * height, right * width, bottom * height)
        raw = RawPage(page.number, width, height, pieces)
        return PageText(
            page.number, width, height, writer.written(_lines(raw, None, recognition.headings_of(pieces))), "ocr"
        )


def _size(own: OwnText | None, raw: RawPage | None) -> tuple[float, float]:
    if own is not None:
        return own.width, own.height
    return (raw.width, raw.height) if raw is not None else (0.0, 0.0)


def _pieces(raw: RawPage) -> list[Piece]:
    return [*raw.pieces, *itertools.chain.from_iterable(group.pieces for group in raw.turned)]


def _lines(raw: RawPage, own: OwnText | None, headings: Headings) -> Iterator[tuple[Line, bool]]:
    """The lines of a page in the order of its Markdown, and whether each is a heading."""
    if own is not None:
        cutting.at_rules(own, raw)
        unmapped_bullets.add(own, raw)
        exact.correct(own, raw.pieces)
    tables = finding.find(raw, headings.body)
    cells = {id(table): finding.held(table, raw.pieces) for table in tables}
    held = {id(piece) for pieces in cells.values() for piece in pieces}
    free = [piece for piece in raw.pieces if id(piece) not in held]
    boxes: list[layout.Box] = [*free, *tables]
    with directions.mirrored(boxes, raw.width) as is_mirrored:
        found = list(
            headings.mark_columns(layout.columns(boxes, is_mirrored=is_mirrored, rules=raw.rules.level), raw.number)
        )
    for block in found:
        if block.table is not None:
            yield from ((line, False) for line in cell_lines(block.table, cells[id(block.table)]))
        else:
            yield from ((line, block.kind == "heading") for line in block.lines)
    for group in raw.turned:
        yield from ((line, False) for column in layout.columns(group.pieces) for line in column)


class _Lines:
    """Writes lines with the boxes of their words."""

    def __init__(self, characters: Characters, width: float, height: float) -> None:
        self.characters = characters
        self.width = width or 1.0
        self.height = height or 1.0

    def written(self, lines: Iterable[tuple[Line, bool]]) -> list[LineText]:
        return [self._line(line, heading) for line, heading in lines if line.text.strip()]

    def _line(self, line: Line, heading: bool) -> LineText:
        text = ""
        position = 0
        runs: list[Run] = []
        before: Piece | None = None
        for piece in line.pieces:
            if not piece.text:
                continue
            at = line.text.find(piece.text, position)
            gap = line.text[position:at] if at >= 0 else " "
            position = max(at, position) + len(piece.text)
            wide = before is not None and max(piece.x0 - before.x1, before.x0 - piece.x1) > _CELL_GAP * line.size
            text += "\t" if wide else gap
            runs.extend(
                Run(word.text, len(text) + word.start, self._box(word.edges)) for word in self.characters.words(piece)
            )
            text += piece.text
            before = piece
        return LineText(text, _union([run.box for run in runs]), runs, heading)

    def _box(self, edges: Edges) -> Box:
        left, right = (min(max(edge / self.width, 0.0), 1.0) for edge in (edges[0], edges[2]))
        top, bottom = (min(max(edge / self.height, 0.0), 1.0) for edge in (edges[1], edges[3]))
        return Box(left, top, max(right - left, 0.0), max(bottom - top, 0.0))


def _union(boxes: Sequence[Box]) -> Box:
    if not boxes:
        return Box(0.0, 0.0, 0.0, 0.0)
    x, y = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.x + box.width for box in boxes), max(box.y + box.height for box in boxes)
    return Box(x, y, right - x, bottom - y)
