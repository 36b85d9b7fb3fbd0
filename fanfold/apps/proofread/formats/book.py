"""A book of any format as blocks of text in reading order, each with its position in the file."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """The role of a block. ``gap`` is the blank space between the paragraphs of a text file; it is never sent to a model."""

    PARAGRAPH = "paragraph"
    HEAD = "head"
    TITLE = "title"
    ALT = "alt"
    CELL = "cell"
    NOTE = "note"
    GAP = "gap"


class MarkerKind(StrEnum):
    """What a marker stands for: a pair of inline tags around text, or an atom, which has no editable text."""

    PAIR = "pair"
    ATOM = "atom"


@dataclass(frozen=True)
class Marker:
    """A numbered placeholder for inline markup. ``shown`` is the visible text of an atom, for instance the base of a ruby."""

    number: int
    kind: MarkerKind
    shown: str = ""


@dataclass(frozen=True)
class Brackets:
    """The two characters that enclose the number of a marker; neither occurs in the text of the book."""

    left: str = "⟦"
    right: str = "⟧"

    def opening(self, number: int) -> str:
        """The marker of an atom, or the opening marker of a pair."""
        return f"{self.left}{number}{self.right}"

    def closing(self, number: int) -> str:
        """The marker that ends a pair."""
        return f"{self.left}/{number}{self.right}"


USUAL_BRACKETS = Brackets()
MOST_BROKEN = 0.1
"""A paragraph with a larger share of characters that cannot be decoded is not sent: a model would make up their text."""


@dataclass(frozen=True)
class Place:
    """The position of a block: byte offsets in a text or Markdown file, character offsets in a member of an EPUB or DOCX."""

    start: int
    end: int
    member: str = ""


@dataclass(frozen=True)
class Block:
    """One paragraph, heading, title or alternative text. ``id`` is the same each time the file is read."""

    id: str
    text: str
    place: Place
    markers: tuple[Marker, ...] = ()
    kind: BlockKind = BlockKind.PARAGRAPH

    @property
    def editable(self) -> bool:
        """Whether the block may be sent to a model: it is not a gap, has a letter or digit, and most of it can be decoded."""
        if self.kind is BlockKind.GAP or self.text.count("\ufffd") > max(2, MOST_BROKEN * len(self.text)):
            return False
        return any(map(str.isalnum, self.text))


@dataclass(frozen=True)
class Tracked:
    """Who made tracked changes in a Word document, and when (ISO 8601, UTC)."""

    author: str = "Fanfold"
    at: str = "2000-01-01T00:00:00Z"


@dataclass(frozen=True)
class Book:
    """A file as blocks, with everything that is needed to write it again."""

    kind: str
    """`txt`, `md`, `epub` or `docx`."""
    source: str
    """Path of the file. Writing reads it again, to keep all bytes outside changed blocks."""
    digest: str
    """SHA-256 of the file."""
    blocks: tuple[Block, ...]
    encoding: str = "utf-8"
    newline: str = "\n"
    brackets: Brackets = USUAL_BRACKETS
    reports: tuple[str, ...] = ()
    """Messages about problems found while reading, such as bytes that cannot be decoded."""
    notes: tuple[str, ...] = ()
    """Messages about text that is kept on purpose, such as code."""
    ruby_is_text: bool = False
    """Whether words with a reading were read as plain text, as a translation needs them."""

    @property
    def text(self) -> str:
        """All text. For a text file this is its content; in other formats blocks are separated by a blank line."""
        return ("" if self.kind == "txt" else "\n\n").join(block.text for block in self.blocks)

    def block(self, block_id: str) -> Block:
        """The block with this id; KeyError if there is none."""
        for block in self.blocks:
            if block.id == block_id:
                return block
        raise KeyError(block_id)
