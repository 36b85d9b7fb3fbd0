"""Reads and writes Word documents: one block per paragraph, with markers where the formatting changes.

Only the text inside ``w:t`` is replaced, so properties, numbering, pictures and everything unknown stay byte-identical.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from fanfold.apps.proofread.formats.archive import opened, read_member, rewrite
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, Place, Tracked
from fanfold.apps.proofread.formats.epub import Member, encode_member, shown_with_markers
from fanfold.apps.proofread.formats.markup import Token, decode_markup, escape_text, tokens_of
from fanfold.apps.proofread.formats.segments import Markup, Piece, PieceKind, Writer, patched, rebuild
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.formats.word.docx_boxes import paragraphs
from fanfold.apps.proofread.formats.word.docx_runs import Run, find_runs, joined_runs, look_of, runs_text, units
from fanfold.apps.proofread.formats.word.docx_tracked import Tracking, track
from fanfold.apps.proofread.formats.xhtml import Found
from fanfold.apps.proofread.markers import free_brackets
from fanfold.apps.proofread.sentences import say_of_proofread

MAIN = "word/document.xml"
_OTHER_PARTS = re.compile(r"word/(?:footnotes|endnotes|header\d*|footer\d*)\.xml")
_DRAWN = re.compile(r"word/(?:charts/chart|diagrams/data)\d*\.xml")
_DRAWN_TEXT = re.compile(r"<(?:a:t|c:v)>([^<]*)")
_BARE_TEXT = re.compile(r"<w:t>(?=\s)|<w:t>(?=[^<]*\s</w:t>)")


def read_docx(source: Source, *, ruby_is_text: bool = False) -> Book:
    """Read a Word document: its text, footnotes, endnotes, headers and footers."""
    with opened(source) as archive:
        members = list(_members(archive, source, ruby_is_text))
        drawn = [name for name in archive.namelist() if _DRAWN.fullmatch(name) and _has_text(archive, name, source)]
    brackets = free_brackets("".join(member.source for member in members))
    blocks: list[Block] = []
    for member in members:
        for found in member.found:
            blocks.append(_block(str(len(blocks) + 1), member, found, brackets))
    notes = (say_of_proofread("drawings_kept", file=source.name, count=len(drawn)),) if drawn else ()
    return Book(
        "docx",
        source.path,
        source.digest,
        tuple(blocks),
        brackets=brackets,
        notes=notes,
        ruby_is_text=ruby_is_text,
    )


def write_docx(book: Book, source: Source, changed: Mapping[str, str], tracked: Tracked | None = None) -> bytes:
    """The document with changed blocks, or with tracked changes that turn the source into them."""
    with opened(source) as archive:
        members = list(_members(archive, source, book.ruby_is_text))
    numbers = iter(range(1, len(book.blocks) + 1))
    result = {}
    for member in members:
        own = {str(next(numbers)): found for found in member.found}
        text = _patched(member, own, changed, book.brackets, tracked)
        if text != member.source:
            result[member.name] = encode_member(text, member)
    return rewrite(source, result)


def _has_text(archive: zipfile.ZipFile, name: str, source: Source) -> bool:
    text = decode_markup(read_member(archive, name, source))[0]
    return any(any(map(str.isalpha, found)) for found in _DRAWN_TEXT.findall(text))


def _members(archive: zipfile.ZipFile, source: Source, ruby_is_text: bool) -> Iterable[Member]:
    pieces_of = partial(_pieces, ruby_is_text=ruby_is_text)
    names = [MAIN, *sorted(name for name in archive.namelist() if _OTHER_PARTS.fullmatch(name))]
    for name in names:
        text, encoding, errors = decode_markup(read_member(archive, name, source))
        yield Member(name, text, encoding, errors, tuple(paragraphs(text, tokens_of(text), pieces_of)))


def _pieces(source: str, tokens: list[Token], *, ruby_is_text: bool) -> tuple[Piece, ...]:
    """The pieces of a paragraph: runs in its main format are plain text; other runs are text between a pair of markers."""
    runs = joined_runs(source, find_runs(source, tokens, ruby_is_text=ruby_is_text))
    usual = _usual_styles(source, runs)
    pieces: list[Piece] = []
    for run in runs:
        pieces += _run_pieces(run, usual)
    return _finished(source, pieces)


def _usual_styles(source: str, runs: Iterable[Run]) -> dict[int, str]:
    """The format that most characters have, for each container (the paragraph, a link)."""
    counts: dict[int, Counter[str]] = {}
    styles: dict[tuple[int, str], str] = {}
    for run in runs:
        if run.kind is PieceKind.TEXT:
            look = look_of(run.style)
            counts.setdefault(run.container, Counter())[look] += len(runs_text(source[run.start : run.end]))
            styles.setdefault((run.container, look), run.style)
    return {container: styles[container, count.most_common(1)[0][0]] for container, count in counts.items()}


def _run_pieces(run: Run, usual: Mapping[int, str]) -> list[Piece]:
    if run.kind is not PieceKind.TEXT:
        return [Piece(run.kind, run.start, run.end, run.number, run.shown, usual.get(run.number, ""))]
    text = Piece(PieceKind.TEXT, run.start, run.end, style=run.style)
    if look_of(run.style) == look_of(usual[run.container]):
        return [text]
    number = -run.start - 1
    return [
        Piece(PieceKind.OPEN, run.start, run.start, number, style=run.style),
        text,
        Piece(PieceKind.CLOSE, run.end, run.end, number),
    ]


def _finished(source: str, pieces: list[Piece]) -> tuple[Piece, ...]:
    """The pieces without atoms and pairs that only surround the text, numbered from 1; empty if there is no text."""
    while pieces and (shorter := _peeled(pieces)) != pieces:
        pieces = shorter
    text = [runs_text(source[one.start : one.end]) for one in pieces if one.kind is PieceKind.TEXT]
    if not any(map(str.isalnum, "".join(text))):
        return ()
    numbers: dict[int, int] = {}
    for one in pieces:
        if one.kind is not PieceKind.TEXT:
            numbers.setdefault(one.number, len(numbers) + 1)
    return tuple(one if one.kind is PieceKind.TEXT else replace(one, number=numbers[one.number]) for one in pieces)


def _peeled(pieces: list[Piece]) -> list[Piece]:
    first, last = pieces[0], pieces[-1]
    if first.kind is PieceKind.ATOM:
        return pieces[1:]
    if last.kind is PieceKind.ATOM:
        return pieces[:-1]
    if first.kind is PieceKind.OPEN and last.kind is PieceKind.CLOSE and first.number == last.number:
        return pieces[1:-1]
    return pieces


def _block(name: str, member: Member, found: Found, brackets: Brackets) -> Block:
    text, markers = shown_with_markers(member.source, found.pieces, brackets, runs_text)
    kind = BlockKind.NOTE if member.name != MAIN and found.kind is BlockKind.PARAGRAPH else found.kind
    return Block(name, text, Place(found.start, found.end, member.name), markers, kind)


def _patched(
    member: Member, own: Mapping[str, Found], changed: Mapping[str, str], brackets: Brackets, tracked: Tracked | None
) -> str:
    changes = [
        (place, (changed[name], int(name), copy))
        for name, found in own.items()
        if name in changed
        for copy, place in enumerate((found, *found.twins))
    ]
    changes.sort(key=lambda one: (one[0].start, -one[0].end))

    def write(found: Found, new: tuple[str, int, int], markup: Markup | None) -> str:
        text, number, copy = new
        if tracked is not None:
            return track(member.source, found.pieces, text, brackets, Tracking(tracked, number, copy), markup)
        made = rebuild(member.source, found.pieces, text, brackets, WRITER, markup)
        return _BARE_TEXT.sub('<w:t xml:space="preserve">', made)

    return patched(member.source, (0, len(member.source)), changes, write)


def _beside(text: str) -> str:
    return f'<w:t xml:space="preserve">{escape_text(text)}</w:t>'


def _fresh(text: str, style: str) -> str:
    return f"<w:r>{style}{_beside(text)}</w:r>" if text else ""


WRITER = Writer(units, escape_text, _beside, _fresh)
