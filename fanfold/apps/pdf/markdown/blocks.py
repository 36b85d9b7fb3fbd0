"""Groups lines into paragraphs, list entries, tables and code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from fanfold.apps.pdf.markdown import labels
from fanfold.apps.pdf.markdown.layout import Line
from fanfold.apps.pdf.markdown.pieces import BOLD, Piece, Table

Kind = Literal["paragraph", "heading", "item", "code", "table", "note", "figure", "formula"]

# In multiples of the type size: the indent of a first line, and the extra leading that separates paragraphs.
_INDENT = 0.7
_WHITE = 1.3
_SAME_SIZE = 0.07
# A run narrower than this share of its column is not body text; code has shorter lines than prose.
_NARROW = 0.6
_PROSE_LENGTH = 40

_BULLET = re.compile(r"([•‣⁃◦▪▫●○■□◆◇➢➤►▸✓✔❖\uf0b7\uf0a7\uf0d8])\s*(?=\S)")
_DASH = re.compile(r"([-–—*·])\s+(?=\S)")
_NUMBER = re.compile(r"(\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)])\s+(?=\S)")
_ENDS_SENTENCE = re.compile(r"[.!?:;。！？：；…][\"'”’)\]」』）]*$")
_INNER_END = re.compile(r"[.,;!?]\s")
_LABEL = re.compile(r"[^\W\d][^:.;,]{1,30}:\s|\d+(?:[.-]\d+)+\.?\s")
_LEADING = re.compile(r"\[?(\d{1,3})\]?\s")
_RULE = re.compile(r"[\s._\-=*~·•―—–]{4,}")


@dataclass(slots=True)
class Block:
    """A paragraph, heading, list entry, table, footnote or code block, with its source lines; or a figure, which has none."""

    kind: Kind
    lines: list[Line]
    breaks: set[int] = field(default_factory=set)
    marker: str = ""
    level: int = 0
    table: Table | None = None


def group(lines: Sequence[Line]) -> list[Block]:
    """The blocks of one column. Headings stay paragraphs here: recognising them needs the whole document."""
    blocks: list[Block] = []
    if not lines:
        return blocks
    width = max(line.x1 for line in lines) - min(line.x0 for line in lines)
    for listing, part in _listings(lines):
        if part[0].formula:
            blocks.extend(Block("formula", [line], marker=line.formula) for line in part)
            continue
        if listing:
            blocks.append(Block("code", part))
            continue
        for run in _runs([line for line in part if line.table or not _RULE.fullmatch(line.text)]):
            if run[0].table is not None:
                blocks.append(Block("table", run, table=run[0].table))
            else:
                blocks.extend(_paragraphs(run, width))
    return blocks


def _listings(lines: Sequence[Line]) -> Iterator[tuple[bool, list[Line]]]:
    """Alternating stretches of code and of everything else."""
    for (mono, _), stretch in itertools.groupby(lines, key=lambda line: (_is_listing(line), bool(line.formula))):
        part = list(stretch)
        yield mono and _is_code(part), part


def _is_listing(line: Line) -> bool:
    """Whether the whole line is monospaced and not bold; a bold line is a title."""
    return line.mono and not line.bold


def _is_code(part: list[Line]) -> bool:
    """Two or more monospaced lines are code, unless they fill the column like body text."""
    if len(part) < 2:
        return False
    right = max(line.x1 for line in part)
    filled = sum(not _fits(line, below, right) for line, below in itertools.pairwise(part))
    long = median(len(line.text) for line in part) >= _PROSE_LENGTH
    return not (long and filled >= 0.6 * (len(part) - 1))


def _runs(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Runs of lines with the same size and style, one leading apart."""
    leading = _leading(lines)
    run: list[Line] = []
    right = max((line.x1 for line in lines), default=0.0)
    for line in lines:
        if run and (_breaks(run[-1], line, leading) or _turns_capital(run, line) or _turns_face(run, line, right)):
            yield run
            run = []
        run.append(line)
    if run:
        yield run


def _leading(lines: Sequence[Line]) -> dict[int, float]:
    """The usual distance between lines, by type size."""
    distances: dict[int, list[float]] = {}
    for above, below in itertools.pairwise(lines):
        if above.table is None and below.table is None and abs(above.size - below.size) <= _SAME_SIZE * above.size:
            distance = _distance(above, below)
            if 0 < distance < 3 * below.size:
                distances.setdefault(round(below.size), []).append(distance)
    # Text is more often tight than loose, so take the lower third: it holds even if most lines are paragraphs.
    return {size: sorted(found)[len(found) // 3] for size, found in distances.items()}


def _breaks(above: Line, below: Line, leading: dict[int, float]) -> bool:
    if above.table is not None or below.table is not None:
        return True
    last, first = above.pieces[-1], below.pieces[0]
    if (
        _differs(above.size, below.size)
        and _differs(last.size, first.size)
        and not (_is_mixed(last) or _is_mixed(first))
    ):
        # Unless words in smaller capitals fill most of a line.
        return True
    if above.pieces[0].tagged_level != below.pieces[0].tagged_level:
        return True
    if above.bold != below.bold and not (ends_bold(above) and begins_bold(below)):
        # Unless bold words of a paragraph fill a line: a run-in title, or an emphasis.
        return True
    usual = min(leading.get(round(below.size), 1.4 * below.size), 1.8 * below.size)
    distance = _distance(above, below)
    return distance > _WHITE * usual or distance < -below.size


def _differs(above: float, below: float) -> bool:
    return abs(above - below) > _SAME_SIZE * max(above, below)


def _is_mixed(piece: Piece) -> bool:
    """Whether a piece begins in bold and ends in plain type, which may have another size."""
    return bool(piece.flags and (piece.flags[0] ^ piece.flags[-1]) & BOLD)


def begins_bold(line: Line) -> bool:
    """Whether the first character is bold."""
    first = line.pieces[0]
    return bool(first.flags[0] & BOLD) if first.flags else first.bold


def ends_bold(line: Line) -> bool:
    """Whether the last character is bold."""
    last = line.pieces[-1]
    return bool(last.flags[-1] & BOLD) if last.flags else last.bold


def _distance(above: Line, below: Line) -> float:
    """Distance between the middles of two lines, which is more reliable than their edges: boxes differ in height."""
    return (below.y0 + below.y1 - above.y0 - above.y1) / 2


def _turns_capital(run: list[Line], line: Line) -> bool:
    """Whether a title in capitals ends here (lower case begins) or begins here (a sentence has ended)."""
    if _BULLET.match(run[-1].text):
        return False
    if line.text.isupper():
        return not run[-1].text.isupper() and len(line.text) > 8 and _ENDS_SENTENCE.search(run[-1].text) is not None
    return len(run[0].text) > 8 and all(above.text.isupper() for above in run)


def _turns_face(run: list[Line], line: Line, right: float) -> bool:
    """Whether a title in a face of its own, or underlined, ends here, or begins where a sentence has ended."""
    own, before = _faces(line), _faces(run[-1])
    is_known = all(face for face, _ in own | before)
    if not is_known or not own.isdisjoint(before) or line.text[:1].islower() or not _fits(run[-1], line, right):
        return False
    if _ENDS_SENTENCE.search(run[-1].text):
        return True
    title = list(itertools.takewhile(lambda above: own.isdisjoint(_faces(above)), reversed(run)))
    if any(_INNER_END.search(above.text, 4) for above in title):
        return False
    return len(title) == len(run) or _ENDS_SENTENCE.search(run[-1 - len(title)].text) is not None


def _faces(line: Line) -> set[tuple[str, bool]]:
    return {(piece.face, piece.underline is not None) for piece in line.pieces}


def _fits(above: Line, below: Line, right: float) -> bool:
    """Whether the first word of the line below would have fitted above, so that the break is deliberate."""
    word = below.text.split(" ", 1)[0]
    width = (below.x1 - below.x0) * (len(word) + 1) / max(len(below.text), 1)
    return above.x1 + 1.2 * width + 1.2 * above.size < right


def _paragraphs(run: list[Line], width: float) -> Iterator[Block]:
    """Split a run where a paragraph or list entry begins."""
    edges = _Edges.of(run, width)
    block: Block | None = None
    for index, line in enumerate(run):
        marker = _marker(line, run, index)
        if block is None or marker or _begins(block, line, edges):
            if block is not None:
                yield block
            block = Block("item" if marker else "paragraph", [line], marker=marker)
            continue
        if _ended(block.lines[-1], line, edges):
            block.breaks.add(len(block.lines))
        block.lines.append(line)
    if block is not None:
        yield block


@dataclass(slots=True)
class _Edges:
    """Left and right edges of a run, and whether its paragraphs are indented or hanging."""

    left: float
    right: float
    hanging: bool
    labelled: bool = False
    """Whether each paragraph has a label before it: a speaker, a number, an article, a question."""

    @classmethod
    def of(cls, run: list[Line], width: float) -> _Edges:
        left = min(line.x0 for line in run)
        right = max(line.x1 for line in run)
        filled = sum(line.x1 > right - 0.2 * (right - left) for line in run[:-1])
        if right - left < _NARROW * width and (len(run) < 3 or filled < 0.7 * (len(run) - 1)):
            # If all lines end early, the breaks are deliberate: an address, a form, verse.
            right = left + width
        return cls(left, right, _hangs(run, left, right), labels.are_before(run, left, _INDENT))


def _hangs(run: list[Line], left: float, right: float) -> bool:
    """Whether paragraphs have a hanging indent, as in a list of references."""
    plain = list(itertools.takewhile(lambda line: not _starts_entry(line), run))
    indented = [line.x0 > left + _INDENT * line.size for line in plain]
    edge = [_LEADING.match(line.text) for line, inner in zip(plain, indented, strict=True) if not inner]
    if len(edge) > 2 and any(indented) and all(edge):
        numbers = [int(match[1]) for match in edge if match is not None]
        if numbers == list(range(numbers[0], numbers[0] + len(numbers))):
            return True  # a list of references, numbered without points
    if sum(indented) < 2 or 2 * sum(indented) < len(indented) or indented[0]:
        return False
    # If so, most full lines at the edge are followed by an indented line, and most short ones are not.
    votes = [
        next_inner == (above.x1 > right - 4 * above.size)
        for above, inner, next_inner in zip(plain, indented, indented[1:], strict=False)
        if not inner
    ]
    return 2 * sum(votes) > len(votes)


def _starts_entry(line: Line) -> bool:
    return any(pattern.match(line.text) for pattern in (_BULLET, _DASH, _NUMBER))


def _ended(above: Line, below: Line, edges: _Edges) -> bool:
    """Whether the line break is deliberate and not just the end of a full line."""
    if _LABEL.match(above.text) and _LABEL.match(below.text):
        return True
    # A lower-case letter continues the sentence, however much room was left.
    goes_on = below.text[:1].islower() and not _ENDS_SENTENCE.search(above.text)
    return not goes_on and above.text[-1:] not in "-‐" and _fits(above, below, edges.right)


def _begins(block: Block, line: Line, edges: _Edges) -> bool:
    """Whether a line without a marker begins a new paragraph."""
    above = block.lines[-1]
    ended = _ENDS_SENTENCE.search(above.text) is not None
    short = _ended(above, line, edges)
    indented = line.x0 > edges.left + _INDENT * line.size
    if block.kind == "item" and len(block.lines) > 1:
        if block.lines[1].x0 < block.lines[0].x0 - _INDENT * line.size:
            return indented and above.x0 <= edges.left + _INDENT * line.size and (ended or not short)
        # The entry's second line shows its indent; a line further left is no longer part of the entry.
        return line.x0 < block.lines[1].x0 - _INDENT * line.size
    if block.kind == "item":
        first = block.lines[0]
        if not ended and not short and abs(line.x0 - edges.left) < _INDENT * line.size:
            return False  # only the first line of a numbered paragraph is indented
        return line.x0 < first.x0 - _INDENT * line.size or (
            short and line.x0 < _text_start(first, block.marker) - 0.5 * line.size
        )
    if ended and begins_bold(line) and not ends_bold(above) and _LABEL.match(line.text):
        return True
    if edges.hanging or edges.labelled:
        return not indented
    begins = indented and above.x0 <= edges.left + _INDENT * line.size and (ended or not short)
    return begins or (short and ended)


def _text_start(line: Line, marker: str) -> float:
    """Where the text of an entry begins, after its marker."""
    if len(line.pieces) > 1 and line.pieces[0].text == marker:
        return line.pieces[1].x0
    return line.x0 + (line.x1 - line.x0) * (len(marker) + 1) / max(len(line.text), 1)


def _marker(line: Line, run: list[Line], index: int) -> str:
    """The bullet or number at the start of a line, if it makes the line a list entry."""
    if bullet := _BULLET.match(line.text):
        return bullet[1]
    if line.text.startswith("o ") and line.x0 > min(other.x0 for other in run) + _INDENT * line.size:
        return "o"  # the second list level in Word; at the left edge it may be a word
    match = _DASH.match(line.text) or _NUMBER.match(line.text)
    if match is None:
        return ""
    # An ordinary line may also begin with a number or dash. It is a marker if it is one of several, or if the text after it
    # has a hanging indent and the line above had ended.
    if any(_sibling(match[1], line, other) for other in run if other is not line):
        return match[1]
    above = run[index - 1] if index else None
    below = run[index + 1] if index + 1 < len(run) else None
    hanging = below is None or below.x0 > line.x0 + _INDENT * line.size
    over = above is None or _ENDS_SENTENCE.search(above.text) is not None or above.x0 > line.x0 + _INDENT * line.size
    return match[1] if over and (hanging or index == 0) else ""


def _sibling(marker: str, line: Line, other: Line) -> bool:
    """Whether another line at the same edge has the same dash, or the previous or next number."""
    match = _DASH.match(other.text) or _NUMBER.match(other.text)
    if match is None or abs(other.x0 - line.x0) > _INDENT * line.size:
        return False
    ours, theirs = marker.strip("()."), match[1].strip("().")
    if ours.isdigit() and theirs.isdigit():
        return abs(int(ours) - int(theirs)) == 1
    return marker == match[1] or (len(ours) == len(theirs) == 1 and abs(ord(ours) - ord(theirs)) == 1)
