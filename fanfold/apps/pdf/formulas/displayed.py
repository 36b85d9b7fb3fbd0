"""Finds the displayed formulas among the lines of a column and writes them as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from fanfold.apps.pdf.figures.areas import Area
from fanfold.apps.pdf.formulas.building import Bar, Uncertain, built
from fanfold.apps.pdf.formulas.glyph_signs import Glyphs
from fanfold.apps.pdf.formulas.math_signs import FUNCTIONS, MATH_FONT, Sign
from fanfold.apps.pdf.markdown.blocks import Block
from fanfold.apps.pdf.markdown.lines import Line
from fanfold.apps.pdf.markdown.pieces import ITALIC, SUB, SUP, RawPage

_RELATION = re.compile(
    r"=|<|>|\\(?:leq|geq|sim|approx|equiv|in|to|subset\w*|neq|ll|gg|propto|Rightarrow|mapsto|leftarrow|cong|simeq)\b"
)
_RELATION_SIGN = re.compile("[=<>≤≥≈∼≡∈→⇒∝]")
_WORD = re.compile(r"[A-Za-zÀ-ÿ]{3,}")
_LONGEST_PRODUCT = 3
# In multiples of the type size: lines of one formula are closer; formulas are set in; a number stands this far apart.
_TOGETHER = 0.9
_SET_IN = 0.8
_NUMBER_APART = 1.5
_ROWS_APART = 0.22
_AT_BAR = 0.3
_FEWEST = 4
_MOST = 400
_NAMES = FUNCTIONS | {"argmax", "argmin", "diag", "rank", "sign", "softmax"}


def written(columns: list[list[Line]], glyphs: Glyphs | None, raw: RawPage) -> list[list[Line]]:
    """The columns with each displayed formula as one line that holds its LaTeX."""
    if glyphs is None:
        return columns
    return [list(_column(column, glyphs, raw)) for column in columns]


def _column(column: list[Line], glyphs: Glyphs, raw: RawPage) -> Iterator[Line]:
    group: list[Line] = []
    left = min((line.x0 for line in column), default=0.0)
    for line in [*column, None]:
        if line is not None and _is_mathematical(line) and (not group or _is_near(group, line)):
            group.append(line)
            continue
        yield from _formulas(group, column, left, glyphs, raw)
        group = []
        if line is not None and _is_mathematical(line):
            group = [line]
        elif line is not None:
            yield line


def _is_mathematical(line: Line) -> bool:
    """Whether a line has no words but names of functions. Letters of formulas that stand together are in italics."""
    if line.table is not None or not line.pieces or any(piece.tagged_level for piece in line.pieces):
        return False
    slanted = 0
    for piece in line.pieces:
        for match in _WORD.finditer(piece.text):
            if match[0] in _NAMES or piece.text[match.end() : match.end() + 1] == "(":
                continue
            known = piece.flags if piece.flags and len(piece.flags) == len(piece.text) else None
            flags = known[match.start() : match.end()] if known else [ITALIC if MATH_FONT.match(piece.face) else 0]
            if not all(flag & (ITALIC | SUB | SUP) for flag in flags):
                return False
            slanted += len(match[0]) > _LONGEST_PRODUCT
    return slanted < 2


def _is_near(group: list[Line], line: Line) -> bool:
    return line.y0 - max(above.y1 for above in group) < _TOGETHER * max(line.size, group[-1].size)


def _formulas(group: list[Line], column: list[Line], left: float, glyphs: Glyphs, raw: RawPage) -> Iterator[Line]:
    """The lines of a group as formulas, or as they are if there is any doubt."""
    if not group:
        return
    top, bottom = min(_top(line) for line in group), max(_bottom(line) for line in group)
    known = set(map(id, group))
    others = [piece for line in column if id(line) not in known for piece in line.pieces]
    # The layout engine loses large brackets, so a formula may begin before its first piece.
    signs = glyphs.within(left - 1, top, max(line.x1 for line in column) + 1, bottom, others)
    size = max((line.size for line in group), default=10.0)
    is_set_in = signs is not None and signs and min(sign.x0 for sign in signs) > left + _SET_IN * size
    has_letters = any(sign.kind == "plain" and any(map(str.isalpha, sign.latex)) for sign in signs or ())
    if signs is None or not is_set_in or not has_letters or not _FEWEST <= len(signs) <= _MOST:
        yield from _unread(group, left, size)
        return
    bars = [(y, x0, x1) for y, x0, x1 in raw.rules.level if top <= y <= bottom and left - 1 <= x0 and x1 - x0 < 400]
    bars = [bar for bar in bars if any(sign.x0 - 3 < bar[2] and bar[1] < sign.x1 + 3 for sign in signs)]
    try:
        rows = list(_rows(signs, bars, size))
    except Uncertain:
        yield from _unread(group, left, size)
        return
    for row, inside in zip(_lines_of(group, [row for row, _ in rows]), rows, strict=True):
        yield from _formula(row, *inside, left)


def _unread(lines: list[Line], left: float, size: float) -> list[Line]:
    """Lines that stay text, marked as a formula if they are one: set in, in fonts of mathematics, with a relation."""
    is_formula = (
        bool(lines)
        and min(map(_left, lines)) > left + _SET_IN * size
        and any(_RELATION_SIGN.search(line.text) for line in lines)
        and any(MATH_FONT.match(piece.face) for line in lines for piece in line.pieces)
    )
    for line in lines:
        line.is_unread = is_formula
    return lines


def unread_areas(blocks: Iterable[Block]) -> list[Area]:
    """The areas of the displayed formulas that stay text."""
    found: list[Area] = []
    above: Line | None = None
    for line in (line for block in blocks for line in block.lines):
        if line.is_unread:
            area = (min(piece.x0 for piece in line.pieces), _top(line), line.x1, _bottom(line))
            if above is not None and above.is_unread and -line.size < area[1] - found[-1][3] < _TOGETHER * line.size:
                area = (
                    min(area[0], found[-1][0]),
                    found[-1][1],
                    max(area[2], found[-1][2]),
                    max(area[3], found[-1][3]),
                )
                found.pop()
            found.append(area)
        above = line
    return found


def _lines_of(group: list[Line], rows: Sequence[Sequence[Sign]]) -> list[list[Line]]:
    """The lines of each formula: those nearest to it."""
    edges = [(min(sign.top for sign in row), max(sign.bottom for sign in row)) for row in rows]
    found: list[list[Line]] = [[] for _ in rows]
    for line in group:
        middle = (_top(line) + _bottom(line)) / 2
        found[min(range(len(rows)), key=lambda at: max(edges[at][0] - middle, middle - edges[at][1]))].append(line)
    return found


def _formula(lines: list[Line], signs: list[Sign], bars: list[Bar], left: float) -> Iterator[Line]:
    """The lines of a formula as one, or as they are if there is any doubt."""
    try:
        latex = _numbered(signs, bars)
    except (Uncertain, RecursionError):
        latex = ""
    if not lines or not _RELATION.search(latex):
        yield from _unread(lines, left, max((line.size for line in lines), default=10.0))
        return
    edges = (min(map(_left, lines)), min(map(_top, lines)), max(line.x1 for line in lines), max(map(_bottom, lines)))
    pieces = [piece for line in lines for piece in line.pieces]
    yield Line(" ".join(line.text for line in lines), *edges, lines[0].size, False, False, pieces, formula=latex)


def _left(line: Line) -> float:
    return line.x0


def _top(line: Line) -> float:
    return min(piece.y0 for piece in line.pieces)


def _bottom(line: Line) -> float:
    return max(piece.y1 for piece in line.pieces)


def _rows(signs: list[Sign], bars: Sequence[Bar], size: float) -> Iterator[tuple[list[Sign], list[Bar]]]:
    """The formulas below each other, divided by white space."""
    near = _AT_BAR * size
    spans = sorted([(sign.top, sign.bottom) for sign in signs] + [(y - near, y + near) for y, _, _ in bars])
    edges: list[list[float]] = []
    for top, bottom in spans:
        if edges and top - edges[-1][1] < _ROWS_APART * size:
            edges[-1][1] = max(edges[-1][1], bottom)
        else:
            edges.append([top, bottom])
    edges = _with_limits(edges, signs, size)
    for top, bottom in edges:
        inside = [sign for sign in signs if top <= (sign.top + sign.bottom) / 2 <= bottom]
        yield inside, [bar for bar in bars if top <= bar[0] <= bottom]


def _with_limits(edges: list[list[float]], signs: Sequence[Sign], size: float) -> list[list[float]]:
    """The rows; one with small signs alone holds limits of the nearest other row."""
    main = 0.86 * max(sign.size for sign in signs)
    full = [any(sign.size > main and e[0] <= (sign.top + sign.bottom) / 2 <= e[1] for sign in signs) for e in edges]
    rows = [list(edge) for edge, is_full in zip(edges, full, strict=True) if is_full]
    for edge in (edge for edge, is_full in zip(edges, full, strict=True) if not is_full):
        nearest = min(rows, key=lambda row: max(edge[0] - row[1], row[0] - edge[1]))
        if max(edge[0] - nearest[1], nearest[0] - edge[1]) > _TOGETHER * size:
            raise Uncertain
        nearest[:] = [min(nearest[0], edge[0]), max(nearest[1], edge[1])]
    return rows


def _numbered(signs: list[Sign], bars: Sequence[Bar]) -> str:
    """A formula, with its number as a tag."""
    ordered = sorted(signs, key=lambda sign: sign.x0)
    size = max(sign.size for sign in ordered)
    at = next(
        (at for at in range(len(ordered) - 1, 0, -1) if ordered[at].x0 - ordered[at - 1].x1 > _NUMBER_APART * size),
        None,
    )
    tag = "".join(sign.latex for sign in ordered[at:]) if at is not None else ""
    match = re.fullmatch(r"\(([A-Za-z]?[\d.]{1,6}[a-z]?)\)", tag)
    body = ordered[:at] if match else ordered
    latex = built(body, bars)
    if latex.count("(") != latex.count(")") or latex.count("{") != latex.count("}"):
        raise Uncertain
    return f"$$\n{latex}" + (rf" \tag{{{match[1]}}}" if match else "") + "\n$$"
