"""Anthropic's message batches: the requests go in one call, and the results come as lines.

These batches have no metadata. Our name is in the id of each request, so a batch whose answer to `create` was lost is
recognised by its results. Until it has results, any new batch with the same number of requests may be ours.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anthropic

from fanfold.model.text.sentences import say
from fanfold.providers.batches.batch_service import BatchLimits, BatchStatus, MemberResult, reading_trouble
from fanfold.providers.services.anthropic import AnthropicService, trouble_of
from fanfold.providers.services.service import Request, ServiceTrouble, TroubleKind, trouble_inside

CREATE_SECONDS = 600.0
CLOCK_SECONDS = 120.0
"""Most that the service's clock may differ from the database's."""


class AnthropicBatches:
    """Batches at one provider that speaks this protocol."""

    limits = BatchLimits(questions=90_000, bytes=60_000_000)
    """Far fewer bytes than the service allows, because one request holds all of them in memory."""

    def __init__(self, service: AnthropicService) -> None:
        self.service = service
        self.client = service.client.with_options(timeout=CREATE_SECONDS)

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        return json.dumps({"custom_id": name, "params": self.service.body(request)}, ensure_ascii=False)

    async def create(self, name: str, lines: Path, check: Callable[[], None]) -> str:
        """Send all requests of the file in one call."""
        with lines.open(encoding="utf-8") as content:
            requests: Any = [json.loads(line) for line in content]
        check()
        try:
            made = await self.client.messages.batches.create(requests=requests)
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
        return made.id

    async def find(self, name: str, questions: int, since: datetime, known: set[str]) -> str | None:
        """A batch made after ``since`` whose requests carry our name; ServiceTrouble while a running batch may be ours."""
        try:
            async for batch in self.client.messages.batches.list(limit=100):
                if batch.created_at < since - timedelta(seconds=CLOCK_SECONDS):
                    break
                if batch.id in known or _requests(batch.request_counts) != questions:
                    continue
                if batch.processing_status != "ended":
                    raise ServiceTrouble(
                        self.service.provider, TroubleKind.BUSY, say("batch_may_be_ours", job=batch.id)
                    )
                if await self._is_ours(batch.id, name):
                    return batch.id
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
        return None

    async def _is_ours(self, job: str, name: str) -> bool:
        try:
            async for line in await self.client.messages.batches.results(job):
                return line.custom_id.startswith(f"{name}-")
        except anthropic.NotFoundError:
            return False  # Somebody has deleted it.
        except Exception as error:
            raise reading_trouble(error, self.service.provider) from None
        return False

    async def look(self, job: str) -> BatchStatus:
        """The progress of a batch."""
        try:
            batch = await self.client.messages.batches.retrieve(job)
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
        counts = batch.request_counts
        return BatchStatus(batch.processing_status == "ended", counts.succeeded, counts.errored)

    async def results(self, job: str, model: str) -> AsyncIterator[MemberResult]:
        """The lines of the results."""
        try:
            async for line in await self.client.messages.batches.results(job):
                yield self._result(line.custom_id, line.result, model)
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
        except Exception as error:
            raise reading_trouble(error, self.service.provider) from None

    def _result(self, name: str, result: Any, model: str) -> MemberResult:
        if result.type == "succeeded":
            try:
                return MemberResult(name, self.service.reply(result.message, model))
            except ServiceTrouble as trouble:
                return MemberResult(name, trouble=trouble)
        if result.type == "errored":
            told = getattr(result.error, "error", result.error)
            error = {"type": getattr(told, "type", ""), "message": getattr(told, "message", "")}
            return MemberResult(name, trouble=trouble_inside(self.service.provider, error))
        return MemberResult(name)

    async def cancel(self, job: str) -> None:
        """Ask the service to stop."""
        try:
            await self.client.messages.batches.cancel(job)
        except (anthropic.ConflictError, anthropic.BadRequestError):
            return  # It is over already.
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None

    async def remove(self, name: str, job: str | None) -> None:
        """Delete an ended batch with its results."""
        if job is None:
            return
        try:
            await self.client.messages.batches.delete(job)
        except anthropic.NotFoundError:
            return
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None


def _requests(counts: Any) -> int:
    """The number of requests in a batch, with any outcome."""
    return int(counts.processing + counts.succeeded + counts.errored + counts.canceled + counts.expired)
