"""What is an item? The values that stand for pieces of work, before, while and after they are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, NamedTuple

from fanfold.model.decision import Decision
from fanfold.model.lifecycle import ItemState
from fanfold.model.values.questions import NOTHING_SPENT, Spending
from fanfold.model.values.typed import In, Out

HELD_SECONDS = 4_000 * 365 * 86_400.0
HELD_FROM = datetime(4000, 1, 1, tzinfo=UTC)
"""An item that waits for a person is due in 4000 years. Any other wait is capped at ten, so the time alone tells them apart."""

REDONE = "$redone"
"""Among the options of an item that had a good result and is done again: a text of its own. Handlers do not see it."""


class _BeganAgain:
    """Stands in a stream for the start of another attempt: what the item emitted before does not count any more."""

    def __repr__(self) -> str:
        return "BEGAN_AGAIN"


BEGAN_AGAIN = _BeganAgain()


@dataclass(frozen=True)
class NewItem(Generic[In]):
    """A piece of work to be done: an optional key, unique within its stage, and an input that can be kept."""

    kept_types: ClassVar[tuple[str, ...]] = ("input",)

    key: str | None = None
    input: In | None = None


@dataclass(frozen=True)
class Later:
    """What a handler returns when an external job is under way: look again in so many seconds."""

    seconds: float


def later(seconds: float) -> Later:
    """Look again in ``seconds``; the item waits without holding a worker."""
    return Later(max(0.0, float(seconds)))


class Claimed(NamedTuple):
    """An item a worker holds, with the lease it must show when it settles it. A tuple, as there are very many of them."""

    id: int
    lease: int
    task: int
    stage: str
    seq: int
    key: str
    attempts: int
    failures: int
    crashes: int
    input: str | None
    options: str | None
    memory: str | None
    waiting_seconds: float
    has_permit: bool = False
    generation: int = 0
    """Grows when an item is redone on purpose: attempts of one generation share their idempotency key."""
    task_generation: int = 0
    """The generation of its task when it was claimed: what a worker knows of the task may be older."""
    lineage: str | None = None
    """The generations of its task's splits that were done again (JSON): what a split makes anew is other work."""


@dataclass(frozen=True)
class Item:
    """An item as people see it."""

    key: str
    stage: str
    seq: int
    state: ItemState
    attempts: int
    failures: int
    crashes: int
    worker: str | None
    available_at: datetime | None
    started_at: datetime | None
    finished_at: datetime | None
    progress: float
    message: str | None
    error_code: str | None
    error_message: str | None
    model: str | None
    usage: Any = None
    spending: Spending = NOTHING_SPENT
    degraded: str | None = None
    """Why its result is not what was asked for; None when it is."""
    accepted: bool = False
    """Whether a person keeps that degraded result as it is."""
    word: str = ""
    """Its state in the words of its application."""
    held: str | None = None
    """Why it waits for a person, if it does; nothing claims it until somebody retries it."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""


NONE_DECIDED: Mapping[str, Decision] = {}


class Result(NamedTuple, Generic[In, Out]):
    """An item's result in the ordered stream that a merge reads."""

    key: str
    seq: int
    ok: bool
    input: In
    output: Out
    error_code: str | None
    error_message: str | None
    model: str | None = None
    usage: Any = None
    seconds: float | None = None
    """How long the attempt that counts took."""
    spending: Spending = NOTHING_SPENT
    """What its models cost, over all attempts."""
    degraded: str | None = None
    """Why it is not what was asked for; None when it is."""
    decisions: Mapping[str, Decision] = NONE_DECIDED
    """What people have decided about its parts, by part key: the latest decision about each, without those taken back."""


@dataclass(frozen=True)
class Attempt:
    """An attempt that failed, was lost with its worker, or cost money."""

    number: int
    worker: str | None
    outcome: str
    started_at: datetime | None
    ended_at: datetime
    error_code: str | None
    error_message: str | None
    error_detail: str | None
    model: str | None
    stage: str = ""
    key: str = ""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""


@dataclass(frozen=True)
class ItemDetail:
    """An item with everything that is kept of it."""

    item: Item
    input: Any
    output: Any
    options: dict[str, Any]
    previous: Any
    """What it was before it was made again, as long as that is kept."""
    previous_model: str | None
    made_by: str | None
    """The worker that made the output."""
    error_detail: str | None
    attempts: tuple[Attempt, ...]
    before: str | None
    """The key of the item before it in its stage."""
    after: str | None
    """The key of the item after it."""


def position_of(key: str) -> int | None:
    """The position that a key names when its item has none of its own; None for what is no plain number."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 10 and key[0] != "0" else None
