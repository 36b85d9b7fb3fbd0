"""Suggests documents that may be the same work: by file, by DOI, or by title, first author and year. Nothing is merged."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from fanfold.apps.extract.evidence.folding import fold
from fanfold.apps.extract.table.rows import Row
from fanfold.apps.extract.table.table_sentences import say_of_table
from fanfold.apps.extract.table.values import written

_DOI = re.compile(r"10\.\d{4,9}/[^\s\"<>]+", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
# Numbers tell parts of a series apart: "Part II", "trial 2", "第三部分".
_NUMERAL = re.compile(r"\d+|\b[ivx]{1,5}\b|[一二三四五六七八九十]+(?=部|篇|章|期|卷|）|\))", re.IGNORECASE)
_ALIKE = 94.0
_SHORTEST_TITLE = 12
_NAMES = {
    "doi": ("doi",),
    "title": ("title", "paper_title", "article_title", "标题", "题目"),
    "author": ("first_author", "authors", "author", "第一作者", "作者"),
    "year": ("year", "publication_year", "published", "date", "年份", "发表年份"),
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Documents that may be the same, by key, and why."""

    kind: str
    """``file``, ``doi`` or ``title``."""
    keys: tuple[str, ...]
    documents: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class _Work:
    """The facts that identify a work."""

    key: str
    document: str
    doi: str
    title: str
    author: str
    year: int | None

    @property
    def folded(self) -> str:
        return fold(self.title).text

    @property
    def numerals(self) -> list[str]:
        return sorted(one.lower() for one in _NUMERAL.findall(self.title))


def suggestions(rows: Iterable[Row], names: Mapping[str, str] | None = None) -> list[Suggestion]:
    """Possible duplicates. ``names`` says which fields are the doi, title, author and year; by default the usual names."""
    files: dict[str, list[str]] = defaultdict(list)
    works: dict[str, _Work] = {}
    for row in rows:
        if row["row"] != 1:
            continue
        files[row["key"]].append(row["document"])
        if row["fields"] and row["key"] not in works:
            works[row["key"]] = _work(row, names or {})
    found = [
        Suggestion("file", (key,), tuple(same), say_of_table("duplicate_file", count=len(same)))
        for key, same in files.items()
        if len(same) > 1
    ]
    by_doi = list(_by_doi(list(works.values())))
    told = {frozenset(pair) for one in by_doi for pair in combinations(one.keys, 2)}
    return [*found, *by_doi, *_by_title(list(works.values()), told)]


def _work(row: Row, names: Mapping[str, str]) -> _Work:
    def value(what: str) -> str:
        wanted = (names[what],) if what in names else _NAMES[what]
        cell: Any = next((row["fields"][name] for name in wanted if name in row["fields"]), {})
        found = cell.get("value")
        return written(found[0] if isinstance(found, list) and found else found)

    year = _YEAR.search(value("year"))
    doi = _DOI.search(value("doi"))
    return _Work(
        row["key"],
        row["document"],
        doi[0].rstrip(".,;)").lower() if doi else "",
        value("title"),
        _surname(value("author")),
        int(year[0]) if year else None,
    )


def _surname(author: str) -> str:
    """The surname of the first author: "Smith, J.; Doe", "Smith J, Doe A" and "John Smith, Jane Doe" are Smith."""
    first = re.split(r";|\band\b|、|，|&", author)[0].strip()
    name = first.partition(",")[0]
    words = [word for word in name.split() if len(word.strip(".")) > 1]
    return fold(words[-1] if words else name).text


def _by_doi(works: Sequence[_Work]) -> Iterator[Suggestion]:
    """Works with the same DOI and, if known, the same title: the chapters of a book share the DOI of the book."""
    groups: dict[str, list[_Work]] = defaultdict(list)
    for work in works:
        if work.doi:
            groups[work.doi].append(work)
    for doi, group in groups.items():
        for same in _together(group, _same_title_or_none):
            yield _suggestion("doi", same, say_of_table("duplicate_doi", doi=doi))


def _by_title(works: Sequence[_Work], told: set[frozenset[str]]) -> Iterator[Suggestion]:
    """Works with nearly the same title, the same first author and years at most one apart, like a preprint and its article."""
    groups: dict[str, list[_Work]] = defaultdict(list)
    for work in works:
        if len(work.folded) >= _SHORTEST_TITLE:
            groups[work.author or work.folded[:12]].append(work)
    for group in groups.values():
        for same in _together(group, _same_work):
            if not all(frozenset((one.key, other.key)) in told for one, other in combinations(same, 2)):
                yield _suggestion("title", same, say_of_table("duplicate_title", title=same[0].title[:200]))


def _same_title_or_none(one: _Work, other: _Work) -> bool:
    return not one.folded or not other.folded or _same_title(one, other)


def _same_work(one: _Work, other: _Work) -> bool:
    near = one.year is None or other.year is None or abs(one.year - other.year) <= 1
    return near and _same_title(one, other)


def _same_title(one: _Work, other: _Work) -> bool:
    from rapidfuzz import fuzz

    if one.numerals != other.numerals:
        return False
    return fuzz.ratio(one.folded, other.folded, score_cutoff=_ALIKE) >= _ALIKE


def _together(works: Sequence[_Work], same: Any) -> Iterator[list[_Work]]:
    """Groups of two or more works, each equal to the first of its group."""
    left = list(works)
    while left:
        first, *others = left
        group = [first, *(other for other in others if same(first, other))]
        if len(group) > 1:
            yield group
        left = [other for other in others if other not in group]


def _suggestion(kind: str, works: Sequence[_Work], reason: str) -> Suggestion:
    return Suggestion(kind, tuple(work.key for work in works), tuple(work.document for work in works), reason)
