"""Reads and writes Word documents: one block per paragraph, with markers where the formatting changes.

Only the text inside ``w:t`` is replaced, so properties, numbering, pictures and everything unknown stay byte-identical.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from fanfold.apps.proofread.formats.archive import opened, read_member, rewrite
from fanfold.apps.proofread.formats.book import Block, BlockKind, Book, Brackets, Place, Tracked
from fanfold.apps.proofread.formats.epub import Member, encode_member, shown_with_markers
from fanfold.apps.proofread.formats.markup import Token, TokenKind, decode_markup, escape_text, partners, tokens_of
from fanfold.apps.proofread.formats.segments import Piece, PieceKind, Writer, rebuild
from fanfold.apps.proofread.formats.source import Source
from fanfold.apps.proofread.formats.word.docx_runs import Run, find_runs, joined_runs, look_of, runs_text, units
from fanfold.apps.proofread.formats.word.docx_tracked import track
from fanfold.apps.proofread.formats.xhtml import Found
from fanfold.apps.proofread.markers import free_brackets
from fanfold.apps.proofread.sentences import say_of_proofread

MAIN = "word/document.xml"
_OTHER_PARTS = re.compile(r"word/(?:footnotes|endnotes|header\d*|footer\d*)\.xml")
_HEAD_STYLE = re.compile(r"<w:pStyle\s+w:val=\"(?:Heading|Title|Subtitle|标题|heading |[1-9]\")", re.IGNORECASE)
_BARE_TEXT = re.compile(r"<w:t>(?=\s)|<w:t>(?=[^<]*\s</w:t>)")


def read_docx(source: Source) -> Book:
    """Read a Word document: its text, footnotes, endnotes, headers and footers."""
    with opened(source) as archive:
        members = list(_members(archive, source))
    brackets = free_brackets("".join(member.source for member in members))
    blocks: list[Block] = []
    for member in members:
        for found in member.found:
            blocks.append(_block(str(len(blocks) + 1), member, found, brackets))
    boxes = sum(member.source.count("<w:txbxContent") for member in members)
    reports = (say_of_proofread("text_boxes", file=source.name, count=boxes),) if boxes else ()
    return Book("docx", source.path, source.digest, tuple(blocks), brackets=brackets, reports=reports)


def write_docx(book: Book, source: Source, changed: Mapping[str, str], tracked: Tracked | None = None) -> bytes:
    """The document with changed blocks, or with tracked changes that turn the source into them."""
    with opened(source) as archive:
        members = list(_members(archive, source))
    numbers = iter(range(1, len(book.blocks) + 1))
    result = {}
    for member in members:
        own = {str(next(numbers)): found for found in member.found}
        text = _patched(member, own, changed, book.brackets, tracked)
        if text != member.source:
            result[member.name] = encode_member(text, member)
    return rewrite(source, result)


def _members(archive: zipfile.ZipFile, source: Source) -> Iterable[Member]:
    names = [MAIN, *sorted(name for name in archive.namelist() if _OTHER_PARTS.fullmatch(name))]
    for name in names:
        text, encoding, errors = decode_markup(read_member(archive, name, source))
        yield Member(name, text, encoding, errors, tuple(_paragraphs(text)))


def _paragraphs(source: str) -> Iterable[Found]:
    """The paragraphs with text. Paragraphs inside another one (text boxes) belong to its markup."""
    tokens = tokens_of(source)
    closing = partners(tokens)
    cells = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.name == "w:tc":
            cells += {TokenKind.START: 1, TokenKind.END: -1}.get(token.kind, 0)
        if token.name == "w:p" and at in closing:
            end = closing[at]
            pieces = _pieces(source, tokens[at + 1 : end])
            if pieces:
                kind = _kind(source[token.start : tokens[end].end], cells > 0)
                yield Found(kind, pieces, pieces[0].start, pieces[-1].end)
            at = end
        at += 1


def _kind(source: str, in_table: bool) -> BlockKind:
    if _HEAD_STYLE.search(source):
        return BlockKind.HEAD
    return BlockKind.CELL if in_table else BlockKind.PARAGRAPH


def _pieces(source: str, tokens: list[Token]) -> tuple[Piece, ...]:
    """The pieces of a paragraph: runs in its main format are plain text; other runs are text between a pair of markers."""
    runs = joined_runs(source, find_runs(source, tokens))
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
    pieces, at = [], 0
    for name, found in own.items():
        if name not in changed:
            continue
        if tracked is None:
            made = rebuild(member.source, found.pieces, changed[name], brackets, WRITER)
            made = _BARE_TEXT.sub('<w:t xml:space="preserve">', made)
        else:
            made = track(member.source, found.pieces, changed[name], brackets, tracked, int(name))
        pieces += [member.source[at : found.start], made]
        at = found.end
    return "".join([*pieces, member.source[at:]])


def _beside(text: str) -> str:
    return f'<w:t xml:space="preserve">{escape_text(text)}</w:t>'


def _fresh(text: str, style: str) -> str:
    return f"<w:r>{style}{_beside(text)}</w:r>" if text else ""


WRITER = Writer(units, escape_text, _beside, _fresh)
