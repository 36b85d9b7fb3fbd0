"""What the blocks of a column have in common, against which a heading must stand out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fanfold.apps.pdf.heads.faces import Faces
from fanfold.apps.pdf.heads.heading_words import (
    AFFILIATION,
    CONTENTS_ENTRY,
    DEPTH,
    NUMBERED,
    VERSION,
    WELL_KNOWN,
    is_names,
)
from fanfold.apps.pdf.markdown.blocks import Block

# With a larger share of letters set like that, bold type, capitals or a face are how the page is set and not a sign.
_MOST_SET = 0.35
# A block with more characters than this is running text.
_LONG = 200
_SENTENCE = 60
# Blocks between the title and the last author.
_MOST_AUTHORS = 6
# In multiples of the type size: white space above a heading, beyond that between the lines of the text below it.
_WHITE = 0.3
_INDENT = (0.8, 4.0)
_CELL_GAP = 0.75
# Share of the column that a line may fill and still stand in its middle, and how far it may be off.
_CENTRED_WIDTH = 0.75
_OFF_CENTRE = 0.02


class Signs:
    """What the blocks of a column have in common, against which a heading must stand out."""

    def __init__(
        self,
        blocks: Sequence[Block],
        page: int,
        bold_body: bool,
        faces: Faces,
        *,
        begun: bool,
        before: Sequence[Block] = (),
        is_last: bool = True,
    ) -> None:
        self.blocks = blocks
        self._before = before
        self._is_last = is_last
        self.page = page
        self._faces = faces
        self._begun = begun
        lines = [line for block in blocks if block.table is None for line in block.lines]
        total = sum(len(line.text) for line in lines) or 1
        enough = len(lines) > 6
        self.mostly_bold = bold_body or (
            enough and sum(len(line.text) for line in lines if line.bold) > _MOST_SET * total
        )
        capitals = sum(len(line.text) for line in lines if line.text.isupper())
        self.mostly_capitals = enough and capitals > _MOST_SET * total
        other = sum(len(line.text) for line in lines if faces.are_other([line]))
        self._mostly_other = enough and other > _MOST_SET * total
        self._left = min((line.x0 for line in lines), default=0.0)
        self._right = max((line.x1 for line in lines), default=0.0)

    def is_list(self, index: int) -> bool:
        """Whether the block before or after is an entry of the same list."""
        block = self.blocks[index]
        near = [self.blocks[at] for at in (index - 1, index + 1) if 0 <= at < len(self.blocks)]
        own = DEPTH.match(block.lines[0].text)
        is_numbered = NUMBERED.match(block.lines[0].text) is not None
        return any(
            other.kind == "item"
            and (not is_numbered or any(map(str.isalnum, other.marker)))
            and abs(other.lines[0].x0 - block.lines[0].x0) < block.lines[0].size
            and (own is None or DEPTH.match(other.lines[0].text) is not None)
            for other in near
        )

    def is_contents(self, index: int) -> bool:
        """Whether a block and one beside it have a number at both ends, like entries of a table of contents."""
        near = self.blocks[max(index - 1, 0) : index + 2]
        return (
            len(near) > 1
            and sum(bool(b.lines) and CONTENTS_ENTRY.fullmatch(b.lines[-1].text) is not None for b in near) > 1
        )

    def is_author(self, index: int, text: str) -> bool:
        """Whether a block between the title and the text of the first page names authors or a date."""
        above = [*self._before, *self.blocks[:index]]
        if not 0 < len(above) <= _MOST_AUTHORS or any(block.kind not in ("paragraph", "heading") for block in above):
            return False
        if any(sum(len(line.text) for line in block.lines) > _LONG for block in above) or text.endswith(":"):
            return False
        title = max(line.size for block in above for line in block.lines)
        size = self.blocks[index].lines[0].size
        below = self.blocks[index + 1 :]
        is_before_text = is_text_in(below) or (not self._is_last and len(below) <= _MOST_AUTHORS)
        if NUMBERED.match(text) or WELL_KNOWN.fullmatch(text.rstrip(":")) or size > 0.95 * title or not is_before_text:
            return False
        return VERSION.search(text) is not None or AFFILIATION.search(text) is not None or is_names(text)

    def is_above_text(self, index: int) -> bool:
        """Whether a block is followed by a longer one, and is shorter than the lines below it."""
        block, following = self.blocks[index], self.blocks[index + 1]
        if following.kind not in ("paragraph", "item") or len(block.lines) > 1:
            return following.kind == "heading"
        length = block.lines[0].x1 - block.lines[0].x0
        longest = max(line.x1 - line.x0 for line in following.lines)
        return length < 0.8 * longest and sum(len(line.text) for line in following.lines) > 80

    def is_term(self, index: int) -> bool:
        """Whether all of the text below is slightly indented, as that below a term of a glossary."""
        if NUMBERED.match(self.blocks[index].lines[0].text):
            return False
        lines = self._indented_below(index)
        # A single line below shows little, unless the next term follows it.
        return lines > 1 or (
            lines == 1
            and not self.blocks[index].lines[0].text.isupper()
            and any(self._is_like(index, at) for at in (index - 2, index + 2))
        )

    def _is_like(self, index: int, other: int) -> bool:
        """Whether another block is a bold line at the same edge, with indented text below it too."""
        if not 0 <= other < len(self.blocks) or not self._indented_below(other):
            return False
        one, two = self.blocks[index].lines[0], self.blocks[other].lines[0]
        return two.bold and abs(one.x0 - two.x0) < 1 and abs(one.size - two.size) < 0.5

    def _indented_below(self, index: int) -> int:
        """How many lines the paragraph below has, if it is slightly indented and close; else 0."""
        block, following = self.blocks[index], self.blocks[index + 1 : index + 2]
        if not following or following[0].kind != "paragraph" or not block.lines:
            return 0
        first = block.lines[0]
        lines = following[0].lines
        if not all(_INDENT[0] * first.size < line.x0 - first.x0 < _INDENT[1] * first.size for line in lines):
            return 0
        return len(lines)

    def is_label(self, index: int) -> bool:
        """Whether a bold line is the label of the short line below it, or the header of the table below it."""
        block, following = self.blocks[index], self.blocks[index + 1 : index + 2]
        if not following or NUMBERED.match(block.lines[0].text) or WELL_KNOWN.fullmatch(block.lines[0].text):
            return False
        line, below = block.lines[-1], following[0]
        if below.kind == "table":
            gaps = [right.x0 - left.x1 for left, right in itertools.pairwise(line.pieces)]
            return below.lines[0].y0 - line.y1 < line.size and any(gap > _CELL_GAP * line.size for gap in gaps)
        return False

    def is_other_face(self, block: Block) -> bool:
        """Whether a block is set in a face that the text does not have."""
        return not self._mostly_other and self._faces.are_other(block.lines)

    def is_set_off(self, index: int) -> bool:
        """Whether there is more white space above a block than between the lines of the text below it."""
        if not index:
            return False
        above, block, below = self.blocks[index - 1].lines[-1], self.blocks[index].lines, self.blocks[index + 1].lines
        size = block[0].size
        white = block[0].y0 - above.y1
        gaps = [lower.y0 - upper.y1 for upper, lower in itertools.pairwise(below)]
        return white > _WHITE * size + max(min(gaps, default=0.0), 0.0)

    def is_centred(self, block: Block) -> bool:
        """Whether all lines of a block stand in the middle of a column whose text does not."""
        width = self._right - self._left
        return width > 0 and all(
            line.x1 - line.x0 < _CENTRED_WIDTH * width
            and line.x0 > self._left + 2 * line.size
            and abs(line.x0 - self._left - (self._right - line.x1)) < 2 * _OFF_CENTRE * width
            for line in block.lines
        )

    def is_in_text(self, index: int) -> bool:
        """Whether running text has begun: above it are authors, places and dates."""
        return self.page > 1 or self._begun or is_text_in(self.blocks[:index])

    def leads_to_text(self, index: int) -> bool:
        """Whether running text or a list follows, or another heading and then text."""
        for following in self.blocks[index + 1 : index + 3]:
            if following.kind in ("table", "code", "note"):
                return False
            if following.kind == "item" or sum(len(line.text) for line in following.lines) > _SENTENCE:
                return True
        return False


def is_text_in(blocks: Sequence[Block]) -> bool:
    """Whether running text is among these blocks."""
    return any(sum(len(line.text) for line in block.lines) > _LONG for block in blocks if block.kind != "heading")
