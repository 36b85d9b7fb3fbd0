"""Puts a changed paragraph back into its markup: markers become tags again, and unchanged characters keep their spelling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

import fanfold as ff
from fanfold.apps.proofread.formats.book import Brackets
from fanfold.apps.proofread.markers import marker_pattern
from fanfold.apps.proofread.sentences import say_of_proofread


class PieceKind(Enum):
    """A run of text, or a tag or element that is a marker in the text."""

    TEXT = "text"
    OPEN = "open"
    CLOSE = "close"
    ATOM = "atom"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a paragraph's source. ``number`` is its marker number; ``shown`` is the visible text of an atom."""

    kind: PieceKind
    start: int
    end: int
    number: int = 0
    shown: str = ""
    style: str = ""
    """Markup that new text needs where the source has none (DOCX: the properties of a run)."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One character of the text with its spelling in the source; ``shown`` is empty for markup that stays in place."""

    shown: str
    raw: str
    inside: bool = True
    """Whether text may be written directly beside it."""


@dataclass(frozen=True)
class Writer:
    """How a format writes text: units of a piece of source, and new text next to text, next to markup, or on its own."""

    units: Callable[[str], Sequence[Unit]]
    escape: Callable[[str], str]
    beside: Callable[[str], str]
    fresh: Callable[[str, str], str]


Markup = Callable[[Piece], str]
"""Gives the source of a marker."""


def rebuild(
    source: str,
    pieces: Sequence[Piece],
    text: str,
    brackets: Brackets,
    writer: Writer,
    markup: Markup | None = None,
) -> str:
    """The source of a paragraph with the new text ``text``. Raises Permanent if its markers differ from the source.

    ``markup`` gives the source of a marker, if something inside it is changed too, such as the alternative text of a picture.
    """
    marks = [piece for piece in pieces if piece.kind is not PieceKind.TEXT]
    by_key = {_key(piece): piece for piece in marks}
    old = {"": _Segment(source, pieces, None)} | {_key(piece): _Segment(source, pieces, piece) for piece in marks}
    found = list(marker_pattern(brackets).finditer(text))
    keys = [match[1] + match[2] for match in found]
    if sorted(keys) != sorted(by_key):
        raise ff.Permanent(say_of_proofread("wrong_markers", text=text[:60]), code="wrong_markers")
    ends = [match.start() for match in found] + [len(text)]
    starts = [0] + [match.end() for match in found]
    out = []
    for key, start, end in zip(["", *keys], starts, ends, strict=True):
        if key:
            piece = by_key[key]
            out.append(source[piece.start : piece.end] if markup is None else markup(piece))
        out.append(old[key].with_text(text[start:end], writer))
    return "".join(out)


class Placed(Protocol):
    """A block of a source, by its offsets."""

    @property
    def start(self) -> int:
        """Where it begins."""

    @property
    def end(self) -> int:
        """Where it ends."""


Block = TypeVar("Block", bound=Placed)
New = TypeVar("New")


def patched(
    source: str,
    span: tuple[int, int],
    changes: Sequence[tuple[Block, New]],
    write: Callable[[Block, New, Markup | None], str],
) -> str:
    """A part of a source with the changes inside it, in order. A block may contain others, such as texts of pictures.

    ``write`` gives the source of one block with what is new in it, and uses the function it is given for the markup in it.
    """
    pieces, at, number = [], span[0], 0
    while number < len(changes):
        found, new = changes[number]
        after = number + 1
        while after < len(changes) and changes[after][0].start < found.end:
            after += 1
        inner = changes[number + 1 : after]

        def markup(piece: Piece, inner: Sequence[tuple[Block, New]] = inner) -> str:
            inside = [one for one in inner if piece.start <= one[0].start and one[0].end <= piece.end]
            return patched(source, (piece.start, piece.end), inside, write)

        pieces += [source[at : found.start], write(found, new, markup if inner else None)]
        at, number = found.end, after
    return "".join([*pieces, source[at : span[1]]])


class _Segment:
    """The source between one marker and the next."""

    def __init__(self, source: str, pieces: Sequence[Piece], mark: Piece | None) -> None:
        at = pieces.index(mark) if mark is not None else -1
        following = next((one for one in pieces[at + 1 :] if one.kind is not PieceKind.TEXT), None)
        start = mark.end if mark is not None else pieces[0].start
        end = following.start if following is not None else pieces[-1].end
        self.raw = source[start : max(start, end)]
        self.style = _style(pieces, at)

    def with_text(self, text: str, writer: Writer) -> str:
        units = writer.units(self.raw)
        shown = "".join(unit.shown for unit in units)
        if shown == text:
            return self.raw
        if not shown:
            return self.raw + writer.fresh(text, self.style)
        return _with_changes(units, shown, text, writer)


def _with_changes(units: Sequence[Unit], shown: str, text: str, writer: Writer) -> str:
    """The units with a new text: unchanged characters keep their spelling, and markup between them stays."""
    from rapidfuzz.distance import Levenshtein

    before: dict[int, str] = {}
    gone: set[int] = set()
    for step in Levenshtein.opcodes(shown, text):
        if step.tag != "equal":
            before[step.src_start] = before.get(step.src_start, "") + text[step.dest_start : step.dest_end]
            gone.update(range(step.src_start, step.src_end))
    out: list[str] = []
    number = 0
    for unit in units:
        if not unit.shown:
            out.append(unit.raw)
            continue
        replaced = number in gone
        # Write text inserted before the first character or replacing this one.
        new = before.get(number, "") if number == 0 or replaced else ""
        after = before.get(number + 1, "") if number + 1 not in gone else ""
        out += [_beside(new, unit, writer), "" if replaced else unit.raw, _beside(after, unit, writer)]
        number += 1
    return "".join(out)


def _beside(text: str, unit: Unit, writer: Writer) -> str:
    if not text:
        return ""
    return writer.escape(text) if unit.inside else writer.beside(text)


def _style(pieces: Sequence[Piece], at: int) -> str:
    """The style of text at a place: the style of the pair around it, else of the paragraph."""
    depth = 0
    for piece in reversed(pieces[: at + 1]):
        if piece.kind is PieceKind.CLOSE:
            depth += 1
        elif piece.kind is PieceKind.OPEN:
            if depth == 0:
                return piece.style
            depth -= 1
    return next((piece.style for piece in pieces if piece.kind is PieceKind.TEXT and piece.style), "")


def _key(piece: Piece) -> str:
    return f"/{piece.number}" if piece.kind is PieceKind.CLOSE else str(piece.number)
