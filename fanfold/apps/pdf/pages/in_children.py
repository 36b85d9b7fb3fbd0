"""The functions that read documents in child processes. They import the reading code there, so that workers start sooner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fanfold.apps.pdf.figures.areas import Area
    from fanfold.apps.pdf.inputs.parts import Parts
    from fanfold.apps.pdf.pages.page_text import PageText
    from fanfold.apps.pdf.reading.document import Examined


def examined(
    path: Path, pages: str, *, limit_pages: int, name: str, few: int, figures: bool
) -> tuple[Examined, list[PageText]]:
    """Examine a document. If only a few pages are wanted, convert them at once: that is quicker than another call."""
    from fanfold.apps.pdf.pages import textlayer
    from fanfold.apps.pdf.reading import document

    found = document.examine(path, pages, limit_pages=limit_pages, name=name)
    if len(found.pages) > few:
        return found, []
    survey = found.survey | ({"figures": True} if figures else {})
    return found, textlayer.convert(path, found.pages, survey)


def page_texts(path: Path, pages: Sequence[int], survey: dict[str, Any]) -> list[PageText]:
    """Convert the text layers of some pages."""
    from fanfold.apps.pdf.pages import textlayer

    return textlayer.convert(path, pages, survey)


def recognised(jpeg: bytes) -> str:
    """Read the image of a page by OCR."""
    from fanfold.apps.pdf.pages import ocr

    return ocr.recognise(jpeg)


def drawn(path: Path, page: int, areas: Sequence[Area]) -> list[bytes]:
    """Draw some areas of a page."""
    from fanfold.apps.pdf.figures import drawing

    return drawing.drawn(path, page, areas)


def document_parts(path: Path, kind: str, pages: str, *, name: str, limit_pages: int) -> Parts:
    """Read the parts of an office document, a web page or an e-book."""
    from fanfold.apps.pdf.inputs.parts import read_parts

    return read_parts(path, kind, pages, name=name, limit_pages=limit_pages)
