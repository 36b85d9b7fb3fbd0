"""Pieces of text and tables on a page, with their positions and fonts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

# Font names reveal the style: "Times-BoldMT", TeX's "CMBX12" and "SFTT1000", "Consolas".
_BOLD = re.compile(
    r"bold|black|heavy|demi|[a-z]{2}bx\d|sx?bx|cmssbx|-bd|hei(?![a-z])|-medi(?![a-z])|-b$|-bi$"
    r"|(?<![a-z])p[a-z]{2}b[io]?\d|^(?:[a-z]{6}\+)?lin\w+?t(?:z?b|zi?b|bo|bi)$|cmb\d|cmssdc",
    re.IGNORECASE,
)
_MONO = re.compile(
    r"courier|mono(?!type)|nimbusmon|monaco|consol|menlo|typewriter|[a-z]{2}tt\d|fixed|lettergothic|sourcecode",
    re.IGNORECASE,
)
_ITALIC = re.compile(
    r"italic|oblique|slanted|[a-z]{2}(?:ti|sl|bxti|bxsl|itt)\d|kursiv|-it(?![a-z])|-ital|-bi(?![a-z])|-i(?![a-z])|^(?:[a-z]{6}\+)?lin\w+?ti$",
    re.IGNORECASE,
)
BOLD, ITALIC, MONO, SUP, SUB = 1, 2, 4, 8, 16
"""How a character is set; a number of several of them."""
LINK = 32
"""Times the number of its link, from 1, for a character of a link."""


@dataclass(slots=True)
class Piece:
    """A stretch of text on one line. ``bold`` and ``mono`` describe its first character until `exact` has checked all of it."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    mono: bool
    flags: list[int] | None = None
    """How each character is set; None if nothing is."""
    shown: tuple[float, float, float, float] | None = None
    """Left, top, right and bottom on the displayed page, if the piece was turned or levelled."""
    tagged_level: int = 0
    """Level of the heading that the document's own structure says it is part of; 0 if it says nothing of the kind."""
    face: str = ""
    """Font and colour; empty if not known."""
    underline: tuple[float, float] | None = None
    """Start and end of the rule drawn right below it."""


@dataclass(slots=True)
class Table:
    """A table: rows of cells, with the header row first, and the start and end of each column."""

    rows: list[list[str]]
    columns: list[tuple[float, float]]
    x0: float
    y0: float
    x1: float
    y1: float
    marked: list[list[str]] | None = None
    """The cells as Markdown; None if only their text is known."""
    spans: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Rows and columns that a cell covers, by its row and column, if more than one. The others that it covers are empty."""
    heads: int = 1
    """How many rows are the header."""
    pieces: list[Piece] | None = None
    """Its pieces; None if only its area is known."""
    is_ruled: bool = False
    """Whether rules enclose it, so that no line beside it belongs to it."""
    is_drawn: bool = False
    """Whether rules separate its columns too."""


@dataclass(slots=True)
class Rules:
    """The straight lines drawn on a page: (y, left, right) of the level ones and (x, top, bottom) of the upright ones."""

    level: list[tuple[float, float, float]] = field(default_factory=list)
    upright: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass(slots=True)
class Turned:
    """Pieces rotated by another angle than most of their page, turned upright."""

    angle: int
    """In degrees, clockwise."""
    pieces: list[Piece]
    height: float
    """Height of the page after this rotation."""


@dataclass(slots=True)
class RawPage:
    """One page before any interpretation."""

    number: int
    width: float
    height: float
    pieces: list[Piece] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    """Tables of the layout engine, which takes some prose and lists for tables."""
    rules: Rules = field(default_factory=Rules)
    turned: list[Turned] = field(default_factory=list)
    filled_in: list[Piece] = field(default_factory=list)
    """Form field values and drawn bullets, which are not part of the page's own text."""
    links: list[str] = field(default_factory=list)
    """Addresses of the page's links, in the order of their numbers."""

    @property
    def text(self) -> str:
        """All text found on the page."""
        groups = [self.pieces, *(group.pieces for group in self.turned)]
        return "\n".join(piece.text for group in groups for piece in group)


@lru_cache(maxsize=512)
def style(font: str) -> tuple[bool, bool, bool]:
    """Whether a font is bold, whether it is monospaced, and whether it is italic, judged by its name."""
    return _BOLD.search(font) is not None, _MONO.search(font) is not None, _ITALIC.search(font) is not None
