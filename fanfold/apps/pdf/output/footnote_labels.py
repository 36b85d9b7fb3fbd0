"""Gives footnotes labels that occur once in a document, because many documents start at 1 on every page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_NOTE = re.compile(r"^\[\^([^\]\s]+)\]:", re.MULTILINE)


def distinct(pages: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The pages, with the page number added to labels that an earlier page has used."""
    used: set[str] = set()
    for page, text in pages:
        own = set(_NOTE.findall(text)) if "[^" in text else set()
        for label in sorted(own & used):
            text = text.replace(f"[^{label}]", f"[^{label}-{page}]")
        used |= own
        yield page, text
