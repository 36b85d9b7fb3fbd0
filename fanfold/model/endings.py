"""The ways an attempt can end, one row each: the item's next state, and the word for it in every record.

The worker settles by these names, the store takes the states from here, and events, the history of attempts, log lines, counts
and the documentation take their words from here. Events and outcomes are stored: if a word changed, old rows would not match.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fanfold.model.lifecycle import DONE, PENDING, RETRYING, ItemState


@dataclass(frozen=True, kw_only=True)
class EndingFacts:
    """The attributes of an ending."""

    move: str | None
    """The verb of ``ITEM_MOVES``; None if the item does not move."""
    state: ItemState | None = None
    """The state it leads to; None if that depends on the item, or if nothing changes."""
    event: str | None = None
    """The verb of its event; None if there is no event."""
    outcome: str
    """Its word in the history of attempts and in the list of calls."""
    log_word: str
    """First word of its log line."""
    is_error: bool = False
    """Whether the error and the attempt are stored."""
    counts: bool = False
    """Whether it is a failure of the work, which uses up a retry unless the settlement says otherwise."""
    needs_task: bool = True
    """Whether it is accepted only while the task is active and in the item's stage."""
    meaning: str


class Ending(StrEnum):
    """How one attempt at an item ends."""

    def __new__(cls, name: str, facts: EndingFacts) -> Ending:
        """A string with its facts as attributes, for fast access: it is read for every item."""
        self = str.__new__(cls, name)
        self._value_ = name
        self.move, self.state, self.event = facts.move, facts.state, facts.event
        self.outcome, self.log_word, self.meaning = facts.outcome, facts.log_word, facts.meaning
        self.is_error, self.counts, self.needs_task = facts.is_error, facts.counts, facts.needs_task
        self.warns = facts.is_error or facts.event == "hold"
        return self

    move: str | None
    state: ItemState | None
    event: str | None
    outcome: str
    log_word: str
    is_error: bool
    counts: bool
    needs_task: bool
    meaning: str
    warns: bool
    """Whether its log line is a warning."""

    FINISH = (
        "finish",
        EndingFacts(
            move="finish", state=DONE, outcome="done", log_word="Finished", meaning="the handler returned a result"
        ),
    )
    FAIL = (
        "fail",
        EndingFacts(
            move="fail",
            state=ItemState.FAILED,
            event="fail",
            outcome="failed",
            log_word="Failed",
            is_error=True,
            counts=True,
            meaning="the handler raised, and no retry is left or would help",
        ),
    )
    BACK_OFF = (
        "back_off",
        EndingFacts(
            move="fail",
            state=RETRYING,
            event="fail",
            outcome="retrying",
            log_word="Failed",
            is_error=True,
            counts=True,
            meaning="the handler raised: it is retried after a back-off",
        ),
    )
    POSTPONE = (
        "postpone",
        EndingFacts(
            move="postpone",
            state=ItemState.WAITING,
            outcome="postpone",
            log_word="Postponed",
            meaning="an external job is running: poll again later",
        ),
    )
    HOLD = (
        "hold",
        EndingFacts(
            move="postpone",
            state=ItemState.WAITING,
            event="hold",
            outcome="hold",
            log_word="Holding",
            meaning="it waits for a person",
        ),
    )
    RELEASE = (
        "release",
        EndingFacts(
            move="release",
            state=PENDING,
            event="release",
            outcome="release",
            log_word="Released",
            needs_task=False,
            meaning="handed back without a failure counted; an event only if a tick was too short for it",
        ),
    )
    RECLAIM = (
        "reclaim",
        EndingFacts(
            move="reclaim",
            event="reclaim",
            outcome="lost",
            log_word="Reclaimed",
            is_error=True,
            needs_task=False,
            meaning="the process that ran it died: it runs again, or fails as poison",
        ),
    )
    LOST = (
        "lost",
        EndingFacts(
            move=None,
            outcome="lost",
            log_word="Lost",
            needs_task=False,
            meaning="its lease was lost: nothing changes except that its spending is counted",
        ),
    )
