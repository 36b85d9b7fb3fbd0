"""The place in a document that supports a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FOUND = 88.0
"""Minimum score at which a quote counts as found in the document."""
WEAK = 75.0
"""Minimum score of weak evidence (below `FOUND`); a lower score is not evidence."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quote and the text that was found for it."""

    quote: str
    text: str
    """The text of the document at this place."""
    page: int | None
    line: int
    start: int
    """Offset in the text of the document."""
    end: int
    score: float
    """From 75 to 100. At most 87 if the quote is too short to prove much, or if its numbers differ from the text."""
    boxes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def is_weak(self) -> bool:
        """Whether a person should look at it."""
        return self.score < FOUND

    def as_json(self) -> dict[str, Any]:
        """The evidence of a cell."""
        return {name: getattr(self, name) for name in self.__slots__}
