"""Decides whether a stage is over and how it ended, as a pure function of counts."""

from __future__ import annotations

from enum import StrEnum

from fanfold.model.lifecycle import ItemState
from fanfold.model.plan import Kind, PlannedStage
from fanfold.model.progress import Counts


class Verdict(StrEnum):
    """What happens to a task after its stage was checked."""

    OPEN = "open"
    CONTINUE = "continue"
    PARTIAL = "partial"
    FAILED = "failed"


def verdict(stage: PlannedStage, counts: Counts) -> Verdict:
    """All done, or few enough failed: continue. Some done, too many failed: partial. None done, or failing fast: failed."""
    failed = counts[ItemState.FAILED]
    too_many = failed > stage.tolerated(counts.total)
    if stage.fail_fast and too_many:
        return Verdict.FAILED
    if counts.settled < counts.total:
        return Verdict.OPEN
    if not too_many:
        return Verdict.CONTINUE
    return Verdict.PARTIAL if stage.kind is Kind.EACH and counts[ItemState.DONE] else Verdict.FAILED
