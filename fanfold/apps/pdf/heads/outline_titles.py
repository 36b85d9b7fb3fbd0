"""Compares texts of a page with the titles of the document's outline."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fanfold.apps.pdf.heads.heading_words import NUMBERING


def titles(outline: Iterable[Sequence[Any]]) -> dict[int, dict[str, int]]:
    """Level of each outline title, by page, with and without its number."""
    found: dict[int, dict[str, int]] = defaultdict(dict)
    for title, page, level in outline:
        for key in (_key(title), _key(NUMBERING.sub("", title, count=1))):
            found[page].setdefault(key, level)
    return found


def outlined_level(text: str, known: dict[str, int] | None) -> int | None:
    """Level of a text in the outline, if it is a title on this page."""
    if not known:
        return None
    level = known.get(_key(text))
    return level if level is not None else known.get(_key(NUMBERING.sub("", text, count=1)))


def _key(title: str) -> str:
    """A title normalised for comparison: hyphens, spaces and leader dots differ between outline and page."""
    return re.sub(r"[\W_]+", "", title.casefold())
