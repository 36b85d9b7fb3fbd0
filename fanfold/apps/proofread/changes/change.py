"""One change of a paragraph: the text before and after, the rule or model that made it, and a key that survives a redo."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class ChangeKind(StrEnum):
    """What a change does to the text."""

    INSERT = "insert"
    DELETE = "delete"
    REPLACE = "replace"


class Topic(StrEnum):
    """What a change is about: white space, punctuation, or words."""

    SPACE = "space"
    PUNCTUATION = "punctuation"
    WORDS = "words"


@dataclass(frozen=True)
class Span:
    """A difference between two texts: the source from ``start`` to ``end`` becomes ``after``."""

    start: int
    end: int
    after: str


@dataclass(frozen=True)
class Change:
    """A change of one paragraph, with all data for lists, decisions and output files."""

    key: str
    block: str
    start: int
    """Offset in the paragraph of the source."""
    before: str
    after: str
    kind: ChangeKind
    topic: Topic
    origin: str
    """`rule:NAME` or `model:NAME`."""
    left: str = ""
    """A few characters before it in the source."""
    right: str = ""

    @property
    def end(self) -> int:
        """Where the changed text ends in the source."""
        return self.start + len(self.before)

    def as_dict(self) -> dict[str, Any]:
        """The change as JSON values."""
        return {name: str(value) if isinstance(value, StrEnum) else value for name, value in asdict(self).items()}
