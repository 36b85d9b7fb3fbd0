"""Plans the steps after a rejected answer: ask again with the defect, ask in halves, ask the next model, leave a marked
gap.

The planner has no side effects: it derives the next steps from a step and its outcome. Good paragraphs are never asked
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from fanfold.apps.proofread.checks.defect import Defect


class Rung(StrEnum):
    """The reason for a step."""

    FIRST = "first"
    NAMED = "named"
    HALVED = "halved"
    NEXT_MODEL = "next_model"
    GAP = "gap"


STUBBORN = frozenset(
    {"no_structure", "empty_answer", "not_translated", "wrong_script", "other_characters", "left_over", "chatter"}
)
"""Defects of a model that does not do the task at all; the size of the question is rarely the reason."""
MOST_BARREN = 4
"""Steps without a good paragraph after which such a model is not asked in still smaller pieces: with 40 paragraphs that would
be 80 calls."""


@dataclass(frozen=True)
class Step:
    """One call for some parts, or, with the rung ``gap``, parts that keep their source text and are marked."""

    parts: tuple[str, ...]
    rung: Rung = Rung.FIRST
    model: int = 0
    """Place in the chain of models."""
    defects: tuple[Defect, ...] = ()
    """The earlier defects: sent to the model, or the reason for the gap."""
    named: bool = False
    """Whether this model has already been told the defect."""
    barren: int = 0
    """How many steps in a row brought no good paragraph, each time for a reason that smaller questions rarely mend."""

    @property
    def is_gap(self) -> bool:
        """Whether no model is asked any more."""
        return self.rung is Rung.GAP


def first_step(parts: Iterable[str]) -> Step:
    """The call that begins the ladder."""
    return Step(tuple(parts))


def next_steps(step: Step, again: Sequence[str], defects: Sequence[Defect], models: int = 1) -> tuple[Step, ...]:
    """The next steps for the parts without a good answer; empty if all parts have one."""
    again = tuple(part for part in step.parts if part in set(again))
    if not again or step.is_gap:
        return ()
    names = {defect.name for defect in defects}
    told = tuple(defects)
    if names & {"refused", "unavailable"}:
        # The same model would refuse again, or cannot be asked now.
        return _other_model(step, again, told, models) or _halves(step, again, told) or (_gap(step, again, told),)
    if "cut_off" in names:
        return _halves(step, again, told) or _other_model(step, again, told, models) or (_gap(step, again, told),)
    step = replace(step, barren=step.barren + 1 if again == step.parts and names and names <= STUBBORN else 0)
    if not step.named:
        return (Step(again, Rung.NAMED, step.model, told, named=True, barren=step.barren),)
    smaller = _halves(step, again, told) if step.barren < MOST_BARREN else ()
    return smaller or _other_model(step, again, told, models) or (_gap(step, again, told),)


def _halves(step: Step, again: tuple[str, ...], told: tuple[Defect, ...]) -> tuple[Step, ...]:
    if len(again) < 2:
        return ()
    middle = (len(again) + 1) // 2
    halves = again[:middle], again[middle:]
    return tuple(
        Step(half, Rung.HALVED, step.model, _about(told, half), named=True, barren=step.barren) for half in halves
    )


def _other_model(step: Step, again: tuple[str, ...], told: tuple[Defect, ...], models: int) -> tuple[Step, ...]:
    return (Step(again, Rung.NEXT_MODEL, step.model + 1, told),) if step.model + 1 < models else ()


def _gap(step: Step, again: tuple[str, ...], told: tuple[Defect, ...]) -> Step:
    return Step(again, Rung.GAP, step.model, told)


def _about(defects: Iterable[Defect], parts: Sequence[str]) -> tuple[Defect, ...]:
    return tuple(defect for defect in defects if not defect.part or defect.part in parts)
