"""Finds the paragraphs of a Word document, also those in text boxes.

Word stores a text box twice, for new and old programs. The copies are one block, and a change is written to both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from fanfold.apps.proofread.formats.book import BlockKind
from fanfold.apps.proofread.formats.markup import Token, TokenKind, partners
from fanfold.apps.proofread.formats.segments import Piece
from fanfold.apps.proofread.formats.xhtml import Found

BOX = "w:txbxContent"
ALTERNATIVES = "mc:AlternateContent"
_HEAD_STYLE = re.compile(r"<w:pStyle\s+w:val=\"(?:Heading|Title|Subtitle|标题|heading |[1-9]\")", re.IGNORECASE)

Pieces = Callable[[str, list[Token]], tuple[Piece, ...]]


def paragraphs(source: str, tokens: list[Token], pieces_of: Pieces) -> Iterator[Found]:
    """The paragraphs with text, each followed by those of the text boxes in it."""
    closing = partners(tokens)
    cells = 0
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token.name == "w:tc":
            cells += {TokenKind.START: 1, TokenKind.END: -1}.get(token.kind, 0)
        if token.name == "w:p" and at in closing:
            end = closing[at]
            inside = tokens[at + 1 : end]
            if pieces := pieces_of(source, inside):
                kind = _kind(source[token.start : tokens[end].end], cells > 0)
                yield Found(kind, pieces, pieces[0].start, pieces[-1].end)
            if any(one.name == BOX for one in inside):
                yield from _boxes(source, inside, pieces_of)
            at = end
        at += 1


def _kind(source: str, in_table: bool) -> BlockKind:
    if _HEAD_STYLE.search(source.partition(f"<{BOX}")[0]):
        return BlockKind.HEAD
    return BlockKind.CELL if in_table else BlockKind.PARAGRAPH


def _boxes(source: str, tokens: list[Token], pieces_of: Pieces) -> Iterator[Found]:
    """The paragraphs in the text boxes of a paragraph."""
    closing = partners(tokens)
    at = 0
    while at < len(tokens):
        inside = tokens[at + 1 : closing.get(at, at)]
        if tokens[at].name == ALTERNATIVES and at in closing:
            yield from _alternatives(source, inside, pieces_of)
            at = closing[at]
        elif tokens[at].name == BOX and at in closing:
            yield from paragraphs(source, inside, pieces_of)
            at = closing[at]
        at += 1


def _alternatives(source: str, tokens: list[Token], pieces_of: Pieces) -> Iterator[Found]:
    """The paragraphs of the first copy of a drawing, with their twins in the others; then those that have no twin."""
    closing = partners(tokens)
    copies: list[list[Found]] = []
    at = 0
    while at < len(tokens):
        if at in closing:
            copies.append(list(_boxes(source, tokens[at + 1 : closing[at]], pieces_of)))
            at = closing[at]
        at += 1
    first, *others = copies or [[]]
    for found in first:
        twins = [twin for other in others if (twin := _twin(source, found, other)) is not None]
        yield replace(found, twins=tuple(twins))
    yield from (found for other in others for found in other)


def _twin(source: str, found: Found, others: list[Found]) -> Found | None:
    """The paragraph with the same markup, taken out of the list."""
    wanted = _raw(source, found)
    at = next((at for at, other in enumerate(others) if _raw(source, other) == wanted), None)
    return None if at is None else others.pop(at)


def _raw(source: str, found: Found) -> Sequence[str]:
    return [source[piece.start : piece.end] for piece in found.pieces]
