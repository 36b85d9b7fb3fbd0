"""Reads any kind of document as numbered lines. Raises `Permanent` with the cause and the remedy if it cannot be read."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import fanfold as ff
from fanfold.apps.extract.documents import html_lines, text_lines, word_lines
from fanfold.apps.extract.documents.decoding import Decoded, decode
from fanfold.apps.extract.documents.document import Document, NewLine, RunBox
from fanfold.apps.extract.documents.document_sentences import say_of_document
from fanfold.apps.pdf.reading.document import looks_like
from fanfold.apps.pdf.reading.pdf_text import LineText, PageText, PdfText

KINDS = {
    ".pdf": "pdf",
    ".docx": "docx",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".md": "markdown",
    ".markdown": "markdown",
    ".txt": "text",
    ".text": "text",
}
"""Kinds of documents by the ending of their names."""
MOST_TEXT = 64 * 1024 * 1024
_HEAD = 4096
_PDF, _PDF_WITHIN = b"%PDF-", 1024
_NOTED_PAGES = 20


def read_document(path: Path, name: str | None = None, *, ocr: bool = True) -> Document:
    """Read a PDF, Word, HTML, Markdown or text document, whatever its file name. Call it in a child process."""
    name = name or path.name
    try:
        sha256, head = _digest(path)
    except OSError as error:
        why = error.strerror or str(error)
        raise ff.Permanent(say_of_document("document_unreadable", file=name, why=why), code="unreadable") from error
    if not head:
        raise ff.Permanent(say_of_document("document_empty", file=name), code="empty_file")
    kind = _kind(path, name, head)
    if kind == "pdf":
        return _pdf(path, name, sha256, ocr=ocr)
    if kind == "docx":
        return _checked(Document.of(name, sha256, kind, word_lines.word_lines(path, name)))
    return _text(path, name, sha256, kind)


def hash_of(path: Path) -> str:
    """The sha256 of a file, which is the key of its document."""
    return _digest(path)[0]


def is_pdf(path: Path) -> bool:
    """Whether a file is a PDF, by its content."""
    with path.open("rb") as file:
        return _PDF in file.read(_PDF_WITHIN)


def _digest(path: Path) -> tuple[str, bytes]:
    """The hash of a file, and its first bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        head = file.read(_HEAD)
        digest.update(head)
        while part := file.read(1024 * 1024):
            digest.update(part)
    return digest.hexdigest(), head


def _kind(path: Path, name: str, head: bytes) -> str:
    """The kind of a document, by its content first: names are often wrong."""
    if _PDF in head[:_PDF_WITHIN]:
        return "pdf"
    if head.startswith(b"PK\x03\x04"):
        if _is_word(path):
            return "docx"
        raise _not_a_document(name, head)
    named = KINDS.get(Path(name).suffix.lower())
    if looks_like(head) == "a web page (HTML)":
        return "html"
    if _is_binary(head):
        raise _not_a_document(name, head)
    return named if named in ("html", "markdown") else "text"


def _is_word(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "word/document.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return path.suffix.lower() == ".docx"


def _is_binary(head: bytes) -> bool:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return False
    odd = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in head)
    return b"\0" in head or odd * 20 > len(head) or looks_like(head) not in _TEXTS


_TEXTS = ("a text file", "another kind of file", "an XML file", "a web page (HTML)")


def _not_a_document(name: str, head: bytes) -> ff.Permanent:
    return ff.Permanent(say_of_document("document_kind", file=name, kind=looks_like(head)), code="not_a_document")


def _text(path: Path, name: str, sha256: str, kind: str) -> Document:
    if path.stat().st_size > MOST_TEXT:
        limit = MOST_TEXT // 1024**2
        raise ff.Permanent(say_of_document("document_too_large", file=name, limit=limit), code="too_large")
    content = path.read_bytes()
    decoded = decode(content, html_lines.declared_encoding(content) if kind == "html" else None)
    lines = {
        "html": html_lines.html_lines,
        "markdown": text_lines.markdown_lines,
        "text": text_lines.plain_lines,
    }[kind](decoded.text)
    return _checked(Document.of(name, sha256, kind, lines, notes=_decoding_notes(decoded)))


def _decoding_notes(decoded: Decoded) -> Iterator[str]:
    if decoded.replaced:
        yield say_of_document("note_replaced", count=decoded.replaced)


def _checked(document: Document) -> Document:
    if not document.text.strip():
        raise ff.Permanent(say_of_document("document_without_text", file=document.name), code="no_text")
    return document


def _pdf(path: Path, name: str, sha256: str, *, ocr: bool) -> Document:
    from fanfold.apps.pdf import read

    try:
        text = read(path, ocr="auto" if ocr else "never", name=name)
    except ff.Permanent as error:
        if error.code == "encrypted":
            raise ff.Permanent(say_of_document("document_encrypted", file=name), code="encrypted") from error
        raise
    problems = [page for page in text.pages if page.problem]
    if problems and not any(page.lines for page in text.pages):
        raise ff.Permanent(say_of_document("document_scanned", file=name), code="no_ocr")
    notes = (say_of_document("note_page", page=page.number, why=page.problem) for page in problems[:_NOTED_PAGES])
    return _checked(Document.of(name, sha256, "pdf", _pdf_lines(text), text.total, notes))


def _pdf_lines(text: PdfText) -> Iterator[NewLine]:
    """The lines of all pages. Each running line appears once: the first page's at the start, others at the end.

    Running lines name the journal, the year or the DOI, but between two pages they would interrupt a sentence.
    """
    seen: set[str] = set()
    first = text.pages[0] if text.pages else None
    if first is not None:
        yield from _new(first, seen)
    for page in text.pages:
        yield from _placed(page, page.lines)
    for page in text.pages[1:]:
        yield from _new(page, seen)


def _new(page: PageText, seen: set[str]) -> Iterator[NewLine]:
    """Running lines that are new on this page, ignoring numbers."""
    fresh = []
    for line in page.running:
        key = "".join(character for character in line.text if character.isalpha())
        if key and key not in seen:
            seen.add(key)
            fresh.append(line)
    yield from _placed(page, fresh)


def _placed(page: PageText, lines: Iterable[LineText]) -> Iterator[NewLine]:
    for line in lines:
        runs = [
            RunBox(run.start, run.start + len(run.text), run.box.x, run.box.y, run.box.width, run.box.height)
            for run in line.runs
        ]
        yield NewLine(line.text, page.number, line.heading, runs)
