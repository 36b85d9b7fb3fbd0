"""Scores a conversion: completeness, order, headings, cells, and single checks, whatever Markdown is around the words."""

import bisect
import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_\u3040-\u30ff\u3400-\u9fff]+")
_ROW = re.compile(r"^\s*\|(.+)\|\s*$", re.MULTILINE)
_RULE = re.compile(r"[\s:|-]+")
_HTML_CELL = re.compile(r"<t[dh]\b([^>]*)>(.*?)</t[dh]>", re.DOTALL | re.IGNORECASE)
_TAGS = re.compile(r"</?(?:table|thead|tbody|tr|td|th|sup|sub|br|b|i|u|em|strong)\b[^>]*>", re.IGNORECASE)
_SPAN = re.compile(r"(row|col)span\s*=\s*[\"']?(\d+)", re.IGNORECASE)
_HTML_ROW = re.compile(r"<tr\b[^>]*>(.*?)</tr>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Scores:
    """Shares from 0 to 1; None where the truth has nothing to find."""

    word_recall: float | None
    word_precision: float | None
    order: float | None
    heading_recall: float | None
    heading_precision: float | None
    cell_recall: float | None


def scored(text: str, truth: str) -> Scores:
    """All scores of one conversion against its truth."""
    ours, theirs = Counter(words(text)), Counter(words(truth))
    heads, true_heads = headings(text), headings(truth)
    return Scores(
        share(ours, theirs),
        share(theirs, ours),
        order(words(text), words(truth)),
        share(heads, true_heads),
        share(true_heads, heads) if true_heads else None,
        share(Counter(cells(text)), Counter(cells(truth))),
    )


def plain(markdown: str) -> str:
    """The text without marks of Markdown and HTML, folded to one case and one form."""
    text = re.sub(r"<!--.*?-->", " ", markdown, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"</?(?:sup|sub|b|i|u|s|em|strong|a|span|mark)\b[^>]*>", "", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", " ", html.unescape(text))
    text = re.sub(r"^```\w*$", " ", text, flags=re.MULTILINE)
    return unicodedata.normalize("NFKC", re.sub(r"[*`\\]|\[\^|(?<=\d)\]", "", text)).casefold()


def words(markdown: str) -> list[str]:
    """The words in order; a Chinese or Japanese character is a word."""
    return _WORD.findall(plain(markdown))


def headings(markdown: str) -> Counter[str]:
    """The headings of any level, as their words in order."""
    lines = re.findall(r"^#{1,6}\s+(.+)$", markdown, flags=re.MULTILINE)
    return Counter(" ".join(re.findall(r"\w+", plain(line))) for line in lines)


def tables(markdown: str) -> list[list[list[str]]]:
    """The tables: rows of cells, each as its words."""
    found: list[list[list[str]]] = []
    for part in re.split(r"\n(?!\s*\|)", markdown):
        lines = [line for line in _ROW.findall(part) if not _RULE.fullmatch(line)]
        if lines:
            found.append([[_cell(cell) for cell in re.split(r"(?<!\\)\|", line)] for line in lines])
    for part in re.findall(r"<table\b.*?</table>", markdown, flags=re.DOTALL | re.IGNORECASE):
        found.append(_spread(part))
    return found


def _spread(table: str) -> list[list[str]]:
    """The rows of an HTML table, with the text of a cell in every place that it covers."""
    places: dict[tuple[int, int], str] = {}
    for row, cells in enumerate(_HTML_ROW.findall(table)):
        column = 0
        for attributes, text in _HTML_CELL.findall(cells):
            while (row, column) in places:
                column += 1
            sizes = {name.lower(): int(size) for name, size in _SPAN.findall(attributes)}
            for down in range(min(sizes.get("row", 1), 500)):
                for across in range(min(sizes.get("col", 1), 500)):
                    places[row + down, column + across] = _cell(text)
    if not places:
        return []
    width = 1 + max(column for _, column in places)
    return [
        [places.get((row, column), "") for column in range(width)] for row in range(1 + max(row for row, _ in places))
    ]


def cells(markdown: str) -> list[str]:
    """All cells with text of all tables."""
    return [cell for table in tables(markdown) for row in table for cell in row if cell]


def _cell(text: str) -> str:
    return " ".join(words(text))


def share(part: Counter[str], whole: Counter[str]) -> float | None:
    """How much of the whole is in the part; None if there is nothing to find."""
    total = whole.total()
    return (part & whole).total() / total if total else None


def order(ours: list[str], theirs: list[str]) -> float | None:
    """Share of the words that occur once in each text and are in the same order: the longest rising run of positions."""
    once = [word for word, count in Counter(theirs).items() if count == 1]
    counts = Counter(ours)
    place = {word: index for index, word in enumerate(ours) if counts[word] == 1}
    known = [place[word] for word in once if word in place]
    rising: list[int] = []
    for position in known:
        at = bisect.bisect_left(rising, position)
        rising[at : at + 1] = [position]
    return len(rising) / len(known) if known else None


def letters(text: str) -> Counter[str]:
    """Counts of letters and digits, ignoring accents, ligatures and letter forms."""
    folded = unicodedata.normalize("NFKD", text).casefold()
    return Counter(letter for letter in folded if letter.isalnum())


def lost(reading: str, markdown: str) -> int:
    """How many letters and digits of another reading are not in the conversion."""
    text = re.sub(r"<!--.*?-->", " ", markdown, flags=re.DOTALL)
    # Names of tags are no text: they would stand for letters that are lost.
    text = html.unescape(_TAGS.sub(" ", text))
    return (letters(reading) - letters(text)).total()


def passes(check: dict[str, Any], markdown: str) -> bool:
    """Whether a conversion passes one check: present, absent, order, heading, table or math."""
    kind, text = check["type"], " ".join(words(markdown))
    if kind in ("present", "absent"):
        return (_phrase(check["text"]) in text) == (kind == "present")
    if kind == "order":
        first, then = text.find(_phrase(check["before"])), text.rfind(_phrase(check["after"]))
        return 0 <= first < then
    if kind == "heading":
        return " ".join(re.findall(r"\w+", plain(check["text"]))) in headings(markdown)
    if kind == "table":
        return any(_has_cell(table, check) for table in tables(markdown))
    return any(re.sub(r"\s+", "", form) in re.sub(r"\s+", "", markdown) for form in check["any"])


def _phrase(text: str) -> str:
    return " ".join(words(text))


def _has_cell(table: list[list[str]], check: dict[str, Any]) -> bool:
    """Whether a table has the cell with the neighbours that the check names."""
    wanted = _phrase(check["cell"])
    for at, row in enumerate(table):
        for column, cell in enumerate(row):
            if cell == wanted and all(
                _neighbour(table, at, column, side) == _phrase(check[side]) for side in _SIDES if side in check
            ):
                return True
    return False


_SIDES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def _neighbour(table: list[list[str]], row: int, column: int, side: str) -> str | None:
    down, across = _SIDES[side]
    row, column = row + down, column + across
    if row < 0 or column < 0 or row >= len(table) or column >= len(table[row]):
        return None
    return table[row][column]


def mean(shares: Iterable[float | None]) -> float | None:
    """The mean of what was found."""
    known = [share for share in shares if share is not None]
    return sum(known) / len(known) if known else None
