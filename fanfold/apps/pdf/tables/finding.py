"""Finds the tables of a page that hold all the text of their area."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.lines import rows
from fanfold.apps.pdf.markdown.pieces import Piece, RawPage, Table
from fanfold.apps.pdf.reading.kept_text import letters
from fanfold.apps.pdf.tables import aligned, ruled, spaced
from fanfold.apps.pdf.tables.judging import is_table

# In multiples of the type size: words of a justified line are at most this far apart.
_WORDS_APART = 1.2
_LEADERS = "...."
# This many long lines right below a column, from where it begins (in points), are text and not the rest of a cell.
_TEXT_LINES = 3
_LONG_LINE = 30
_SAME_EDGE = 2.0
# In multiples of the height of a line: white space between lines of one text.
_LEADING = 0.8


def find(page: RawPage, body: float) -> list[Table]:
    """The tables of a page: drawn ones, those between rules, and those that the layout engine saw."""
    found = [table for table in ruled.find(page.pieces, page.rules) if _holds(table, page.pieces, body)]
    for table in spaced.between_rules(page.pieces, page.rules, found):
        if not _overlaps(table, found) and _holds(table, page.pieces, body):
            found.append(table)
    for seen in page.tables:
        if _overlaps(seen, found):
            continue
        made = _rebuilt(seen, page, body)
        # A table may have been completed with rows that the layout engine saw as another one.
        found.extend(made if not any(_overlaps(table, found) for table in made) else _as_seen(seen, page, body))
    return found


def held(table: Table, pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces of a table."""
    return table.pieces if table.pieces is not None else inside(pieces, table)


def inside(pieces: Sequence[Piece], table: Table) -> list[Piece]:
    """The pieces in the area of a table."""
    left, top, right, bottom = 2 * table.x0 - 2, 2 * table.y0 - 2, 2 * table.x1 + 2, 2 * table.y1 + 2
    return [piece for piece in pieces if top <= piece.y0 + piece.y1 <= bottom and left <= piece.x0 + piece.x1 <= right]


def _holds(table: Table, pieces: Sequence[Piece], body: float) -> bool:
    """Whether a table is one, and holds all the text of its area; if not, the plain lines are better."""
    there = inside(pieces, table)
    told = letters("".join("".join(row) for row in table.rows))
    return not letters("".join(piece.text for piece in there)) - told and is_table(table, there, body)


def _rebuilt(seen: Table, page: RawPage, body: float) -> list[Table]:
    """A table of the layout engine with all its rows, or else as it was seen."""
    for whole in aligned.whole(seen, inside(page.pieces, seen), page.pieces):
        if len(whole.columns) >= len(seen.columns) and _is_whole(whole, page.pieces, body):
            return [whole]
    return _as_seen(seen, page, body)


def _is_whole(table: Table, pieces: Sequence[Piece], body: float) -> bool:
    """Whether a table is one, and no line of it continues beside or below it."""
    return _holds(table, pieces, body) and not _is_cut_out(table, pieces) and not _continues_below(table, pieces)


def _as_seen(seen: Table, page: RawPage, body: float) -> list[Table]:
    """A table of the layout engine, with the text of the page's own pieces if they have the same columns."""
    if not _is_whole(seen, page.pieces, body):
        return []
    _say_once(seen, page.pieces)
    made = spaced.build(inside(page.pieces, seen), None)
    if made is None or len(made.columns) < len(seen.columns) or len(made.rows) < len(seen.rows):
        made = None
    if made is not None and not made.spans and _holds(made, page.pieces, body):
        return [made]
    return [] if _has_more(seen, page.pieces) else [seen]


def _has_more(table: Table, pieces: Sequence[Piece]) -> bool:
    """Whether a table has text that was taken from the page: numbers of lines, or running lines."""
    told = letters("".join("".join(row) for row in table.rows))
    return bool(told - letters("".join(piece.text for piece in inside(pieces, table))))


def _say_once(table: Table, pieces: Sequence[Piece]) -> None:
    """Empty cells that repeat the text of another cell of their row which is on the page only once."""
    wanted = letters("".join(piece.text for piece in inside(pieces, table)))
    for row in table.rows:
        for at, cell in enumerate(row):
            twice = letters("".join("".join(other) for other in table.rows)) - wanted
            if cell.strip() and cell in row[at + 1 :] and not letters(cell) - twice:
                row[at] = ""


def _is_cut_out(table: Table, pieces: Sequence[Piece]) -> bool:
    """Whether lines continue beyond the sides of a table: then it is cut out of columns of justified text."""
    there = inside(pieces, table)
    if any(_LEADERS in piece.text for piece in there):
        return False
    known = set(map(id, there))
    beside = [piece for piece in pieces if id(piece) not in known and table.y0 < piece.y1 and piece.y0 < table.y1]
    going_on = {
        round(own.y0)
        for own in there
        for other in beside
        if abs(own.y0 + own.y1 - other.y0 - other.y1) < 0.2 * own.size
        and min(abs(own.x0 - other.x1), abs(other.x0 - own.x1)) < _WORDS_APART * own.size
    }
    return len(going_on) > 1


def _continues_below(table: Table, pieces: Sequence[Piece]) -> bool:
    """Whether lines of text continue below one column alone: then it is cut out of a page with something beside its text."""
    if table.is_ruled:
        return False
    level = 2 * table.y1
    below = list(itertools.islice(rows([piece for piece in pieces if piece.y0 + piece.y1 > level]), _TEXT_LINES))
    bottom = table.y1
    texts: list[str] = []
    for row in below:
        left = min(box.x0 for box in row)
        near = min(box.y0 for box in row) - bottom < _LEADING * (row[0].y1 - row[0].y0)
        aligned = any(abs(left - column[0]) < _SAME_EDGE for column in table.columns[1:])
        texts.append(" ".join(box.text for box in row if isinstance(box, Piece)))
        if not near or not aligned or len(texts[-1]) < _LONG_LINE:
            return False
        bottom = max(box.y1 for box in row)
    return len(texts) == _TEXT_LINES and sum(text[0].islower() for text in texts) > 1


def _overlaps(table: Table, others: Sequence[Table]) -> bool:
    return any(
        table.x0 < other.x1 and other.x0 < table.x1 and table.y0 < other.y1 and other.y0 < table.y1 for other in others
    )
