"""Draws the figures of a page as pictures."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import fanfold as ff
from fanfold.apps.pdf.figures.areas import Area
from fanfold.apps.pdf.reading.document import opened
from fanfold.apps.pdf.sentences import say_of_pdf

# Pixels per point: 200 dpi; and the longest side of a page that is drawn for its figures.
_SCALE = 200 / 72
_LONGEST = 6000
_MARGIN = 2.0


def drawn(path: Path, page: int, areas: Sequence[Area]) -> list[bytes]:
    """The areas of a page as PNGs."""
    import pypdfium2 as pdfium

    with opened(path) as document:
        try:
            loaded = document[page - 1]
            scale = min(_SCALE, _LONGEST / max(*loaded.get_size(), 1.0))
            whole = loaded.render(scale=scale).to_pil().convert("RGB")
        except (pdfium.PdfiumError, ValueError) as error:
            raise ff.Permanent(say_of_pdf("page_not_drawn", page=page), code="broken_page") from error
    found: list[bytes] = []
    for left, top, right, bottom in areas:
        edges = (
            max(round((left - _MARGIN) * scale), 0),
            max(round((top - _MARGIN) * scale), 0),
            min(round((right + _MARGIN) * scale), whole.width),
            min(round((bottom + _MARGIN) * scale), whole.height),
        )
        file = io.BytesIO()
        whole.crop(edges).save(file, "PNG")
        found.append(file.getvalue())
    return found
