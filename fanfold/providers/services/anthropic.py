"""Anthropic's messages protocol, through the library that the extra `anthropic` installs."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import anthropic

from fanfold.model.money.questions import SCHEMA, Usage
from fanfold.model.text.sentences import say
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.prices import cost_of
from fanfold.providers.limits.told import told_in
from fanfold.providers.protocols import PROTOCOLS
from fanfold.providers.services.service import (
    Finish,
    LeftOut,
    Request,
    ServiceReply,
    ServiceTrouble,
    TroubleKind,
    connection_trouble,
    error_inside,
    media_type,
    refusal,
    time_out,
    trouble_inside,
)

MAX_TOKENS = 16_000
"""Longest answer by default: this protocol requires a limit."""
KNOWN = ("model", "max_tokens", "messages", "system")
"""The parts of a request that the library has parameters for."""
FOREIGN = ("frequency_penalty", "presence_penalty")
"""Parameters of OpenAI's protocol that this one does not have."""


class AnthropicService:
    """One provider that speaks this protocol."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.client = anthropic.AsyncAnthropic(
            api_key=provider.key or "none",
            base_url=provider.base_url or PROTOCOLS[provider.kind].address,
            max_retries=0,
            timeout=provider.timeout,
        )
        self._left_out = LeftOut()

    async def call(self, request: Request) -> ServiceReply:
        """Ask once. If the model refuses a parameter, ask without it, now and from then on."""
        while True:
            try:
                return await self._call(request)
            except anthropic.BadRequestError as error:
                if not self._left_out.learn(request, error.message):
                    raise trouble_of(error, self.provider) from None
            except (anthropic.AnthropicError, ValueError, AttributeError, TypeError) as error:
                raise trouble_of(error, self.provider) from None

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request in this protocol, without parameters that the model has refused."""
        parameters = self._left_out.sent(request)
        others = {name: value for name, value in parameters.items() if name not in ("max_tokens", SCHEMA, *FOREIGN)}
        if schema := parameters.get(SCHEMA):
            others["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        longest = parameters.get("max_tokens") or MAX_TOKENS
        system = {"system": request.system} if request.system else {}
        return {"model": request.model, "max_tokens": longest, "messages": _messages(request), **system, **others}

    async def _call(self, request: Request) -> ServiceReply:
        others = self.body(request)
        known: Any = {name: others.pop(name) for name in KNOWN if name in others}
        raw = await self.client.messages.with_raw_response.create(
            **known, extra_body=others or None, extra_headers=request.headers
        )
        reply = self.reply(await raw.parse(), request.model)
        return replace(reply, told=told_in(raw.headers))

    def reply(self, answer: Any, model: str) -> ServiceReply:
        """The reply in a message; ServiceTrouble if it contains an error."""
        if getattr(answer, "content", None) is None:
            raise trouble_inside(self.provider, error_inside(answer))
        text = "".join(block.text for block in answer.content if block.type == "text")
        finish = {"max_tokens": Finish.CUT_OFF, "refusal": Finish.FILTERED}.get(str(answer.stop_reason), Finish.WHOLE)
        told = answer.usage
        read = told.cache_read_input_tokens or 0
        usage = Usage(told.input_tokens + read + (told.cache_creation_input_tokens or 0), told.output_tokens, read)
        return ServiceReply(text, finish, cost_of(self.provider, model, usage))

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()


def _messages(request: Request) -> Any:
    pictures = [
        {
            "type": "image",
            "source": {
                "type": "base64",
                "media_type": media_type(image),
                "data": base64.b64encode(image).decode(),
            },
        }
        for image in request.images
    ]
    return [{"role": "user", "content": [*pictures, {"type": "text", "text": request.prompt}]}]


def trouble_of(error: Exception, provider: Provider) -> ServiceTrouble:
    """The ServiceTrouble for an error of the library."""
    if isinstance(error, anthropic.APITimeoutError):
        return time_out(error, provider)
    if isinstance(error, anthropic.APIStatusError):
        body: dict[str, Any] = error.body if isinstance(error.body, dict) else {}
        told = body.get("error")
        inner: dict[str, Any] = told if isinstance(told, dict) else {}
        said = " ".join(str(inner.get("message") or error.message).split())[:300]
        code = "billing_error" if "credit balance" in said.lower() else str(inner.get("type") or "")
        return refusal(provider, error.status_code, code, said, body, error.response.headers)
    if isinstance(error, anthropic.APIConnectionError):
        return connection_trouble(error, provider)
    return ServiceTrouble(provider, TroubleKind.BUSY, say("unreadable_answer", type=type(error).__name__), unknown=True)
