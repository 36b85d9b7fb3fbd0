"""Items: the values that represent a piece of work before, during and after processing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, NamedTuple

from fanfold.model.decision import Decision
from fanfold.model.lifecycle import ItemState
from fanfold.model.money.questions import NOTHING_SPENT, Spending
from fanfold.model.values.typed import In, Out

HELD_SECONDS = 4_000 * 365 * 86_400.0
HELD_FROM = datetime(4000, 1, 1, tzinfo=UTC)
"""Due time of items that wait for a person. Other waits are capped at ten years, so the time alone tells them apart."""

REDONE = "$redone"
"""Option with a unique text, set when an item with a good result is redone. Handlers do not see it."""


class _BeganAgain:
    """Marks a new attempt in a stream: what the item emitted before no longer counts."""

    def __repr__(self) -> str:
        return "BEGAN_AGAIN"


BEGAN_AGAIN = _BeganAgain()


@dataclass(frozen=True)
class NewItem(Generic[In]):
    """A piece of work to be done: an optional key, unique within its stage, and an input that can be stored."""

    kept_types: ClassVar[tuple[str, ...]] = ("input",)

    key: str | None = None
    input: In | None = None


class AddedItem(NamedTuple):
    """An item that a handler adds to its own stage, as stored."""

    key: str
    input: str | None
    files: tuple[str, ...] = ()
    """Keys of the files in its input."""


@dataclass(frozen=True)
class Later:
    """Return value of ``look`` while an external job is running: poll again in ``seconds``."""

    seconds: float


def later(seconds: float) -> Later:
    """Poll again in ``seconds``; the item waits without occupying a worker."""
    return Later(max(0.0, float(seconds)))


class Claimed(NamedTuple):
    """An item claimed by a worker, with the lease needed to settle it. A tuple, because there are very many."""

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
    """Grows when a person has the item redone: attempts of one generation share their idempotency key."""
    task_generation: int = 0
    """The generation of its task at the claim; the worker's cached task row may be older."""
    lineage: str | None = None
    """The generations of its task's redone splits (JSON): the items of a redone split are different work."""
    ahead: bool = False
    """Whether it was claimed to wait for a slot: the database does not know yet whether its handler began."""
    begun_at: float | None = None
    """When the handler of an item claimed ahead began, on the worker's monotonic clock."""


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
    """Why its result is degraded; None if it is not."""
    accepted: bool = False
    """Whether a person accepted the degraded result."""
    word: str = ""
    """Its state in the application's words."""
    held: str | None = None
    """Why it waits for a person, if it does; it is not claimed until somebody retries it."""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """Codes and parameters of the texts that have them, by field; filled in JSON."""


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
    """Duration of the attempt that counts."""
    spending: Spending = NOTHING_SPENT
    """What its model calls cost, over all attempts."""
    degraded: str | None = None
    """Why it is degraded; None if it is not."""
    decisions: Mapping[str, Decision] = NONE_DECIDED
    """The latest decision about each of its parts, by part key, without undone ones."""


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
    """Codes and parameters of the texts that have them, by field; filled in JSON."""


@dataclass(frozen=True)
class ItemDetail:
    """An item with all its stored data."""

    item: Item
    input: Any
    output: Any
    options: dict[str, Any]
    previous: Any
    """Its output before it was redone, while that is stored."""
    previous_model: str | None
    made_by: str | None
    """The worker that made the output."""
    error_detail: str | None
    attempts: tuple[Attempt, ...]
    before: str | None
    """The key of the previous item of its stage."""
    after: str | None
    """The key of the next item."""


def position_of(key: str) -> int | None:
    """The position that a key stands for if its item has no key; None if it is not a plain number."""
    return int(key) if key.isascii() and key.isdigit() and len(key) < 10 and key[0] != "0" else None
