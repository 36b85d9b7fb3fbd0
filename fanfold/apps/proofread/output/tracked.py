"""Writes a book as a Word document with tracked changes. A book in another format becomes a plain document first."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from fanfold.apps.proofread.changes import Pair
from fanfold.apps.proofread.formats import read_book, write_book
from fanfold.apps.proofread.formats.book import Tracked
from fanfold.apps.proofread.formats.markup import escape_text

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


def tracked_copy(source: Path, blocks: Iterable[tuple[str, str]], target: Path, *, ruby_is_text: bool) -> Path:
    """A copy of a Word document with tracked changes that turn its blocks into these texts."""
    return write_book(read_book(source, ruby_is_text=ruby_is_text), dict(blocks), target, tracked=_today())


def tracked_document(pairs: Sequence[Pair], folder: Path) -> Path:
    """A new Word document with a paragraph for each pair, and tracked changes between source and result."""
    shown = [pair for pair in pairs if pair.source.strip()]
    plain = folder / "plain.docx"
    _write_plain(plain, (pair.source for pair in shown))
    book = read_book(plain)
    changed = {block.id: pair.answer for block, pair in zip(book.blocks, shown, strict=True)}
    return write_book(book, changed, folder / "tracked.docx", tracked=_today())


def _today() -> Tracked:
    now = datetime.now(UTC).replace(microsecond=0, tzinfo=None)
    return Tracked(at=f"{now.isoformat()}Z")


def _write_plain(path: Path, texts: Iterable[str]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _RELATIONS)
        with archive.open("word/document.xml", "w") as sink:
            sink.write(_START.encode())
            for text in texts:
                inside = escape_text(text.replace("\n", " "))
                sink.write(f'<w:p><w:r><w:t xml:space="preserve">{inside}</w:t></w:r></w:p>'.encode())
            sink.write(_END.encode())
