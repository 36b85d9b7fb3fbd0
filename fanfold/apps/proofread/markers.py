"""Finds numbered markers in a text, and checks that an answer kept all of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from fanfold.apps.proofread.formats.book import Brackets

PAIRS = (("⟦", "⟧"), ("⦃", "⦄"), ("⟬", "⟭"), ("⦇", "⦈"), ("⧼", "⧽"), ("⸨", "⸩"), ("❲", "❳"), ("\ue0f0", "\ue0f1"))
"""Candidates for brackets, in order of preference. The last ones are for private use and occur in no ordinary text."""


def free_brackets(text: str) -> Brackets:
    """Brackets that do not occur in the text."""
    for left, right in PAIRS:
        if left not in text and right not in text:
            return Brackets(left, right)
    taken = set(text)
    free = (chr(code) for code in range(0xE100, 0xF8FF) if chr(code) not in taken)
    return Brackets(next(free), next(free))


@lru_cache(maxsize=64)
def marker_pattern(brackets: Brackets) -> re.Pattern[str]:
    """Matches a marker; group 1 is a slash if it closes a pair, group 2 its number."""
    return re.compile(f"{re.escape(brackets.left)}(/?)([0-9]{{1,6}}){re.escape(brackets.right)}")


def marks_in(text: str, brackets: Brackets) -> list[str]:
    """The markers of a text, in order, as ``7`` and ``/7``."""
    return [found[1] + found[2] for found in marker_pattern(brackets).finditer(text)]


def without_marks(text: str, brackets: Brackets) -> str:
    """The text without its markers."""
    return marker_pattern(brackets).sub("", text) if brackets.left in text else text


def filled(text: str, shown: Iterable[Sequence[str]]) -> str:
    """The text with what its markers stand for."""
    for marker, inside in shown:
        text = text.replace(marker, inside)
    return text


def lost_and_added(source: str, answer: str, brackets: Brackets) -> tuple[list[str], list[str]]:
    """The markers that are missing from an answer, and those that it repeats or invents."""
    wanted, found = Counter(marks_in(source, brackets)), Counter(marks_in(answer, brackets))
    return sorted((wanted - found).elements(), key=_order), sorted((found - wanted).elements(), key=_order)


def well_nested(text: str, brackets: Brackets) -> bool:
    """Whether every pair that is closed in the text was opened before, and pairs do not overlap."""
    marks = marks_in(text, brackets)
    closed = {mark[1:] for mark in marks if mark.startswith("/")}
    opened = {mark for mark in marks if mark in closed}
    stack = []
    for mark in marks:
        if mark in closed:
            stack.append(mark)
        elif mark.startswith("/") and mark[1:] in opened and (not stack or stack.pop() != mark[1:]):
            return False
    return not stack


def stray_brackets(text: str, brackets: Brackets) -> bool:
    """Whether there are brackets outside any marker, for example because a model garbled one."""
    rest = without_marks(text, brackets)
    return brackets.left in rest or brackets.right in rest


def _order(mark: str) -> tuple[int, bool]:
    return int(mark.lstrip("/")), mark.startswith("/")
