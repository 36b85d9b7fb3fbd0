"""The interface to services that answer in batches, the same for all protocols."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from fanfold.model.text.sentences import Sentence, say
from fanfold.providers.configuration import Provider
from fanfold.providers.protocols import PROTOCOLS, load_class
from fanfold.providers.services.service import CUT, Request, Service, ServiceReply, ServiceTrouble, TroubleKind, connect

TOO_MANY_TOKENS = "too_many_tokens"
"""The code of a batch that was refused because too many tokens are already queued at the service."""

BROKEN_OFF = (*CUT, "ReadTimeout")
"""The HTTP library's names for a reply that ended early."""


@dataclass(frozen=True)
class BatchLimits:
    """The largest batch that is sent: at most nine tenths of what the service allows."""

    questions: int
    bytes: int


@dataclass(frozen=True)
class BatchStatus:
    """The progress of a batch at its service."""

    is_over: bool
    answered: int = 0
    failed: int = 0
    refusal: Sentence | None = None
    """Why the service refused the batch as a whole, if it did."""
    code: str = ""


@dataclass(frozen=True)
class MemberResult:
    """The outcome of one question. If it has neither reply nor trouble, it expired or was cancelled, and was not charged."""

    name: str
    """The name of the question in the batch."""
    reply: ServiceReply | None = None
    trouble: ServiceTrouble | None = None


class BatchService(Protocol):
    """Batches at one provider."""

    limits: BatchLimits

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        ...

    async def create(self, name: str, lines: Path, check: Callable[[], None]) -> str:
        """Send a batch; returns the service's id for it.

        ``check`` is called right before each request that changes something. It raises BatchTaken if another worker has taken
        the batch over, as after a long sleep of this process.
        """
        ...

    async def find(self, name: str, questions: int, since: datetime, known: set[str]) -> str | None:
        """The batch with this name and number of questions, if the service has it; ``known`` are ids of other batches."""
        ...

    async def look(self, job: str) -> BatchStatus:
        """The progress of a batch."""
        ...

    def results(self, job: str, model: str) -> AsyncIterator[MemberResult]:
        """The outcome of each question, one after the other."""
        ...

    async def cancel(self, job: str) -> None:
        """Ask the service to stop. Answers that exist by then are charged, and can be read."""
        ...

    async def remove(self, name: str, job: str | None) -> None:
        """Delete what the service stores of an ended batch, or of one that was not created."""
        ...


class BatchTaken(Exception):
    """Another worker has taken over a batch that this one was about to create."""


@dataclass(frozen=True)
class ProviderConnection:
    """The two ways to ask one provider: live, and in batches."""

    live: Service
    batches: BatchService


def connect_batches(provider: Provider) -> ProviderConnection:
    """Connect to a provider, live and for batches. Its library is loaded only now."""
    live: Any = connect(provider)
    return ProviderConnection(live, load_class(PROTOCOLS[provider.kind].batches)(live))


def reading_trouble(error: Exception, provider: Provider) -> ServiceTrouble:
    """The ServiceTrouble for results that broke off: they are read again from the start. Any other error is raised."""
    if not isinstance(error, ValueError) and type(error).__name__ not in BROKEN_OFF:
        raise error
    return ServiceTrouble(provider, TroubleKind.BUSY, say("broke_off"))


def packed_request(request: Request) -> str:
    """A request as JSON text, to be stored until it is sent."""
    said = asdict(request) | {"images": [base64.b64encode(image).decode() for image in request.images]}
    return json.dumps(said, ensure_ascii=False)


def unpacked_request(said: dict[str, Any]) -> Request:
    """The request in the decoded text of ``packed_request``."""
    images = tuple(base64.b64decode(image) for image in said["images"])
    return Request(said["model"], said["prompt"], images, said["system"], said["parameters"])
