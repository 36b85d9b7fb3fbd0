"""An external job: work that another service does for an item, and for which somebody may have to pay."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

EXTERNAL_COMMANDS = ("check", "lost", "resend")
"""What a person may say of an external job."""


class JobState(StrEnum):
    """What is known of an external job."""

    INTENDED = "intended"
    """The call that starts it is under way, or its worker died meanwhile."""
    UNKNOWN = "unknown"
    """The call has ended without saying whether the job was started."""
    STARTED = "started"
    RESEND = "resend"
    """A person wants it to be started again, with the same key."""
    OVER = "over"
    """It came to a bad end, or a person says that it was lost. The next one gets a new key."""


@dataclass(frozen=True)
class JobRow:
    """What the store knows of the job of an item."""

    item: int
    name: str
    lease: int
    key: str
    state: JobState
    job: str | None
    seconds: float
    """How long it has been in this state."""
    in_flight: bool
    """Whether a living worker may still be in the middle of the call that starts it."""


@dataclass(frozen=True)
class ExternalJob:
    """An external job as people see it."""

    item: str
    stage: str
    name: str
    state: JobState
    key: str
    job: Any
    """The id that the service gave it, once it is known."""
    intended_at: datetime
    updated_at: datetime
    held: str | None
    """Why its item waits for a person, if it does."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""
