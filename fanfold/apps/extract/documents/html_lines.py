"""Reads the visible text of a web page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from fanfold.apps.extract.documents.document import NewLine
from fanfold.apps.extract.documents.text_lines import divided


def _named(tags: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", tags))


_UNSEEN = _named("script style template noscript svg iframe object head select datalist audio video canvas")
_BLOCKS = _named(
    "address article aside blockquote body dd details dialog div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 "
    "h5 h6 header hr html li main nav ol p pre section summary table tbody tfoot thead tr ul caption title br"
)
_EMPTY = _named("area base br col embed hr img input link meta param source track wbr")
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6", "title"))
_CELLS = frozenset(("td", "th"))
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_SPACES = re.compile(r"\s+")
_CHARSET = re.compile(rb"""<(?:meta[^>]{0,200}charset|\?xml[^>]{0,100}encoding)\s*=\s*["']?([\w-]+)""", re.IGNORECASE)


def declared_encoding(content: bytes) -> str | None:
    """The encoding that a page names in its head."""
    found = _CHARSET.search(content[:4096])
    return found[1].decode("ascii") if found else None


def html_lines(text: str) -> Iterator[NewLine]:
    """The lines of a page: one for each block or table row; long paragraphs in parts."""
    page = _Page()
    page.feed(text)
    page.close()
    page.end_line()
    for line, heading in page.lines:
        yield from divided(line, heading=heading)


class _Page(HTMLParser):
    """Collects text outside hidden elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.lines: list[tuple[str, bool]] = []
        self._parts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        """The open elements, and whether each hides its content."""
        self._heading = False
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.end_line()
        elif tag in _CELLS and any(part.strip() for part in self._parts):
            self._parts.append("\t")
        if tag in _EMPTY:
            return
        hides = self._hides(tag, dict(attrs))
        self._open.append((tag, hides))
        self._hidden += hides
        self._heading = self._heading or tag in _HEADINGS

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _BLOCKS:
            self.end_line()

    def handle_endtag(self, tag: str) -> None:
        if tag in _BLOCKS:
            self.end_line()
        if tag in _HEADINGS:
            self._heading = False
        if not any(name == tag for name, _ in self._open):
            return
        # Elements left open within it end with it.
        while self._open:
            name, hides = self._open.pop()
            self._hidden -= hides
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        in_title = bool(self._open) and self._open[-1][0] == "title"
        if not self._hidden or (in_title and self._hidden == 1):
            self._parts.append(_SPACES.sub(" ", data))

    def end_line(self) -> None:
        """End the current line. Tabs separate the cells of a table."""
        line = "\t".join(" ".join(cell.split()) for cell in "".join(self._parts).split("\t")).strip()
        self._parts.clear()
        if line:
            self.lines.append((line, self._heading))

    def _hides(self, tag: str, attributes: dict[str, str | None]) -> bool:
        if tag in _UNSEEN or "hidden" in attributes:
            return True
        return bool(_HIDDEN_STYLE.search(attributes.get("style") or ""))
