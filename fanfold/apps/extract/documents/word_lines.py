"""Reads Word documents in the order of their text, if the extra ``fanfold[office]`` is installed."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.extract.documents.document import NewLine
from fanfold.apps.extract.documents.document_sentences import say_of_document
from fanfold.apps.extract.documents.text_lines import divided

MOST_BYTES = 512 * 1024 * 1024
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_MARKS = {f"{_WORD}tab": "\t", f"{_WORD}br": "\n", f"{_WORD}cr": "\n", f"{_WORD}noBreakHyphen": "-"}


def available() -> bool:
    """Whether the ``office`` extra is installed, checked without importing it."""
    return importlib.util.find_spec("docx") is not None


def word_lines(path: Path, name: str) -> Iterator[NewLine]:
    """Paragraphs and table rows; inserted text is included, deleted text is not."""
    if not available():
        raise ff.Permanent(say_of_document("document_needs_office", file=name), code="needs_office")
    document = _opened(path, name)
    for block in document.iter_inner_content():
        yield from _block(block)


def _opened(path: Path, name: str) -> Any:
    import docx

    try:
        with zipfile.ZipFile(path) as archive:
            if sum(member.file_size for member in archive.infolist()) > MOST_BYTES:
                limit = MOST_BYTES // 1024**2
                raise ff.Permanent(say_of_document("document_too_large", file=name, limit=limit), code="too_large")
        return docx.Document(str(path))
    except ff.Permanent:
        raise
    except Exception as error:  # python-docx may raise any exception of its parts
        raise ff.Permanent(say_of_document("document_damaged", file=name), code="broken_document") from error


def _block(block: Any) -> Iterator[NewLine]:
    if hasattr(block, "rows"):
        for row in block.rows:
            # A merged cell is listed once for each column that it spans.
            cells = list(dict.fromkeys(cell._tc for cell in row.cells))
            texts = (" ".join("".join(_text(cell)).split()) for cell in cells)
            yield from divided("\t".join(texts))
        return
    style = (block.style.name or "") if block.style is not None else ""
    heading = style.lower().startswith(("heading", "title", "标题"))
    for line in "".join(_text(block._p)).split("\n"):
        yield from divided(line, heading=heading and bool(line.strip()))


def _text(element: Any) -> Iterator[str]:
    for child in element:
        if child.tag == f"{_WORD}t":
            yield child.text or ""
        elif child.tag in _MARKS:
            yield _MARKS[child.tag]
        elif child.tag != _FALLBACK and isinstance(child.tag, str):
            yield from _text(child)
            if child.tag == f"{_WORD}p":
                yield "\n"
