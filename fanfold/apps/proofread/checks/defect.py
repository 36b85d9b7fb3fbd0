"""A defect: what is wrong with an answer, and in which paragraph, worded for a model to repair and a person to understand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """Whether the answer is rejected (``hard``) or accepted with a warning (``soft``)."""

    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True)
class Defect:
    """One defect. ``part`` is the id of the paragraph, or empty for the whole answer."""

    name: str
    sentence: str
    part: str = ""
    severity: Severity = Severity.HARD


def hard(defects: Iterable[Defect]) -> list[Defect]:
    """The defects for which an answer is rejected."""
    return [defect for defect in defects if defect.severity is Severity.HARD]


def refused_parts(defects: Sequence[Defect], parts: Iterable[str]) -> set[str]:
    """The parts to ask for again: those with a hard defect, or all if the whole answer has one."""
    bad = {defect.part for defect in hard(defects)}
    return set(parts) if "" in bad else bad & set(parts)
