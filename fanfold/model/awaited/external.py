"""External jobs: work that another service does for an item, possibly for money."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

EXTERNAL_COMMANDS = ("check", "lost", "resend")
"""A person's commands on external jobs."""


class JobState(StrEnum):
    """State of an external job."""

    INTENDED = "intended"
    """The call that starts it is in flight, or its worker died meanwhile."""
    UNKNOWN = "unknown"
    """The call ended without telling whether the job was started."""
    STARTED = "started"
    RESEND = "resend"
    """A person wants it started again with the same key."""
    OVER = "over"
    """It failed, or a person says that it was lost. The next one gets a new key."""


@dataclass(frozen=True)
class JobRow:
    """The stored job of an item."""

    item: int
    name: str
    lease: int
    key: str
    state: JobState
    job: str | None
    seconds: float
    """How long it has been in this state."""
    in_flight: bool
    """Whether a live worker may still be in the call that starts it."""


@dataclass(frozen=True)
class ExternalJob:
    """An external job as people see it."""

    item: str
    stage: str
    name: str
    state: JobState
    key: str
    job: Any
    """The service's id of the job, once known."""
    intended_at: datetime
    updated_at: datetime
    held: str | None
    """Why its item waits for a person, if it does."""
    ended: bool = False
    """Whether its item has ended: nobody polls the job or starts it again before the item is retried."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """Codes and parameters of the texts that have them, by field; filled in JSON."""
