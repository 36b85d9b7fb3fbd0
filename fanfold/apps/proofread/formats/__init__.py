"""Reads books of any format into blocks, and writes them again with changed blocks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import fanfold as ff
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, Marker, MarkerKind, Place, Tracked
from fanfold.apps.proofread.formats.source import Source, kind_of, open_source
from fanfold.apps.proofread.sentences import say_of_proofread

__all__ = [
    "Block",
    "BlockKind",
    "Book",
    "Brackets",
    "Marker",
    "MarkerKind",
    "Place",
    "Tracked",
    "read_book",
    "write_book",
]


def read_book(
    path: Path | str, encoding: str | None = None, paragraphs: str = "auto", *, ruby_is_text: bool = False
) -> Book:
    """Read a TXT, Markdown, EPUB or DOCX file. Raises Permanent with the reason if it cannot be read.

    ``ruby_is_text`` is for translations: a word with a reading is text, not a marker that nobody translates.
    """
    source = open_source(path)
    kind = kind_of(source, encoding)
    return _with_text(_read(kind, source, encoding, paragraphs, ruby_is_text), source)


def write_book(
    book: Book,
    changed: Mapping[str, str],
    target: Path | str,
    *,
    encoding: str | None = None,
    language: str | None = None,
    tracked: Tracked | None = None,
) -> Path:
    """Write the book with changed blocks to ``target``. Without changes the file is copied byte by byte.

    ``encoding`` is for text and Markdown, ``language`` for the metadata of an EPUB, ``tracked`` makes tracked changes in a DOCX.
    """
    source = open_source(book.source)
    if source.digest != book.digest:
        raise ff.Permanent(say_of_proofread("file_changed", file=source.name), code="file_changed")
    texts = {block.id: block.text for block in book.blocks}
    if unknown := changed.keys() - texts.keys():
        raise ff.Permanent(
            say_of_proofread("unknown_block", file=source.name, block=min(unknown)), code="unknown_block"
        )
    real = {name: text for name, text in changed.items() if text != texts[name]}
    if not real and not language and encoding in (None, book.encoding):
        return _put(Path(target), source.data)
    return _put(Path(target), _written(book, source, real, encoding, language, tracked))


def _read(kind: str, source: Source, encoding: str | None, paragraphs: str, ruby_is_text: bool) -> Book:
    if kind == "txt":
        from fanfold.apps.proofread.formats.text import read_text

        return read_text(source, encoding, paragraphs)
    if kind == "md":
        from fanfold.apps.proofread.formats.markdown import read_markdown

        return read_markdown(source, encoding)
    if kind == "epub":
        from fanfold.apps.proofread.formats.epub import read_epub

        return read_epub(source, ruby_is_text=ruby_is_text)
    from fanfold.apps.proofread.formats.word.docx import read_docx

    return read_docx(source, ruby_is_text=ruby_is_text)


def _written(
    book: Book,
    source: Source,
    changed: Mapping[str, str],
    encoding: str | None,
    language: str | None,
    tracked: Tracked | None,
) -> bytes:
    if book.kind == "epub":
        from fanfold.apps.proofread.formats.epub import write_epub

        return write_epub(book, source, changed, language)
    if book.kind == "docx":
        from fanfold.apps.proofread.formats.word.docx import write_docx

        return write_docx(book, source, changed, tracked)
    if book.kind == "md":
        from fanfold.apps.proofread.formats.markdown import write_markdown

        return write_markdown(book, source, changed, encoding)
    from fanfold.apps.proofread.formats.text import write_text

    return write_text(book, source, changed, encoding)


def _with_text(book: Book, source: Source) -> Book:
    if not any(block.editable for block in book.blocks):
        raise ff.Permanent(say_of_proofread("no_text", file=source.name), code="no_text")
    return book


def _put(target: Path, data: bytes) -> Path:
    """Write a file atomically."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return target
