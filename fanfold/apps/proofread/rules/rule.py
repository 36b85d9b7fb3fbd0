"""The shape of a rule: a named, idempotent correction that never changes a letter or digit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanfold.apps.proofread.scripts import has_cjk, mostly_cjk


@dataclass(frozen=True)
class Setting:
    """What a rule knows about a line besides the line itself."""

    head: bool = False
    """Whether it is a chapter heading."""
    chinese: bool = True
    """Whether the text as a whole is Chinese or Japanese."""

    def is_chinese(self, line: str) -> bool:
        """Whether Chinese typography applies to a line. In other books a Chinese word in a sentence does not make it so."""
        return has_cjk(line) and (self.chinese or mostly_cjk(line, 0.5))


@dataclass(frozen=True)
class Rule:
    """A correction of one paragraph."""

    name: str
    help: str
    before: str
    after: str
    apply: Callable[[str, Setting], str]
    on: bool = True
    """Whether it is on by default."""


@dataclass(frozen=True)
class GapRule:
    """A correction of the space between two paragraphs of a text file, given with the newline of the file."""

    name: str
    help: str
    before: str
    after: str
    apply: Callable[[str, str], str]
    on: bool = True


AnyRule = Rule | GapRule
