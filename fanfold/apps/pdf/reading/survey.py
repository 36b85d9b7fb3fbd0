"""Surveys a sample of pages once for what they have in common, so that every page is judged by the same rules."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from fanfold.apps.pdf.characters.glyphs import own_text, whole
from fanfold.apps.pdf.heads import faces, headings, outline_titles
from fanfold.apps.pdf.markdown import cleaning, hyphens, layout, line_numbers, running_survey
from fanfold.apps.pdf.markdown.pieces import RawPage
from fanfold.apps.pdf.markdown.running_lines import Running
from fanfold.apps.pdf.reading import page_pieces as reading

if TYPE_CHECKING:
    import pypdfium2 as pdfium

SAMPLE = 64
_FEW_LETTERS = 60
_OUTLINE_ENTRIES = 5000
# Type this much larger than the body is a heading; sizes closer than this count as the same.
_LARGER = 1.12
_SAME_SIZE = 0.06
_LEVELS = 5
# In a document of some length, type with a larger share of the letters is text and not headings.
_MOST_HEADINGS = 0.2
_LONG = 4000
_HEADING_LENGTH = 6
# Sampled pages whose headings are found to know the levels in use.
_HEADED_PAGES = 12


def outline(document: pdfium.PdfDocument) -> list[list[Any]]:
    """The document's own table of contents: title, page (from 1) and level (from 1) of each entry."""
    entries: list[list[Any]] = []
    for bookmark in document.get_toc():
        entry = _entry(bookmark)
        if entry is not None:
            entries.append(entry)
        if len(entries) == _OUTLINE_ENTRIES:
            break
    return entries


def _entry(bookmark: Any) -> list[Any] | None:
    try:
        title = cleaning.characters(bookmark.get_title() or "").strip()
        destination = bookmark.get_dest()
        index = destination.get_index() if destination is not None else None
    except (UnicodeDecodeError, RuntimeError):
        # The entry is damaged: skip it.
        return None
    return [title, index + 1, bookmark.level + 1] if title and index is not None and index >= 0 else None


def take(path: Path, document: pdfium.PdfDocument) -> dict[str, Any]:
    """Read an evenly spread sample of pages and record what they share, as JSON values."""
    pages, _problems = reading.read(path, sample(len(document)))
    _complete(document, pages)
    for page in pages.values():
        line_numbers.take(page)
    entries = outline(document)
    body, ladder, texts = _sizes(pages.values())
    found = {
        "outline": entries,
        "forms": bool(document.get_formtype()),
        "body": body,
        "bold_body": _is_bold(pages.values(), body),
        "faces": faces.of_text(pages.values()),
        "ladder": ladder,
        "texts": texts,
        "levels": _levels(pages.values(), ladder, entries),
        **hyphens.survey(piece.text for page in pages.values() for piece in page.pieces),
        **running_survey.survey(list(pages.values()), body),
    }
    return {**found, **_headings(list(pages.values()), found)}


def _headings(pages: list[RawPage], survey: dict[str, Any]) -> dict[str, Any]:
    """Levels of the headings on the sampled pages and in the outline, and how many are titles in plain type."""
    known, running = headings.Headings(survey), Running(survey)
    levels = {level for _, _, level in survey["outline"]}
    for page in pages[:: max(1, len(pages) // _HEADED_PAGES)]:
        running.drop(page, known.body)
        found = known.mark_columns(layout.columns(page.pieces), page.number)
        levels.update(block.level for block in found if block.kind == "heading")
    return {"headings": sorted(levels), "plain_titles": known.plain_titles}


def _complete(document: pdfium.PdfDocument, pages: dict[int, RawPage]) -> None:
    """Read pages with hardly any text again: the layout engine may not know their fonts."""
    for number, page in list(pages.items()):
        if len(page.text) < _FEW_LETTERS:
            with own_text(document, number) as own:
                pages[number] = whole(page, own, number) or page


def sample(total: int) -> list[int]:
    """At most SAMPLE page numbers, evenly spread."""
    if total <= SAMPLE:
        return list(range(1, total + 1))
    return sorted({1 + index * (total - 1) // (SAMPLE - 1) for index in range(SAMPLE)})


def _sizes(pages: Iterable[RawPage]) -> tuple[float, list[float], list[float]]:
    """The most frequent type size, the larger sizes of headings, largest first, and larger sizes of other text."""
    characters: Counter[float] = Counter()
    words: Counter[float] = Counter()
    for page in pages:
        for piece in page.pieces:
            characters[round(piece.size * 2) / 2] += len(piece.text)
            if not piece.mono:
                words[round(piece.size * 2) / 2] += len(piece.text)
    if not characters:
        return 0.0, [], []
    # Listings may be longer than the text between them, and in smaller type.
    text = words if 4 * words.total() > characters.total() else characters
    body = max(text, key=lambda size: (text[size], size))
    ladder: list[float] = []
    most = _MOST_HEADINGS * characters.total() if characters.total() > _LONG else characters.total()
    texts = [size for size, count in characters.items() if size >= body * _LARGER and count > most]
    # A drop cap is large but not a heading.
    large = (size for size, count in characters.items() if size >= body * _LARGER and _HEADING_LENGTH <= count <= most)
    for size in sorted(large, reverse=True):
        if not ladder or size < ladder[-1] * (1 - _SAME_SIZE):
            ladder.append(size)
    return body, ladder[:_LEVELS], sorted(texts)


def _is_bold(pages: Iterable[RawPage], body: float) -> bool:
    """Whether most of the text is bold, so that bold type is no sign of a heading."""
    texts = [piece for page in pages for piece in page.pieces if abs(piece.size - body) <= _SAME_SIZE * body]
    return 2 * sum(len(piece.text) for piece in texts if piece.bold) > sum(len(piece.text) for piece in texts)


def _levels(pages: Iterable[RawPage], ladder: list[float], entries: list[list[Any]]) -> list[int]:
    """Level of each heading size: the outline's level for titles of that size, or one below the next larger size."""
    known = outline_titles.titles(entries)
    said: dict[int, list[int]] = defaultdict(list)
    for page in pages:
        for line in layout.lines(page.pieces) if page.number in known else ():
            level = outline_titles.outlined_level(line.text, known[page.number])
            index = headings.rung(line.size, ladder)
            if level is not None and index is not None:
                said[index].append(level)
    levels: list[int] = []
    for index in range(len(ladder)):
        above = levels[-1] if levels else 0
        # A book's title is above its chapters but not in the outline, so both get the first level.
        untold = 1 if index < min(said, default=0) else above + 1
        levels.append(max(median_low(said[index]) if index in said else untold, above, 1))
    return levels
