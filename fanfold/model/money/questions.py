"""Questions to models, their answers and their cost: the values that pipelines, providers and the ledger share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from fanfold.model.text.sentences import say

SCHEMA = "schema"
"""The parameter of a question that has the JSON Schema of its answer. Each protocol has its own words for it."""


class Check(Protocol):
    """Checks the text of an answer and returns it, cleaned; raises BadAnswer to reject it."""

    def __call__(self, text: str, /) -> str:
        """The accepted text."""
        ...


@dataclass(frozen=True)
class Question:
    """A question, the models to ask, and how the answer is checked."""

    prompt: str
    images: tuple[bytes, ...] = ()
    system: str | None = None
    models: tuple[str, ...] = ()
    """The chain: the first is asked, the next ones only when it fails. Each is `model`, `provider` or `provider:model`;
    `provider::model` where the first is meant to be a provider and nothing else."""
    check: Check | None = field(default=None, compare=False)
    parameters: dict[str, Any] = field(default_factory=dict)
    salt: str = ""
    """Part of the cache key: an answer stored under another salt is not reused."""
    keep_raw: bool = False
    lane: str = ""
    """`live`, `batch` or `auto`; empty is live."""
    chosen: str = ""
    """The model that the options of the task or item name. Its answer is not degraded, wherever it is in the chain."""

    def fingerprint(self, address: str, model: str, changes: dict[str, Any] | None = None) -> str:
        """The cache key: the same for the same question to the same model at the same address."""
        said = {
            "address": address,
            "model": model,
            "system": self.system,
            "prompt": self.prompt,
            "images": [hashlib.sha256(image).hexdigest() for image in self.images],
            "parameters": self.parameters | (changes or {}),
            "salt": self.salt,
        }
        return hashlib.sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class AttemptClock(Protocol):
    """The time limit of an attempt. It stands still while a question waits to be sent."""

    def hold(self) -> None:
        """Stop counting until ``go_on``; several holders may overlap."""
        ...

    def go_on(self) -> None:
        """Count again once every holder has called this."""
        ...


class Asking(Protocol):
    """The attempt for which a question is asked."""

    task_id: str
    task: int
    """The task's number."""
    pipeline: str
    owner: str
    item: int
    lease: int
    first_lease: int
    """Lease of the item's first attempt since it was created, or since a person had it redone."""
    failures: int
    """Failures of the item so far. An attempt that was only handed back is none."""
    retries_left: int
    wanted_by: datetime | None
    """Latest time for the answer; from then on, questions of the batch lane are asked live."""
    asked: set[str]
    """Keys of the questions that this attempt has asked in the batch lane."""
    clock: AttemptClock
    """Its time limit, which stands still while a question waits to be sent."""

    def fold(self, name: str, text: str, limit: int) -> str:
        """The text itself, or a reference to it if it is longer than ``limit`` bytes."""
        ...


def laid_over(task: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    """A task's options, overridden by those of one item. With another provider, the task's model does not apply."""
    if "provider" in item and "model" not in item:
        task = {name: value for name, value in task.items() if name != "model"}
    return task | item


def chain_of(options: dict[str, Any], model: str | None, fallback: Sequence[str] | None) -> tuple[str, ...]:
    """The models to ask, in order: those of the call, or else those of the options of the task or item."""
    provider, chosen = options.get("provider"), options.get("model")
    first = model or (f"{provider}::{chosen or ''}" if provider else chosen or "")
    others = options.get("fallback") if fallback is None else fallback
    return (str(first), *([others] if isinstance(others, str) else (str(other) for other in others or ())))


@dataclass(frozen=True)
class Usage:
    """What an answer used. None means unknown, not zero."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    """In US dollars."""


NOT_TOLD = Usage()


@dataclass(frozen=True)
class Answer:
    """A checked answer of a model."""

    text: str
    provider: str
    model: str
    usage: Usage = NOT_TOLD
    seconds: float = 0.0
    cached: bool = False
    """Whether it came from the cache and cost nothing."""
    fallback: bool = False
    """Whether a fallback model gave it: not the first of the chain, and not the model that the options name."""
    asked: str = ""
    """`provider:model` of the first of the chain."""
    tried: tuple[str, ...] = ()
    """Why earlier answers to the same question were rejected, one sentence each."""
    cleaned: bool = False
    """Whether something around the answer was removed: reasoning, a greeting, an offer of help, a code fence."""

    @property
    def source(self) -> str:
        """`provider:model`."""
        return f"{self.provider}:{self.model}"


@dataclass(frozen=True)
class Spending:
    """What was spent on models, by an item or a whole task."""

    calls: int = 0
    cached: int = 0
    """Answers from the cache, which cost nothing again."""
    unpriced: int = 0
    """Calls whose price is unknown: the real cost is at least ``cost``."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    model: str | None = None
    """The model that answered last."""
    possibly_paid: int = 0
    """Calls that were sent and never answered, for example because the process died: the service may have charged them."""

    def __bool__(self) -> bool:
        return bool(self.calls or self.cached or self.possibly_paid)


NOTHING_SPENT = Spending()


def cost_of_calls(spending: Spending) -> str:
    """The cost and what it is for: `$0.40 for 40 calls`, `≥ $0.40 for 40 answered calls, 8 unanswered calls may be charged`."""
    lost = spending.possibly_paid
    if lost and not spending.calls:
        return money(spending)
    kind = "answered call" if lost else "call"
    said = f"{_amount(spending)} for {spending.calls} {kind}{'' if spending.calls == 1 else 's'}"
    return say("cost_possibly_paid", amount=said, count=lost) if lost else said


def money(spending: Spending) -> str:
    """The cost in a word: `$0.0123`, `≥ $0.0123` when some calls have no known price, `unknown cost` when none has.

    Calls that may have been charged without an answer are listed: `≥ $0.0123, 8 unanswered calls may be charged`.
    """
    lost = spending.possibly_paid
    if lost and not spending.cost:
        return say("cost_unknown_paid", count=lost)
    return say("cost_possibly_paid", amount=_amount(spending), count=lost) if lost else _amount(spending)


def _amount(spending: Spending) -> str:
    """The cost that is known."""
    at_least = spending.unpriced or spending.possibly_paid
    if at_least and not spending.cost:
        return say("cost_unknown")
    digits = 2 if spending.cost >= 1 or spending.cost == 0 else 4
    return f"{'≥ ' if at_least else ''}${spending.cost:.{digits}f}"
