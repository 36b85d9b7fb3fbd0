"""Rejoins paragraphs, words, lists and tables that were split by a page break."""

from __future__ import annotations

import re

from fanfold.apps.pdf.markdown import cleaning
from fanfold.apps.pdf.output.table_joining import join_tables

# Lines that are not running text, at the end of a page or the start of the next.
_STRUCTURE = re.compile(r"\s*(?:#{1,6}\s|\||```|~~~|>|<|!\[|---|\*\*\*|___)")
_ENTRY = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_SENTENCE_END = re.compile(r"[.!?。！？…：:;；][\"'”’)\]」』）*_]*$")
_OPEN_END = re.compile(r"(?:[,，、(—–]|\b(?:the|of|and|an?|in|to|by|for|with|or|from|is|are|was))$")
_HYPHEN = re.compile(r"[^\W\d_][-‐]$")
_FENCE = re.compile(r"^\s*(```|~~~)", re.MULTILINE)
# A short note also ends without a full stop, so only a line this long counts as a sentence cut in two.
_LONG_ENOUGH = 40


def join_pages(before: str, after: str) -> tuple[str, str]:
    """Move a paragraph or table that was split by the page break, whole, to the end of the first page.

    Returns both pages; the second is shorter by what was moved, and may be empty.
    """
    if after.lstrip("\n").startswith("|"):
        return join_tables(before, after)
    head, last = _split_last(before)
    first, rest = _split_first(after)
    if not _goes_on(before, last, first):
        return before, after
    # A bold run-in title cannot be cut, but a hard line break at the join is dropped.
    return head + cleaning.join(last.rstrip(), first.lstrip()), rest


def _split_last(page: str) -> tuple[str, str]:
    """Everything before the last line, and that line."""
    page = page.rstrip()
    cut = page.rfind("\n") + 1
    return page[:cut], page[cut:]


def _split_first(page: str) -> tuple[str, str]:
    """The first line and everything after it."""
    first, _newline, rest = page.lstrip("\n").partition("\n")
    return first, rest.lstrip("\n")


def _goes_on(page: str, last: str, first: str) -> bool:
    if not last.strip() or not first.strip() or _STRUCTURE.match(last) or _STRUCTURE.match(first):
        return False
    if len(_FENCE.findall(page)) % 2 or _ENTRY.match(first):
        return False
    start = first.lstrip()[0]
    if _HYPHEN.search(last):
        return start.isalpha()
    if _SENTENCE_END.search(last):
        return False
    if start.islower():
        return True
    if cleaning.is_cjk(last[-1]) and cleaning.is_cjk(start):
        return len(last) >= _LONG_ENOUGH // 3
    # After a comma or a word that cannot end a sentence, a capital may follow: "… published by the" "New York".
    return len(last) >= _LONG_ENOUGH and _OPEN_END.search(last) is not None
