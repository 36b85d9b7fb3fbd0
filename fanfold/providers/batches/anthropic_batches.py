"""Anthropic's message batches: the requests go in one call, and the results come as lines.

These batches have no metadata. Our name is in the id of each request, so that a batch whose answer to `create` was lost is
recognised by its results, once it has some; until then it is found by the time and the number of its requests.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import anthropic

from fanfold.model.text.sentences import say
from fanfold.providers.anthropic import AnthropicService, trouble_of
from fanfold.providers.batches.batch_service import BatchLimits, BatchStatus, MemberResult
from fanfold.providers.services import Request, ServiceTrouble, TroubleKind, trouble_inside

CREATE_SECONDS = 600.0
CLOCK_SECONDS = 120.0
"""Most that the service's clock may differ from the database's."""


class AnthropicBatches:
    """Batches at one provider that speaks this protocol."""

    limits = BatchLimits(questions=90_000, bytes=60_000_000)
    """Far fewer bytes than the service takes: one request has them all, in memory."""

    def __init__(self, service: AnthropicService) -> None:
        self.service = service
        self.client = service.client.with_options(timeout=CREATE_SECONDS)

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        return json.dumps({"custom_id": name, "params": self.service.body(request)}, ensure_ascii=False)

    async def create(self, name: str, lines: Path) -> str:
        """Send all requests of the file in one call."""
        with lines.open(encoding="utf-8") as content:
            requests: Any = [json.loads(line) for line in content]
        try:
            made = await self.client.messages.batches.create(requests=requests)
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
        return made.id

    async def find(self, name: str, since: datetime, known: set[str]) -> str | None:
        """A batch made since then whose requests carry our name; ServiceTrouble while one is not over and may be it."""
        try:
            async for batch in self.client.messages.batches.list(limit=100):
                if batch.created_at < since - timedelta(seconds=CLOCK_SECONDS):
                    break
                if batch.id in known:
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
        async for line in await self.client.messages.batches.results(job):
            return line.custom_id.startswith(f"{name}-")
        return False

    async def look(self, job: str) -> BatchStatus:
        """How far it is."""
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

    async def remove(self, job: str) -> None:
        """Delete an ended batch with its results."""
        try:
            await self.client.messages.batches.delete(job)
        except anthropic.NotFoundError:
            return
        except anthropic.AnthropicError as error:
            raise trouble_of(error, self.service.provider) from None
