"""Batches of questions that a service answers later at a lower price: their states, and the records people see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

LIVE, BATCH, AUTO = "live", "batch", "auto"
LANE, DEADLINE = "lane", "deadline"
"""The options of a task that say how its questions are asked, and after how long they are asked live in any case."""
LANES = (LIVE, BATCH, AUTO)
"""How questions are asked: now at full price, in batches at a lower price, or in batches if the time allows it."""


UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def duration(given: Any) -> float:
    """Seconds, from a number or from `90s`, `30m`, `6h`, `2d`; BadInput for anything else."""
    text = str(given).strip().lower()
    factor = UNITS.get(text[-1:], 1)
    try:
        seconds = float(text[:-1] if text[-1:] in UNITS else text) * factor
    except ValueError:
        seconds = -1.0
    if isinstance(given, bool) or not 0 <= seconds <= 366 * 86_400:
        raise BadInput(say("bad_duration", value=str(given)))
    return seconds


class BatchState(StrEnum):
    """What the row of a batch says."""

    SENDING = "sending"
    RUNNING = "running"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"


class MemberState(StrEnum):
    """What the row of a question in the batch lane says."""

    COLLECTED = "collected"
    SENT = "sent"
    ANSWERED = "answered"
    FAILED = "failed"
    LIVE = "live"


OPEN_BATCHES = (BatchState.SENDING, BatchState.RUNNING, BatchState.FETCHING)
OPEN_MEMBERS = (MemberState.COLLECTED, MemberState.SENT)
"""Questions whose items wait."""


class AwaitBatch(BaseException):
    """Ends the attempt: the item waits, without a worker, until its question is answered in a batch.

    Not an Exception, so that a handler that catches all of them does not go on without an answer. ``seconds`` is when to look
    again in any case.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True)
class Batch:
    """One batch at a service."""

    id: str
    """Our name for it, which the service keeps in the metadata or in the ids of the questions."""
    provider: str
    model: str
    state: BatchState
    job: str | None
    """The service's id for it; None until the service has accepted it."""
    questions: int
    tokens: int
    """Estimated input tokens."""
    answered: int
    failed: int
    created_at: datetime
    ended_at: datetime | None
    reason: str | None
    """Why it failed, or what it waits for."""
    cancelling: bool = False
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold made, by field; filled in JSON."""


@dataclass(frozen=True)
class LaneCounts:
    """How many questions of a task are in the batch lane, by what becomes of them."""

    collected: int = 0
    sent: int = 0
    answered: int = 0
    failed: int = 0
    live: int = 0

    @property
    def open(self) -> int:
        """Questions without an answer yet."""
        return self.collected + self.sent


NONE_BATCHED = LaneCounts()
