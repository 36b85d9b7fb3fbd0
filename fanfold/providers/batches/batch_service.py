"""What a service that answers in batches can do, whatever its protocol."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from fanfold.model.text.sentences import Sentence
from fanfold.providers.configuration import Provider
from fanfold.providers.services import Reply, Request, Service, ServiceTrouble, connect

TOO_MANY_TOKENS = "too_many_tokens"
"""The code of a batch that was refused because too many tokens wait at the service already."""


@dataclass(frozen=True)
class BatchLimits:
    """What one batch may have: nine tenths of what the service allows."""

    questions: int
    bytes: int


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is at its service."""

    is_over: bool
    answered: int = 0
    failed: int = 0
    refusal: Sentence | None = None
    """Why the service refused the batch as a whole, if it did."""
    code: str = ""


@dataclass(frozen=True)
class MemberResult:
    """What became of one question; neither a reply nor trouble when it expired or was cancelled, and was not paid."""

    name: str
    """As the question was called in the batch."""
    reply: Reply | None = None
    trouble: ServiceTrouble | None = None


class BatchService(Protocol):
    """Batches at one provider."""

    limits: BatchLimits

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        ...

    async def create(self, name: str, lines: Path) -> str:
        """Send a batch; returns the service's id for it."""
        ...

    async def find(self, name: str, since: datetime, known: set[str]) -> str | None:
        """The batch that was sent under a name, if the service has it; ``known`` are the ids of other batches."""
        ...

    async def look(self, job: str) -> BatchStatus:
        """How far it is."""
        ...

    def results(self, job: str, model: str) -> AsyncIterator[MemberResult]:
        """What became of each question, one after the other."""
        ...

    async def cancel(self, job: str) -> None:
        """Ask the service to stop; what is answered already is paid and can be read."""
        ...

    async def remove(self, job: str) -> None:
        """Delete what the service keeps of an ended batch."""
        ...


@dataclass(frozen=True)
class Connection:
    """The two ways to one provider: a question now, and many later."""

    live: Service
    batches: BatchService


def connect_batches(provider: Provider) -> Connection:
    """The way to a provider's batches; its library is loaded now and not earlier."""
    live: Any = connect(provider)
    if provider.kind == "anthropic":
        from fanfold.providers.batches.anthropic_batches import AnthropicBatches

        return Connection(live, AnthropicBatches(live))
    from fanfold.providers.batches.openai_batches import OpenAIBatches

    return Connection(live, OpenAIBatches(live))


def packed_request(request: Request) -> str:
    """A request as text, for the time until it is sent."""
    said = asdict(request) | {"images": [base64.b64encode(image).decode() for image in request.images]}
    return json.dumps(said, ensure_ascii=False)


def unpacked_request(said: dict[str, Any]) -> Request:
    """The request that was packed."""
    images = tuple(base64.b64decode(image) for image in said["images"])
    return Request(said["model"], said["prompt"], images, said["system"], said["parameters"])
