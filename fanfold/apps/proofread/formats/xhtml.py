"""Finds the blocks of text in XHTML: all text that is not inside script, style or code.

Elements are blocks unless they are known to be inline, so text in unknown elements is found too. In preformatted text, as
verses and letters have it, each line is a block; preformatted code is kept, and listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from fanfold.apps.proofread.formats.book import BlockKind
from fanfold.apps.proofread.formats.markup import (
    ENTITY,
    Token,
    TokenKind,
    attribute_span,
    attributes,
    escape_text,
    partners,
    tokens_of,
    unescape_one,
)
from fanfold.apps.proofread.formats.preformatted import preformatted
from fanfold.apps.proofread.formats.segments import Piece, PieceKind, Writer
from fanfold.apps.proofread.formats.xhtml_text import CDATA, local_name, shown_in, shown_text, units

INLINE = frozenset([
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "button", "cite", "data", "del", "dfn", "em", "font", "i", "ins", "label",
    "mark", "q", "rb", "rbc", "rp", "rt", "rtc", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var",
    "switch", "case",
])  # fmt: skip
ATOMIC = frozenset([
    "ruby", "code", "kbd", "samp", "math", "svg", "img", "object", "audio", "video", "canvas", "input", "select",
    "textarea", "iframe", "map", "wbr",
])  # fmt: skip
SKIPPED = frozenset({"script", "style", "template", "noscript"})
SILENT = frozenset({"script", "style", "metadata", "defs"})
"""Elements of a drawing whose text nobody reads."""
VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
HEADS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
LONGEST_REFERENCE = 8
"""A link or raised text without letters, up to this length, is the reference of a footnote."""
CELLS = frozenset({"td", "th", "dt", "dd", "caption", "figcaption"})

_LINE_PART = re.compile(
    r"(?P<end>\r\n|[\r\n])|(?P<gap>[ \u00a0]{2,}|[ \u00a0]*\t[ \u00a0\t]*)|(?P<text>(?:(?![ \u00a0]{2,})[^\r\n\t])+)"
)


@dataclass(frozen=True)
class Found:
    """A block of text in a member: its pieces, or the place of an attribute value if there are none."""

    kind: BlockKind
    pieces: tuple[Piece, ...]
    start: int
    end: int
    twins: tuple[Found, ...] = ()
    """Copies of the same text elsewhere in the member, which change with it."""


def read_page(source: str, *, ruby_is_text: bool = False) -> tuple[list[Found], list[str]]:
    """All blocks of a document, in order, and its passages of code, which are not among them.

    A ruby is an atom, or plain text without its reading: a translation translates the word and has no use for the reading.
    """
    finder = _Finder(source, ruby_is_text)
    at = 0
    while at < len(finder.tokens):
        at = finder.step(at) + 1
    finder.end_block()
    return sorted(finder.found, key=lambda one: (one.start, -one.end)), finder.kept


class _Finder:
    """Walks through the tokens and collects the pieces of the current block until a tag ends it."""

    def __init__(self, source: str, ruby_is_text: bool) -> None:
        self.source = source
        self.ruby_is_text = ruby_is_text
        self.tokens = tokens_of(source)
        self.closing = partners(self.tokens, VOID)
        self.opening = {end: start for start, end in self.closing.items()}
        self.code, self.verse = preformatted(source, self.tokens, self.closing)
        self.outer = _block_like(self.tokens, self.closing) | self._divided()
        self.kept: list[str] = []
        self.found: list[Found] = []
        self.run: list[Piece] = []
        self.kinds: list[tuple[str, BlockKind]] = []

    def step(self, at: int) -> int:
        """Process one token or a whole element. Returns the last token processed."""
        token, end = self.tokens[at], self.closing.get(at, at)
        name = local_name(token)
        if token.kind is TokenKind.TEXT and at in self.verse:
            self._add_lines(token)
        elif token.kind is TokenKind.TEXT or self.source.startswith(CDATA, token.start):
            self.run += text_pieces(self.source, token)
        elif token.kind is TokenKind.START and (name in SKIPPED or at in self.code):
            self.end_block()
            if at in self.code and (shown := shown_in(self.source, self.tokens[at : end + 1])):
                self.kept.append(shown)
            return end
        elif self.ruby_is_text and name == "ruby" and at in self.closing:
            self.run.append(Piece(PieceKind.TEXT, token.start, self.tokens[end].end))
            return end
        elif token.kind in (TokenKind.START, TokenKind.EMPTY) and self._is_atom(at, end):
            inside = self.tokens[at : end + 1]
            self.found += _alternatives(self.source, inside)
            self.run.append(Piece(PieceKind.ATOM, token.start, inside[-1].end, at, shown_in(self.source, inside)))
            return end
        elif self._is_inline(at, name):
            kind = PieceKind.OPEN if token.kind is TokenKind.START else PieceKind.CLOSE
            self.run.append(Piece(kind, token.start, token.end, self.opening.get(at, at)))
        elif token.kind is not TokenKind.OTHER:
            self.end_block()
            _follow(self.kinds, token, name)
        return at

    def _add_lines(self, token: Token) -> None:
        """Preformatted text: each line is a block, and white space inside a line, which may align it, is an atom."""
        for found in _LINE_PART.finditer(self.source, token.start, token.end):
            first, last = found.span()
            if found.lastgroup == "end":
                self.end_block()
            elif found.lastgroup == "gap":
                self.run.append(Piece(PieceKind.ATOM, first, last, -first - 1, " "))
            else:
                self.run += text_pieces(self.source, Token(TokenKind.TEXT, first, last))

    def _divided(self) -> set[int]:
        """Inline elements of preformatted text that go over several lines: their tags end a block."""
        pairs = ((at, self.closing[at]) for at in self.verse if at in self.closing)
        return {at for at, end in pairs if "\n" in self.source[self.tokens[at].start : self.tokens[end].end]}

    def end_block(self) -> None:
        """Keep what was collected, if it has text."""
        pieces = trimmed(self.source, self.run)
        if pieces:
            kind = self.kinds[-1][1] if self.kinds else BlockKind.PARAGRAPH
            self.found.append(Found(kind, pieces, pieces[0].start, pieces[-1].end))
        self.run.clear()

    def _is_inline(self, at: int, name: str) -> bool:
        """Whether a tag begins or ends an inline element that has nothing but inline content."""
        start = self.opening.get(at, at)
        return name in INLINE and start in self.closing and start not in self.outer

    def _is_atom(self, at: int, end: int) -> bool:
        """Whether an element becomes a single marker: it has no editable text, is empty, or is a footnote reference."""
        token = self.tokens[at]
        name = local_name(token)
        if name in ATOMIC:
            return True
        if name not in INLINE or at in self.outer:
            return False
        shown = shown_in(self.source, self.tokens[at : end + 1])
        if not shown:
            return True
        found = attributes(self.source[token.start : token.end])
        if found.get("epub:type") == "noteref" or found.get("role") == "doc-noteref":
            return True
        return name in ("a", "sup", "sub") and not any(map(str.isalpha, shown)) and len(shown) <= LONGEST_REFERENCE


def text_pieces(source: str, token: Token) -> Iterator[Piece]:
    """The pieces of a text token. An entity that only the document itself defines is an atom, because no model may change it."""
    at = token.start
    for found in ENTITY.finditer(source, token.start, token.end):
        if unescape_one(found[0]) is None and not source.startswith(CDATA, token.start):
            yield Piece(PieceKind.TEXT, at, found.start())
            yield Piece(PieceKind.ATOM, found.start(), found.end(), -found.start() - 1, found[0])
            at = found.end()
    yield Piece(PieceKind.TEXT, at, token.end)


def trimmed(source: str, run: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces of a block, without white space, atoms and pairs that only surround its text, with markers numbered from 1."""
    pieces = [one for one in run if one.kind is not PieceKind.TEXT or source[one.start : one.end]]
    while pieces and (shorter := _peeled(source, pieces)) != pieces:
        pieces = shorter
    if not any(one.kind is PieceKind.TEXT and any(map(str.isalnum, _shown(source, one))) for one in pieces):
        return ()
    numbers: dict[int, int] = {}
    for one in pieces:
        if one.kind is not PieceKind.TEXT:
            numbers.setdefault(one.number, len(numbers) + 1)
    return tuple(one if one.kind is PieceKind.TEXT else replace(one, number=numbers[one.number]) for one in pieces)


WRITER = Writer(units, escape_text, escape_text, lambda text, style: escape_text(text))


def _block_like(tokens: Sequence[Token], closing: dict[int, int]) -> set[int]:
    """Inline elements that contain a block or a line break: their tags end a block, like block tags."""
    outer: set[int] = set()
    stack: list[int] = []
    for at, token in enumerate(tokens):
        while stack and closing[stack[-1]] < at:
            stack.pop()
        name = local_name(token)
        if token.kind in (TokenKind.START, TokenKind.EMPTY) and name not in INLINE | ATOMIC and name not in SKIPPED:
            outer.update(stack)
        if at in closing and name in INLINE:
            stack.append(at)
    return outer


def _alternatives(source: str, tokens: Sequence[Token]) -> Iterator[Found]:
    """The alternative texts of pictures, and the texts in drawings, each as a separate block."""
    drawing = silent = 0
    for token in tokens:
        step = {TokenKind.START: 1, TokenKind.END: -1}.get(token.kind, 0)
        drawing += step * (local_name(token) == "svg")
        silent += step * (local_name(token) in SILENT)
        if token.kind is TokenKind.TEXT and drawing and not silent:
            if pieces := trimmed(source, list(text_pieces(source, token))):
                yield Found(BlockKind.CELL, pieces, pieces[0].start, pieces[-1].end)
            continue
        if local_name(token) != "img":
            continue
        span = attribute_span(source[token.start : token.end], "alt")
        if span is not None and any(map(str.isalnum, source[token.start + span[0] : token.start + span[1]])):
            yield Found(BlockKind.ALT, (), token.start + span[0], token.start + span[1])


def _follow(kinds: list[tuple[str, BlockKind]], token: Token, name: str) -> None:
    """Keep track of the element that decides what kind of block its text is."""
    kind = (
        BlockKind.HEAD
        if name in HEADS
        else BlockKind.CELL
        if name in CELLS
        else BlockKind.TITLE
        if name == "title"
        else None
    )
    if kind is None:
        return
    if token.kind is TokenKind.START:
        kinds.append((name, kind))
    elif token.kind is TokenKind.END and kinds and kinds[-1][0] == name:
        kinds.pop()


def _shown(source: str, piece: Piece) -> str:
    return shown_text(source[piece.start : piece.end])


def _peeled(source: str, pieces: list[Piece]) -> list[Piece]:
    first, last = pieces[0], pieces[-1]
    if first.kind is PieceKind.ATOM:
        return pieces[1:]
    if last.kind is PieceKind.ATOM:
        return pieces[:-1]
    if first.kind is PieceKind.OPEN and last.kind is PieceKind.CLOSE and first.number == last.number:
        return pieces[1:-1]
    if first.kind is PieceKind.TEXT:
        text = source[first.start : first.end]
        bare = len(text) - len(text.lstrip())
        if bare:
            return ([replace(first, start=first.start + bare)] if bare < len(text) else []) + pieces[1:]
    if last.kind is PieceKind.TEXT:
        text = source[last.start : last.end]
        bare = len(text) - len(text.rstrip())
        if bare:
            return pieces[:-1] + ([replace(last, end=last.end - bare)] if bare < len(text) else [])
    return pieces
