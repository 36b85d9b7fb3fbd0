"""Batches of questions that a service answers later at a lower price: their states, and the records people see."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.lifecycle import PERSON, WORKER, Move
from fanfold.model.text.sentences import say

LIVE, BATCH, AUTO = "live", "batch", "auto"
LANE, DEADLINE = "lane", "deadline"
"""The options of a task for its lane, and for the deadline after which questions are asked live."""
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
    """State in the row of a batch."""

    SENDING = "sending"
    RUNNING = "running"
    FETCHING = "fetching"
    DONE = "done"
    FAILED = "failed"


class MemberState(StrEnum):
    """State in the row of a question in the batch lane."""

    COLLECTED = "collected"
    SENT = "sent"
    ANSWERED = "answered"
    FAILED = "failed"
    LIVE = "live"


COLLECTED, SENT = MemberState.COLLECTED, MemberState.SENT
BATCH_MOVES = (
    Move("begin", (), (BatchState.SENDING,), WORKER, "collected questions are put into it"),
    Move("send", (BatchState.SENDING,), (BatchState.RUNNING,), WORKER, "the service has it, and has given it an id"),
    Move(
        "fetch", (BatchState.RUNNING,), (BatchState.FETCHING,), WORKER, "it has ended at the service: results are read"
    ),
    Move(
        "end",
        (BatchState.SENDING, BatchState.FETCHING),
        (BatchState.DONE,),
        WORKER,
        "every question has its outcome, or all of them were withdrawn before the batch was sent",
    ),
    Move(
        "refuse",
        (BatchState.SENDING, BatchState.RUNNING),
        (BatchState.FAILED,),
        WORKER,
        "the service rejected the whole batch",
    ),
)
MEMBER_MOVES = (
    Move("collect", (), (COLLECTED,), WORKER, "a handler asked it in the batch lane"),
    Move("send", (COLLECTED,), (SENT,), WORKER, "it is in a batch, which the service has or is being given"),
    Move("return", (SENT,), (COLLECTED,), WORKER, "its batch brought no result: it goes into the next one"),
    Move(
        "answer",
        (COLLECTED, SENT, MemberState.LIVE),
        (MemberState.ANSWERED,),
        WORKER,
        "its answer arrived: from its batch, from another batch with the same question, or from the trial call",
    ),
    Move("fail", (COLLECTED, SENT), (MemberState.FAILED,), WORKER, "the service refused it, or its whole batch"),
    Move(
        "go_live",
        (COLLECTED, SENT),
        (MemberState.LIVE,),
        WORKER + PERSON,
        "it is past its deadline, or a person switched the task to live",
    ),
    Move(
        "forget",
        (MemberState.ANSWERED, MemberState.FAILED, MemberState.LIVE),
        (),
        WORKER + PERSON,
        "it is asked again, or its task is deleted",
    ),
    Move("withdraw", (COLLECTED, SENT), (), WORKER + PERSON, "its task was cancelled or deleted"),
)
OPEN_BATCHES = (BatchState.SENDING, BatchState.RUNNING, BatchState.FETCHING)
OPEN_MEMBERS = (MemberState.COLLECTED, MemberState.SENT)
"""States of questions whose items wait."""


UNREGISTERED = "unregistered:"
"""Start of the id of a process that carries batches without being a registered worker, such as a tick."""


class AwaitBatch(BaseException):
    """Ends the attempt: the item waits, without a worker, until its question is answered in a batch.

    Not an Exception, so that a handler with `except Exception` does not continue without an answer. The question is checked
    again after ``seconds`` at the latest.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True)
class Batch:
    """One batch at a service."""

    id: str
    """Our name for it, which the service stores in the metadata or in the ids of the questions."""
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
    """Codes and parameters of the texts that have them, by field; filled in JSON."""


@dataclass(frozen=True)
class LaneCounts:
    """How many questions of a task are in the batch lane, by state."""

    collected: int = 0
    sending: int = 0
    """In a batch that is being sent."""
    sent: int = 0
    """In a batch that the service has."""
    answered: int = 0
    failed: int = 0
    live: int = 0
    later_live: int = 0
    """Open questions that are asked live as soon as their batch is over."""
    shared: int = 0
    """How many of them are in a batch that is not cancelled, because other tasks wait for it too."""
    trouble: str | None = None
    """What the service said the last time that one of its batches was sent or polled without success."""

    @property
    def open(self) -> int:
        """Questions without an answer yet."""
        return self.collected + self.sending + self.sent


NONE_BATCHED = LaneCounts()
