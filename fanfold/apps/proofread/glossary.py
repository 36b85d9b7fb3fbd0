"""The glossary: reads terms from CSV, selects those of a chunk, and checks answers, allowing inflected forms."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import fanfold as ff
from fanfold.apps.proofread.scripts import has_cjk
from fanfold.apps.proofread.sentences import say_of_proofread

COLUMNS = ("source", "target", "kind", "note")
_NAMES = {
    "source": ("source", "term", "original", "from", "原文", "术语", "術語"),
    "target": ("target", "translation", "to", "译文", "譯文", "翻译"),
    "kind": ("kind", "type", "category", "类型", "类别"),
    "note": ("note", "notes", "comment", "备注", "说明"),
}
LEAST_STEM = 4
"""Length of the unchanged stem of a word; shorter words must match completely."""
MOST_ENDING = 4
"""Letters that an inflected form may have beyond the stem."""

_BETWEEN = r"\W+(?:\w+\W+){0,2}?"


@dataclass(frozen=True)
class Term:
    """One entry. Without ``target`` the term is a name that must not change. Several targets are separated by ``|``."""

    source: str
    target: str = ""
    kind: str = ""
    note: str = ""

    @property
    def targets(self) -> tuple[str, ...]:
        """The translations that are accepted."""
        return tuple(one.strip() for one in self.target.split("|") if one.strip()) or (self.source,)


def read_glossary(text: str) -> tuple[Term, ...]:
    """Read a CSV or TSV with a header, or with two columns and no header. Raises BadInput with the first invalid line."""
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    rows = [
        (number, row)
        for number, row in _rows(text, "\t" if "\t" in first else ";" if ";" in first and "," not in first else ",")
    ]
    if not rows:
        return ()
    header = _header(rows[0][1])
    columns = header or {name: at for at, name in enumerate(COLUMNS)}
    terms: dict[str, Term] = {}
    for number, row in rows[1:] if header else rows:
        values = {name: row[at].strip() for name, at in columns.items() if at < len(row)}
        term = Term(**values) if values.get("source") else None
        if term is None:
            raise ff.BadInput(say_of_proofread("glossary_line", line=number))
        other = terms.setdefault(term.source, term)
        if other.target != term.target:
            raise ff.BadInput(say_of_proofread("glossary_twice", line=number, term=term.source, first=other.target))
    return tuple(terms.values())


def write_glossary(terms: Iterable[Term]) -> str:
    """The glossary as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((term.source, term.target, term.kind, term.note) for term in terms)
    return out.getvalue()


def unique_terms(terms: Iterable[Term]) -> tuple[Term, ...]:
    """The terms, each source once; the first one counts."""
    found: dict[str, Term] = {}
    for term in terms:
        found.setdefault(term.source, term)
    return tuple(found.values())


def terms_in(text: str, terms: Sequence[Term]) -> tuple[Term, ...]:
    """The terms that occur in a text, except those that occur only as part of a longer term."""
    found = [(term, spans) for term in terms if (spans := _spans(term.source, text))]
    longer = sorted(found, key=lambda one: -len(one[0].source))
    taken: list[tuple[int, int]] = []
    kept = set()
    for term, spans in longer:
        free = [span for span in spans if not any(start <= span[0] and span[1] <= end for start, end in taken)]
        if free:
            kept.add(term)
            taken += free
    return tuple(term for term in terms if term in kept)


def unkept_terms(source: str, answer: str, terms: Sequence[Term]) -> list[Term]:
    """The terms of the source for which the answer has none of the accepted translations, in any inflection."""
    return [term for term in terms_in(source, terms) if not any(says(answer, target) for target in term.targets)]


def says(text: str, wanted: str) -> bool:
    """Whether a text has a term, in any letter case and inflection."""
    return bool(_spans(wanted, text)) or (
        not has_cjk(wanted) and _inflected(_plain(wanted)).search(_plain(text)) is not None
    )


def _spans(term: str, text: str) -> list[tuple[int, int]]:
    if has_cjk(term):
        return [found.span() for found in re.finditer(re.escape(term), text)]
    if term.casefold() not in text.casefold():
        return []
    return [found.span() for found in _whole(term).finditer(text)]


@lru_cache(maxsize=20_000)
def _whole(term: str) -> re.Pattern[str]:
    """A term as whole words; a possessive or plural ending of the last word is part of it."""
    return re.compile(rf"(?<!\w){re.escape(term)}(?:['’]?s)?(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=20_000)
def _inflected(term: str) -> re.Pattern[str]:
    """A pattern in which every word may have another ending, with up to two words (such as articles) between them."""
    words = [_stem(word) for word in re.findall(r"\w+", term)]
    return re.compile(r"(?<!\w)" + _BETWEEN.join(words) + r"(?!\w)" if words else r"(?!)")


def _stem(word: str) -> str:
    if word.isdigit() or len(word) < LEAST_STEM:
        return re.escape(word) + (r"\w{0,2}" if len(word) == LEAST_STEM - 1 and not word.isdigit() else "")
    kept = len(word) - (1 if len(word) < 6 else 2 if len(word) < 8 else 3)
    return re.escape(word[:kept]) + rf"\w{{0,{len(word) - kept + MOST_ENDING}}}"


def _plain(text: str) -> str:
    """Lower case without accents: an inflection may change an umlaut."""
    pieces = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in pieces if not unicodedata.combining(one))


def _rows(text: str, delimiter: str) -> Iterable[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    for row in reader:
        if any(cell.strip() for cell in row) and not row[0].startswith("#"):
            yield reader.line_num, row


def _header(row: Sequence[str]) -> dict[str, int] | None:
    """The columns by name, if the first row names at least the source."""
    cells = [cell.strip().casefold() for cell in row]
    found = {name: cells.index(alias) for name, aliases in _NAMES.items() for alias in aliases if alias in cells}
    return found if "source" in found else None
