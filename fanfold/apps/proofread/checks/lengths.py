"""Learns the usual length of answers relative to their sources from the book itself."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field

LEAST_SEEN = 8
"""Minimum number of pairs before the median is trusted."""
NARROW, WIDE = 0.5, 2.0
"""Factor by which an answer may be shorter or longer than the median."""
FEW_CHARACTERS = 12
"""Shorter sources vary too much to be judged by their length."""


@dataclass(frozen=True)
class LengthBand:
    """The running median of the length ratios so far. Immutable: ``seen`` returns a new band."""

    ratios: tuple[float, ...] = field(default=())
    """In ascending order."""
    first: tuple[float, float] = (0.1, 8.0)
    """The band used until enough pairs were seen."""

    @property
    def median(self) -> float | None:
        """The usual ratio, once enough pairs were seen."""
        count = len(self.ratios)
        return None if count < LEAST_SEEN else (self.ratios[(count - 1) // 2] + self.ratios[count // 2]) / 2

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and largest ratio of a complete answer."""
        median = self.median
        return self.first if median is None else (median * NARROW, median * WIDE)

    def seen(self, pairs: Iterable[tuple[str, str]]) -> LengthBand:
        """The band after more pairs of source and answer."""
        ratios = list(self.ratios)
        for source, answer in pairs:
            if len(source.strip()) >= FEW_CHARACTERS:
                insort(ratios, len(answer.strip()) / len(source.strip()))
        return LengthBand(tuple(ratios), self.first)

    def fits(self, source: str, answer: str) -> bool:
        """Whether an answer has a plausible length; a very short source is not judged."""
        source, answer = source.strip(), answer.strip()
        if len(source) < FEW_CHARACTERS:
            return True
        low, high = self.limits
        return low <= len(answer) / len(source) <= high
