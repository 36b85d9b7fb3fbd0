"""Reads the image of a page by OCR."""

from __future__ import annotations

import importlib.util
import io
import logging
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

import fanfold as ff
from fanfold.apps.pdf.heads.headings import Headings
from fanfold.apps.pdf.markdown import blocks, layout
from fanfold.apps.pdf.markdown import markdown_writer as rendering
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage
from fanfold.apps.pdf.markdown.running_lines import Running
from fanfold.apps.pdf.reading.angles import displayed
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.apps.pdf.tables.table_rows import absorb

if TYPE_CHECKING:
    from PIL import Image

# A mean confidence below this suggests that the page is upside down.
_CONFIDENT = 0.85
# Size of the copy in which line orientation is detected.
_SMALL = 800
# Longest side of the copy in which lines are found; they are read in the image itself. On seven pages of the corpus a side
# of 2000 takes a third longer and finds fewer words.
_DETECTED = 1440
# Word boxes vary in height, so only a clearly larger one counts as another type size.
_LARGER = 1.45


def available() -> bool:
    """Whether the ``ocr`` extra is installed, checked without importing it."""
    return all(importlib.util.find_spec(module) is not None for module in ("rapidocr", "onnxruntime"))


def recognise(jpeg: bytes) -> str:
    """Convert an image in any orientation to Markdown. An image without text gives an empty string."""
    image = _opened(jpeg)
    pieces, _ = _upright_pieces(image)
    headings = headings_of(pieces)
    page = RawPage(0, max(image.size), max(image.size), pieces)
    Running({}).drop(page, headings.body)
    found = [block for column in layout.columns(page.pieces) for block in blocks.group(absorb(column))]
    return rendering.markdown(headings.mark(found, page=0))


def lines_of(jpeg: bytes) -> list[Piece]:
    """The lines of an image as pieces. ``shown`` of each is its box in fractions of the image."""
    image = _opened(jpeg)
    pieces, angle = _upright_pieces(image)
    for piece in pieces:
        left, top, right, bottom = displayed((piece.x0, piece.y0, piece.x1, piece.y1), angle, *image.size)
        piece.shown = (left / image.width, top / image.height, right / image.width, bottom / image.height)
    return pieces


def _opened(jpeg: bytes) -> Image.Image:
    from PIL import Image, UnidentifiedImageError

    try:
        return Image.open(io.BytesIO(jpeg)).convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise ff.Permanent(say_of_pdf("picture_unreadable"), code="broken_picture") from error


def _upright_pieces(image: Image.Image) -> tuple[list[Piece], int]:
    """The text in the orientation that reads best, and its clockwise rotation; most images are read only once.

    If the first reading is good, it shows whether lines run vertically. A look before it took a tenth of the time of a page.
    """
    best: list[tuple[Piece, float]] = []
    turned = 0
    first = _read(image)
    is_good = bool(first) and _confidence(first) >= _CONFIDENT
    is_sideways = _runs_vertically([piece for piece, _ in first]) if is_good else _sideways(image)
    for angle in (90, 270) if is_sideways else (0, 180):
        read = _read(image.rotate(angle, expand=True)) if angle else first
        if _worth(read) > _worth(best):
            best, turned = read, angle
        if not read or _confidence(best) >= _CONFIDENT:
            break
    return _sized(best), turned


def _sideways(image: Image.Image) -> bool:
    """Whether the lines run vertically. Detecting lines in a small copy is enough to tell."""
    import numpy

    small = image.reduce(max(1, round(max(image.size) / _SMALL)))
    found = _engine()(numpy.asarray(small), use_cls=False, use_rec=False)
    return found.boxes is not None and _runs_vertically([_piece("", box) for box in found.boxes.tolist()])


def _runs_vertically(pieces: list[Piece]) -> bool:
    """Whether most lines run vertically."""
    tall = sum(piece.y1 - piece.y0 for piece in pieces if piece.y1 - piece.y0 > 1.5 * (piece.x1 - piece.x0))
    wide = sum(piece.x1 - piece.x0 for piece in pieces if piece.x1 - piece.x0 > 1.5 * (piece.y1 - piece.y0))
    return tall > wide


def _read(image: Image.Image) -> list[tuple[Piece, float]]:
    """Lines of text, each with its confidence."""
    import numpy

    # Upside-down pages are detected over the whole page here, which is more reliable than line by line.
    result = _engine()(numpy.asarray(image), use_cls=False, use_rec=True)
    if result.boxes is None or result.txts is None:
        return []
    return [
        (_piece(text, box), float(score))
        for text, box, score in zip(result.txts, result.boxes.tolist(), result.scores, strict=True)
        if text.strip()
    ]


def _piece(text: str, box: list[list[float]]) -> Piece:
    """A line with an upright box: the corners of a slanted one are averaged, so that it does not overlap its neighbours."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = box
    top, bottom = (y0 + y1) / 2, (y2 + y3) / 2
    return Piece(text.strip(), (x0 + x3) / 2, top, (x1 + x2) / 2, bottom, max(0.75 * (bottom - top), 1.0), False, False)


def _confidence(read: list[tuple[Piece, float]]) -> float:
    return _worth(read) / max(sum(len(piece.text) for piece, _ in read), 1)


def _worth(read: list[tuple[Piece, float]]) -> float:
    return sum(len(piece.text) * score for piece, score in read)


def _sized(read: list[tuple[Piece, float]]) -> list[Piece]:
    """Give lines of similar height the same size, and shrink the boxes, which include white space around the text."""
    pieces = [piece for piece, _ in read]
    usual = median(piece.size for piece in pieces) if pieces else 1.0
    for piece in pieces:
        if piece.size < _LARGER * usual:
            piece.size = usual
        inset = 0.12 * (piece.y1 - piece.y0)
        piece.x0, piece.y0, piece.x1, piece.y1 = piece.x0 + inset, piece.y0 + inset, piece.x1 - inset, piece.y1 - inset
    return pieces


def headings_of(pieces: list[Piece]) -> Headings:
    """Heading rules for one page: lines that are clearly larger."""
    usual = median(piece.size for piece in pieces) if pieces else 0.0
    larger = max((piece.size for piece in pieces), default=0.0)
    return Headings({"body": usual, "ladder": [larger] if larger > usual else []})


@cache
def _engine() -> Any:
    """One engine per process: loading its models takes longer than reading a page. One thread: pages run in parallel."""
    # The library logs every step to the terminal, whatever its callers have configured.
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    from rapidocr import RapidOCR

    runtime = "EngineConfig.onnxruntime"
    return RapidOCR(
        params={
            "Global.log_level": "critical",
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTED,
            f"{runtime}.intra_op_num_threads": 1,
            f"{runtime}.inter_op_num_threads": 1,
            # Without the arena every layer of the network asks the system for memory: a fifth of the time of a page.
            f"{runtime}.enable_cpu_mem_arena": True,
        }
    )
