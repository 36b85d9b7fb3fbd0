"""OpenAI's batches, for chat and for Responses: a file of requests goes in, files of answers and errors come out.

Our name for a batch is in its metadata and in the name of its file, so that the batch can be found after a crash.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import openai

from fanfold.model.text.sentences import say
from fanfold.providers.batches.batch_service import (
    TOO_MANY_TOKENS,
    BatchLimits,
    BatchStatus,
    MemberResult,
    reading_trouble,
)
from fanfold.providers.services.openai import OpenAIService, trouble_of
from fanfold.providers.services.service import Request, ServiceTrouble, kind_of_status

OURS = "fanfold"
"""The name of our entry in a batch's metadata."""
TOKEN_CODES = ("token_limit_exceeded", "enqueued_token_limit_exceeded")
OVER = ("completed", "expired", "cancelled", "failed")
UPLOAD_SECONDS = 600.0
LISTED = 1_000
"""Most batches that are searched for one of ours."""


class OpenAIBatches:
    """Batches at one provider that speaks this protocol."""

    limits = BatchLimits(questions=45_000, bytes=180_000_000)

    def __init__(self, service: OpenAIService) -> None:
        self.service = service
        self.client = service.client.with_options(timeout=UPLOAD_SECONDS)

    def line(self, name: str, request: Request) -> str:
        """A question as one line of the file that is sent."""
        body = self.service.body(request)
        return json.dumps(
            {"custom_id": name, "method": "POST", "url": self.service.endpoint, "body": body}, ensure_ascii=False
        )

    async def create(self, name: str, lines: Path, check: Callable[[], None]) -> str:
        """Upload the file and make a batch of it. The file of an earlier, interrupted attempt is deleted first.

        So if a worker has slept between its upload and its last request, that request is refused.
        """
        try:
            check()
            await self._remove_files(name)
            with lines.open("rb") as content:
                file = await self.client.files.create(file=(f"{name}.jsonl", content), purpose="batch")
            endpoint: Any = self.service.endpoint
            check()
            made = await self.client.batches.create(
                input_file_id=file.id, endpoint=endpoint, completion_window="24h", metadata={OURS: name}
            )
        except openai.OpenAIError as error:
            raise trouble_of(error, self.service.provider) from None
        return made.id

    async def find(self, name: str, questions: int, since: datetime, known: set[str]) -> str | None:
        """The batch with our name in its metadata."""
        try:
            looked = 0
            async for batch in self.client.batches.list(limit=100):
                if (batch.metadata or {}).get(OURS) == name:
                    return batch.id
                looked += 1
                if looked >= LISTED:
                    break
        except openai.OpenAIError as error:
            raise trouble_of(error, self.service.provider) from None
        return None

    async def look(self, job: str) -> BatchStatus:
        """The progress of a batch."""
        batch = await self._batch(job)
        counts = batch.request_counts
        answered, failed = (counts.completed, counts.failed) if counts else (0, 0)
        if batch.status != "failed":
            return BatchStatus(batch.status in OVER, answered, failed)
        told = (batch.errors.data or []) if batch.errors else []
        said = "; ".join(str(error.message or error.code) for error in told[:3]) or batch.status
        code = next((TOO_MANY_TOKENS for error in told if error.code in TOKEN_CODES), "refused")
        provider = self.service.provider.name
        return BatchStatus(True, answered, failed, say("batch_refused", service=provider, said=said[:300]), code)

    async def results(self, job: str, model: str) -> AsyncIterator[MemberResult]:
        """The lines of the answer file, then those of the error file."""
        batch = await self._batch(job)
        for file in (batch.output_file_id, batch.error_file_id):
            if not file:
                continue
            try:
                async with self.client.files.with_streaming_response.content(file) as response:
                    async for line in response.iter_lines():
                        if line.strip():
                            yield self._result(json.loads(line), model)
            except openai.OpenAIError as error:
                raise trouble_of(error, self.service.provider) from None
            except Exception as error:
                raise reading_trouble(error, self.service.provider) from None

    def _result(self, line: dict[str, Any], model: str) -> MemberResult:
        name, response, error = str(line["custom_id"]), line.get("response") or {}, line.get("error") or {}
        if error.get("code") in ("batch_expired", "batch_cancelled"):
            return MemberResult(name)
        body = response.get("body") or {}
        provider = self.service.provider
        if response.get("status_code") == 200:
            try:
                return MemberResult(name, self.service.reply_in(body, model))
            except ServiceTrouble as trouble:
                return MemberResult(name, trouble=trouble)
        inner = body.get("error") or error
        status, code = int(response.get("status_code") or 500), str(inner.get("code") or "")
        said = say("answered_status", status=status, said=str(inner.get("message") or code)[:300])
        return MemberResult(name, trouble=ServiceTrouble(provider, kind_of_status(status, code), said))

    async def cancel(self, job: str) -> None:
        """Ask the service to stop."""
        try:
            await self.client.batches.cancel(job)
        except openai.ConflictError:
            return  # It is over already.
        except openai.OpenAIError as error:
            raise trouble_of(error, self.service.provider) from None

    async def remove(self, name: str, job: str | None) -> None:
        """Delete the files of an ended batch, or those that were uploaded for a batch that was not created."""
        if job is None:
            try:
                await self._remove_files(name)
            except openai.OpenAIError as error:
                raise trouble_of(error, self.service.provider) from None
            return
        batch = await self._batch(job)
        for file in (batch.input_file_id, batch.output_file_id, batch.error_file_id):
            if file:
                await self._remove_file(file)

    async def _batch(self, job: str) -> openai.types.Batch:
        try:
            return await self.client.batches.retrieve(job)
        except openai.OpenAIError as error:
            raise trouble_of(error, self.service.provider) from None

    async def _remove_files(self, name: str) -> None:
        """Delete files that an earlier attempt has uploaded under this name."""
        async for file in self.client.files.list(purpose="batch", limit=100):
            if file.filename == f"{name}.jsonl":
                await self._remove_file(file.id)

    async def _remove_file(self, file: str) -> None:
        try:
            await self.client.files.delete(file)
        except openai.NotFoundError:
            return
        except openai.OpenAIError as error:
            raise trouble_of(error, self.service.provider) from None
