"""Reads a page's pieces of text, with position and font, and its tables from the layout engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from fanfold.apps.pdf.heads.faces import face
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table, style
from fanfold.apps.pdf.reading import angles as turning
from fanfold.apps.pdf.reading import drawn_rules
from fanfold.apps.pdf.reading.column_edges import edges_of_columns
from fanfold.apps.pdf.reading.drawn_bullets import bullets
from fanfold.apps.pdf.reading.structure_tree import heading_levels
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.model.shortage import shortage


def read(path: Path, pages: Sequence[int], *, forms: bool = False) -> tuple[dict[int, RawPage], dict[int, str]]:
    """The pages that could be read, and the reasons for the others, by page number."""
    try:
        result = _parse(path, pages, forms)
        turned = {page.page_num: angle for page in result.pages if (angle := _turned(page.text_items))}
        # Vertical lines come as pieces out of order, so read the page again as if it were rotated.
        again = _parse(path, list(turned), forms, turned).pages if turned else []
    except Exception as error:
        if shortage(error) is not None:
            raise
        # pdfium has opened the file, so its pages can still be rendered and read from the image.
        return {}, dict.fromkeys(pages, say_of_pdf("layer_unreadable", why=str(error)))
    straight = [page for page in result.pages if page.page_num not in turned]
    found = {page.page_num: _raw_page(page, turned.get(page.page_num, 0)) for page in [*straight, *again]}
    problems: dict[int, str] = {
        error.page_num: say_of_pdf("page_damaged", why=error.message) for error in result.page_errors
    }
    return found, problems


def _parse(path: Path, pages: Sequence[int], forms: bool, turned: dict[int, int] | None = None) -> Any:
    """Let liteparse read the pages. Only its pieces and their positions are used, not its Markdown."""
    from liteparse import LiteParse

    parser = LiteParse(
        ocr_enabled=False,
        quiet=True,
        output_format="json",
        image_mode="off",
        extract_blocks=True,
        extract_text_metadata=True,
        extract_form_fields=forms,
        extract_vector_graphics=True,
        extract_structure_tree=True,
        # Repeated lines are judged from the survey, so that every window sees the same ones.
        keep_headers_footers=True,
        continue_on_page_error=True,
        page_orientation_corrections=list(turned.items()) if turned else None,
        max_pages=max(pages),
        target_pages=",".join(map(str, pages)),
    )
    native = getattr(parser, "_native", None)
    if native is None:
        return parser.parse(path)
    # The public call copies every item into dataclasses, which takes a third of the time of a page.
    return native.parse(str(path.absolute()))


def _raw_page(page: Any, turned: int = 0) -> RawPage:
    raw = RawPage(page.page_num, page.width, page.height)
    levels = heading_levels(page.structure_tree)
    found = ((_piece(item, levels), float(item.rotation)) for item in page.text_items)
    levelled = turning.place(raw, [(piece, angle) for piece, angle in found if piece.text])
    if turned:
        _remember_places(raw, turned)
    raw.filled_in = [piece for form_field in page.form_fields or () for piece in _filled_in(form_field)]
    if not levelled and page.vector_graphics is not None:
        raw.filled_in += bullets(page.vector_graphics.shapes, raw.pieces)
    raw.pieces.extend(raw.filled_in)
    for block in page.blocks or ():
        if block.kind == "table" and block.bbox is not None and block.rows:
            raw.tables.append(_table(block))
    if not levelled and page.vector_graphics is not None:
        edges = edges_of_columns(page.vector_graphics.shapes, raw.pieces)
        raw.rules = drawn_rules.rules_of(page.vector_graphics.lines, edges)
        drawn_rules.underline(raw.pieces, raw.rules)
    return raw


def _remember_places(raw: RawPage, turned: int) -> None:
    """Record where the pieces of a page that was read in another orientation are displayed."""
    width, height = (raw.height, raw.width) if turned in (90, 270) else (raw.width, raw.height)
    for piece in itertools.chain(raw.pieces, *(group.pieces for group in raw.turned)):
        box = piece.shown or (piece.x0, piece.y0, piece.x1, piece.y1)
        piece.shown = turning.displayed(box, turned, width, height)


def _turned(items: Sequence[Any]) -> int:
    """Rotation of most of the text."""
    rotations = [item.rotation for item in items]
    if not any(rotations):
        return 0
    lengths: dict[int, int] = {0: 1}
    for item, rotation in zip(items, rotations, strict=True):
        angle = round(rotation) % 360
        lengths[angle] = lengths.get(angle, 0) + len(item.text)
    angle = max(lengths, key=lengths.__getitem__)
    return angle if angle in (90, 180, 270) else 0


def _piece(item: Any, levels: dict[int, int]) -> Piece:
    x, y, width, height = item.x, item.y, item.width, item.height
    name = item.font_name or ""
    bold, mono, _ = style(name)
    size = item.font_height or height or 1.0
    # Some fonts claim a box far taller than their letters, which would merge separate lines.
    if height > 1.6 * size and not round(item.rotation) % 360:
        y, height = y + (height - size) / 2, size
    level = levels.get(item.mcid, 0) if levels else 0
    return Piece(
        item.text.strip(), x, y, x + width, y + height, size, bold, mono, None, None, level, face(name, item.fill_color)
    )


def _filled_in(form_field: Any) -> Iterator[Piece]:
    """Values and ticks of form fields, which are drawn on the page but are not part of its text."""
    box = form_field.rect
    if box is None:
        return
    kind = getattr(form_field, "field_type", None) or form_field.type
    if kind in ("checkbox", "radiobutton"):
        values = ["☒" if form_field.checked else "☐"]
    elif kind in ("text", "combobox", "listbox"):
        values = (form_field.value or "").split("\n")
    else:
        return
    height = box.height / len(values)
    size = min(0.7 * height, 10.0)
    for index, value in enumerate(values):
        if value.strip():
            top = box.y + index * height + (height - size) / 2
            right = box.x + min(box.width, 0.5 * size * len(value))
            yield Piece(value.strip(), box.x, top, right, top + size, size, False, False)


def _table(block: Any) -> Table:
    rows = [row for row in [block.header, *block.rows] if row]
    columns: list[tuple[float, float]] = []
    for cells in itertools.zip_longest(*rows):
        boxes = [cell.bbox for cell in cells if cell is not None and cell.bbox is not None]
        left = min((box.x for box in boxes), default=0.0)
        columns.append((left, max((box.x + box.width for box in boxes), default=left)))
    box = block.bbox
    texts = [[cell.text for cell in row] for row in rows]
    return Table(texts, columns, box.x, box.y, box.x + box.width, box.y + box.height)
