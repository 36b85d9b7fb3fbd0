"""Draws a timeline as rectangles in percent, so that it needs neither scripts nor style attributes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from fanfold.model.item import Attempt
from fanfold.model.task import Timeline, WorkerPace

SHADES = 4
"""Number of colour intensities."""
THINNEST = 0.35


@dataclass(frozen=True)
class TimelineBlock:
    """A rectangle: start and width in percent, style class and label."""

    x: float
    width: float
    look: str
    seconds: float = 0.0
    done: int = 0
    failed: int = 0
    name: str = ""
    at: datetime | None = None
    attempt: Attempt | None = None


@dataclass(frozen=True)
class TimelineRow:
    """One row of the drawing with its totals."""

    name: str
    blocks: tuple[TimelineBlock, ...]
    done: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Drawing:
    """The whole drawing: stages, workers, failed attempts, and time ticks below."""

    stages: tuple[TimelineBlock, ...]
    rows: tuple[TimelineRow, ...]
    mishaps: tuple[TimelineBlock, ...]
    seconds: float
    most: int


def drawn(timeline: Timeline, finished_at: datetime | None = None) -> Drawing:
    """The timeline as rectangles. The last stage ends with the task, although the drawing spans at least a second."""
    end = finished_at or timeline.ended_at
    whole = (timeline.ended_at - timeline.started_at).total_seconds()
    most = max([1, *(sum(pair) for row in timeline.rows for pair in zip(row.done, row.failed, strict=True))])
    stages = tuple(
        _block(
            timeline, span.started_at, max(span.started_at, min(span.ended_at or end, end)), "stage", name=span.stage
        )
        for span in timeline.stages
    )
    mishaps = tuple(
        _block(timeline, one.started_at or one.ended_at, one.ended_at, f"mishap-{one.outcome}", attempt=one)
        for one in timeline.attempts
    )
    return Drawing(stages, tuple(_row(timeline, row, most) for row in timeline.rows), mishaps, whole, most)


def _block(
    timeline: Timeline, start: datetime, end: datetime, look: str, name: str = "", attempt: Attempt | None = None
) -> TimelineBlock:
    whole = (timeline.ended_at - timeline.started_at).total_seconds()
    first = min(1.0, max(0.0, (start - timeline.started_at).total_seconds() / whole))
    last = min(1.0, max(first, (end - timeline.started_at).total_seconds() / whole))
    width = max(THINNEST, 100 * (last - first))
    x = min(100 * first, 100 - width)
    return TimelineBlock(
        round(x, 2), round(width, 2), look, (end - start).total_seconds(), name=name, at=start, attempt=attempt
    )


def _row(timeline: Timeline, row: WorkerPace, most: int) -> TimelineRow:
    count = len(row.done)
    each = 100 / count
    blocks = tuple(
        TimelineBlock(
            round(at * each, 2), round(each, 2), _look(done, failed, most), timeline.seconds_per_span, done, failed
        )
        for at, (done, failed) in enumerate(zip(row.done, row.failed, strict=True))
        if done or failed
    )
    return TimelineRow(row.worker or "", blocks, sum(row.done), sum(row.failed))


def _look(done: int, failed: int, most: int) -> str:
    shade = max(1, round(SHADES * (done + failed) / most))
    return f"heat-{shade}" + (" has-failed" if failed else "")
