"""Writes a book as a Word document with tracked changes. A book in another format becomes a plain document first."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from fanfold.apps.proofread.formats import write_book
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, MarkerKind, Tracked
from fanfold.apps.proofread.formats.word.docx_tracked import Tracking, tracked_run
from fanfold.apps.proofread.markers import filled, without_marks

_TYPES = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_RELATIONS = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
    'Target="word/document.xml"/></Relationships>'
)
_START = (
    '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
    '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
)
_END = "<w:sectPr/></w:body></w:document>"


def tracked_copy(book: Book, texts: Mapping[str, str], target: Path) -> Path:
    """A copy of a Word document with tracked changes that turn its blocks into these texts."""
    return write_book(book, texts, target, tracked=_today())


def tracked_document(book: Book, texts: Mapping[str, str], target: Path) -> Path:
    """A new Word document with all paragraphs of a book, and tracked changes that turn its blocks into these texts."""
    today = _today()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        with archive.open("word/document.xml", "w") as sink:
            sink.write(_START.encode())
            for number, block in enumerate(book.blocks):
                if block.kind is not BlockKind.GAP:
                    before, after = (
                        _plain(block, text, book) for text in (block.text, texts.get(block.id, block.text))
                    )
                    sink.write(f"<w:p>{tracked_run(before, after, Tracking(today, number))}</w:p>".encode())
            sink.write(_END.encode())
    return target


def _plain(block: Block, text: str, book: Book) -> str:
    """A text with what its markers stand for, in one line."""
    shown = [(book.brackets.opening(one.number), one.shown) for one in block.markers if one.kind is MarkerKind.ATOM]
    return without_marks(filled(text, shown), book.brackets).replace("\n", " ")


def _today() -> Tracked:
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    return Tracked(at=f"{now.isoformat()}Z")
