"""Tells tables from what only looks like one: columns of text, lists, headings with their numbers, contents, code."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from fanfold.apps.pdf.markdown.lines import rows as lines_of
from fanfold.apps.pdf.markdown.pieces import Piece, Table
from fanfold.apps.pdf.tables.grids import is_figure

# A longer cell is a paragraph.
_LONGEST_CELL = 400
_MOSTLY = 0.8
_FEW_ROWS = 4
_FEW_BESIDE = 0.3
_INNER_END = re.compile(r"[^\W\d_]{2}[.!?] [A-ZÀ-Þ]")
_INNER = 0.15
_LONG_CELL = 35
# In points: cells within this distance begin in one place; and the share of the cells of a column that do.
_ONE_PLACE = 2.0
_LEAST_ALIGNED = 0.6
# In multiples of the height of a line: how far from the right edge a line may end that fills its column.
_FILLED = 0.3
_BULLETS = re.compile("[•●▪■◦○]")
_BULLET = re.compile(r"[•‣⁃◦▪▫●○■□◆◇➢➤►▸✓✔❖\uf0b7\uf0a7\uf0d8–—*·-]")
_BULLET_ENTRY = re.compile(r"[•‣⁃●■□◆➢➤►▸✓✔❖]\s")
_SECTION = re.compile(r"(?:§\s*)?(?:\d{1,2}(?:\.\d{1,3})*\.?|[A-Z](?:\.\d{1,3})*\.?|[IVX]{1,5}\.?)")
_MARKER = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\[[\w+]{1,12}\]|\d{1,3}")
_ENTRY = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]")
_PAGE = re.compile(r"\d{1,4}|[ivxl]{1,6}|[A-Z]-?\d{1,3}")
# What stands before an entry: a speaker, or the number of a paragraph, an article or a question.
_LABEL = re.compile(
    r"(?:[^\W\d_][\w.'’-]*\s){0,3}[^\W\d_][\w.'’-]*:|(?:§+|[A-Z][a-z]{2,9}\.?)?\s*\d{1,3}(?:\.\d{1,3})*[a-z]?[.:]?|[QA][.:]?"
)
_FORMULA_NUMBER = re.compile(r"\(([A-Z]?\d{0,2}\.?)(\d{1,3})[a-z′']?\)")
_RELATION = re.compile("[=≠<>≤≥≈∼≡∈⊂→⇒↦∝]")
_ENDS_SENTENCE = re.compile(r"[.!?;…][\"'”’)\]]*$")
# Entries of a list are sentences, and cells are not.
_SENTENCE = 45
# Rows of text are longer than this.
_LONG_ROW = 55


def is_table(table: Table, pieces: Sequence[Piece], body: float) -> bool:
    """Whether an area that looks like a table is one."""
    if _is_prose(table) or is_listing(pieces):
        return False
    if table.is_ruled:
        # Two level rules may be those below the header and above the footer of the page.
        return table.is_drawn or not (_is_list(table) or _is_cut_text(table))
    others = (
        _is_unaligned(table, pieces),
        _is_justified(pieces),
        _is_list(table),
        _is_labelled(table),
        _is_numbered_formulas(table),
        _is_stretched(table),
        _is_cut_text(table),
        is_contents(table),
        _is_index(table),
    )
    return not any(others) and not _has_headings(table, pieces, body)


def _is_prose(table: Table) -> bool:
    """Whether columns of text or a list were misread as a table: one column, whole paragraphs, or bullets in its cells."""
    cells = [cell for row in table.rows for cell in row if cell.strip()]
    if max(map(len, table.rows)) < 2:
        return True
    return any(len(cell) > _LONGEST_CELL or len(_BULLETS.findall(cell)) > 2 for cell in cells) and len(cells) < 12


def is_listing(pieces: Sequence[Piece]) -> bool:
    """Whether most of an area is code."""
    total = sum(len(piece.text) for piece in pieces)
    return total > 0 and 2 * sum(len(piece.text) for piece in pieces if piece.mono) > total


def _has_headings(table: Table, pieces: Sequence[Piece], body: float) -> bool:
    """Whether rows are headings with their numbers: "5 | Implementation" in large or bold type."""
    numbers = [row[0] for row in table.rows if row and row[0]]
    if len(table.columns) > 3 or not any(_SECTION.fullmatch(number) for number in numbers):
        return False
    for piece in pieces:
        if _SECTION.fullmatch(piece.text) and (piece.size >= 1.12 * body or piece.bold):
            beside = [
                other
                for other in pieces
                if other is not piece and abs(other.y0 + other.y1 - piece.y0 - piece.y1) < piece.size
            ]
            if beside and all(other.size >= 1.12 * body or other.bold for other in beside):
                return True
    return False


def is_contents(table: Table) -> bool:
    """Whether a table of contents or an index was read as a table: its last column holds page numbers and nothing else."""
    last = [row[-1] for row in table.rows if row[-1].strip()]
    if len(last) < 2 or len(last) < 0.6 * len(table.rows) or len(table.columns) > 4:
        return False
    if not all(_PAGE.fullmatch(word.strip(",")) for cell in last for word in cell.replace("–", " ").split()):
        return False
    numbered = sum(_SECTION.match(row[0]) is not None for row in table.rows)
    pages = [int(cell.split()[0]) for cell in last if cell.split()[0].isdigit()]
    is_rising = pages == sorted(pages) and len(pages) > 1
    listed = sum("," in cell for cell in last)
    return (
        (2 * numbered >= len(table.rows) and is_rising)
        or any("..." in cell for row in table.rows for cell in row)
        or (len(table.columns) == 2 and listed > 0 and not is_rising)
    )


def _is_unaligned(table: Table, pieces: Sequence[Piece]) -> bool:
    """Whether words of justified lines were read as columns."""
    columns: list[list[list[Piece]]] = []
    for left, right in table.columns:
        held = [piece for piece in pieces if left - 1 <= (piece.x0 + piece.x1) / 2 <= right + 1]
        columns.append([[box for box in row if isinstance(box, Piece)] for row in lines_of(held)])
    return are_unaligned(columns)


def _is_justified(pieces: Sequence[Piece]) -> bool:
    """Whether lines that fill their column from edge to edge were read as rows: they continue in the middle of a sentence."""
    found = [sorted(row, key=lambda box: box.x0) for row in lines_of(pieces)]
    right = max((row[-1].x1 for row in found), default=0.0)
    texts = [" ".join(box.text for box in row if isinstance(box, Piece)) for row in found]
    pairs = list(itertools.pairwise(texts))
    going_on = sum(below[:1].islower() and not _ENDS_SENTENCE.search(above) for above, below in pairs)
    full = sum(
        right - row[-1].x1 < _FILLED * (row[-1].y1 - row[-1].y0) and not is_figure(text.split()[-1])
        for row, text in zip(found, texts, strict=True)
    )
    return bool(pairs) and full >= _MOSTLY * len(found) and going_on >= _LEAST_ALIGNED * len(pairs)


def are_unaligned(columns: Sequence[Sequence[Sequence[Piece]]]) -> bool:
    """Whether the cells of most columns between the first and the last begin and end anywhere, as words of lines do."""
    inner = [_alignment(cells) for cells in columns[1:-1]]
    return len(inner) > 1 and sum(inner) < _LEAST_ALIGNED * len(inner)


def _alignment(cells: Sequence[Sequence[Piece]]) -> float:
    """The share of the cells of a column that begin, end or have their middle in one place; figures may end anywhere."""
    told = [cell for cell in cells if not all(is_figure(piece.text) for piece in cell)]
    if len(told) < 2:
        return 1.0
    edges = [(min(piece.x0 for piece in cell), max(piece.x1 for piece in cell)) for cell in told]
    places = ([start for start, _ in edges], [end for _, end in edges], [(start + end) / 2 for start, end in edges])
    most = max(sum(abs(place - usual) < _ONE_PLACE for place in found) for found in places for usual in found)
    return (most - 1) / (len(told) - 1)


def _is_index(table: Table) -> bool:
    """Whether columns of an index were read as a table: pages beside words, and letters without a page above them."""
    if len(table.columns) % 2 or any(len(row) != len(table.columns) for row in table.rows):
        return False
    entries = [(row[at].strip(), row[at + 1].strip()) for row in table.rows for at in range(0, len(row), 2)]
    has_pages = all(_PAGE.fullmatch(word.strip(",")) for _, pages in entries for word in pages.split())
    return has_pages and any(len(text) == 1 and text.isalpha() and not pages for text, pages in entries)


def _is_list(table: Table) -> bool:
    """Whether a list was read as a table: markers in the first column and sentences in the second one."""
    if len(table.columns) == 3:
        return _has_entries(table)
    if len(table.columns) > 3:
        return False
    markers = [row[0].strip() for row in table.rows if row[0].strip()]
    texts = [row[1] for row in table.rows if len(row) > 1 and row[1]]
    if not markers or not texts:
        return False
    is_marked = all(_BULLET.fullmatch(marker) or _BULLET_ENTRY.match(marker) for marker in markers)
    is_numbered = sum(_MARKER.fullmatch(marker) is not None for marker in markers) >= 0.8 * len(markers)
    return is_marked or (is_numbered and sum(map(len, texts)) / len(texts) > _SENTENCE)


def _is_labelled(table: Table) -> bool:
    """Whether paragraphs with labels before them were read as a table: speakers and what they say, articles, questions."""
    rows = [row for row in table.rows if any(cell.strip() for cell in row)]
    if len(table.columns) != 2 or any(len(row) != 2 for row in rows):
        return False
    labels = [row[0].strip() for row in rows if row[0].strip()]
    texts = [row[1].strip() for row in rows if row[1].strip()]
    if len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        return False
    sentences = sum(len(text) > _SENTENCE or _ENDS_SENTENCE.search(text) is not None for text in texts)
    return max(map(len, texts), default=0) > _SENTENCE and 4 * sentences >= 3 * len(texts)


def _is_numbered_formulas(table: Table) -> bool:
    """Whether formulas with their numbers were read as a table: the last column counts them, and some have a relation."""
    numbers = [row[-1].strip() for row in table.rows if row[-1].strip()]
    found = [_FORMULA_NUMBER.fullmatch(number) for number in numbers]
    counted = [(match[1], int(match[2])) for match in found if match is not None]
    if len(counted) != len(found) or not counted:
        return False
    if any(below[0] == above[0] and below[1] - above[1] not in (0, 1) for above, below in itertools.pairwise(counted)):
        return False
    return any(_RELATION.search(cell) for row in table.rows for cell in row[:-1])


def _has_entries(table: Table) -> bool:
    """Whether the middle column has the markers of a list and the last one its sentences: headings in the margin beside it."""
    rows = [row for row in table.rows if len(row) == 3]
    markers = [row[1].strip() for row in rows if row[1].strip()]
    texts = [row[2] for row in rows if row[2].strip()]
    if len(markers) < 2 or not all(_ENTRY.fullmatch(marker) for marker in markers):
        return False
    return sum(map(len, texts)) > _SENTENCE * len(texts)


def _is_cut_text(table: Table) -> bool:
    """Whether lines of text were cut at wide spaces: long rows whose first words continue a sentence, or fill them alone."""
    rows = [[cell for cell in row if cell.strip()] for row in table.rows]
    rows = [row for row in rows if row]
    if len(table.columns) > 4 or not rows:
        return False
    if len(rows) >= _FEW_ROWS and _is_text_beside(table):
        return True
    inner = [row for row in rows if row[0][0].islower() or row[0][-1] in ",;"]
    if len(inner) >= _MOSTLY * len(rows) and _goes_on([row[-1] for row in table.rows]):
        return True
    if sum(map(len, itertools.chain(*rows))) < _LONG_ROW * len(rows):
        return False
    if any(_goes_on([row[column] for row in table.rows]) for column in range(min(map(len, table.rows)))):
        return True
    alone = [row for row in rows if len(row) == 1 and len(row[0]) > _SENTENCE]
    return 2 * len(inner) >= len(rows) or 3 * len(alone) > len(rows)


def _is_text_beside(table: Table) -> bool:
    """Whether one of two columns is running text with sentences that end within its lines, or with few words beside it."""
    if len(table.columns) != 2 or any(len(row) != 2 for row in table.rows):
        return False
    columns = [[row[at].strip() for row in table.rows] for at in (0, 1)]
    return any(_is_text(text, beside) for text, beside in (columns, columns[::-1]))


def _is_text(cells: Sequence[str], beside: Sequence[str]) -> bool:
    texts = [cell for cell in cells if cell]
    ends = sum(map(_has_inner_end, texts))
    if 2 * ends >= len(texts) and sum(map(len, texts)) > _LONG_CELL * len(texts):
        return True
    return _goes_on(cells) and (ends >= _INNER * len(cells) or sum(map(bool, beside)) <= _FEW_BESIDE * len(beside))


def _has_inner_end(text: str) -> bool:
    return _INNER_END.search(text) is not None


def _goes_on(cells: Sequence[str]) -> bool:
    """Whether the cells of a column are lines of running text: many continue in the middle of a sentence."""
    texts = [cell.strip() for cell in cells if cell.strip()]
    pairs = list(itertools.pairwise(texts))
    inner = sum(below[0].islower() and above[-1] not in ".!?:;" for above, below in pairs)
    if len(texts) > 1 and inner == len(pairs) and min(map(len, texts)) > _SENTENCE:
        return True
    is_full = len(texts) > 2 and 4 * len(texts) >= 3 * len(cells)
    length = 30 if len(texts) > 4 else 40
    return is_full and 5 * inner >= 2 * len(pairs) and sum(map(len, texts)) > length * len(texts)


def _is_stretched(table: Table) -> bool:
    """Whether wide spaces of justified lines were read as columns: hardly any row fills them."""
    filled = [sum(1 for cell in row if cell.strip()) for row in table.rows]
    width = len(table.columns)
    if width < 3:
        return False
    return sum(2 * count > width for count in filled) <= max(1, 0.25 * len(filled)) and len(filled) > 2
