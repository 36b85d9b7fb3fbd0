"""OpenAI's protocol, which Ollama, vLLM, LM Studio, DeepSeek, Qwen and many other services speak too."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import openai
from openai.types.chat import ChatCompletion

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

NO_KEY = "none"
"""The library requires a key, even for servers that need none."""


class OpenAIService:
    """One provider that speaks this protocol, in chat."""

    endpoint = "/v1/chat/completions"
    """The path for questions, live and in batches."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.client = openai.AsyncOpenAI(
            api_key=provider.key or NO_KEY,
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
            except openai.BadRequestError as error:
                if not self._left_out.learn(request, f"{error.param or ''} {error.message}"):
                    raise trouble_of(error, self.provider) from None
            except (openai.OpenAIError, ValueError, AttributeError, TypeError, LookupError) as error:
                raise trouble_of(error, self.provider) from None

    async def close(self) -> None:
        """Close the connections."""
        await self.client.close()

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request in this protocol, without parameters that the model has refused."""
        named = dict(self._left_out.sent(request))
        if longest := named.pop("max_tokens", None):
            own = "api.openai.com" in self.provider.address
            named["max_completion_tokens" if own else "max_tokens"] = longest
        if schema := named.pop(SCHEMA, None):
            wanted = {"name": "answer", "strict": True, "schema": schema}
            named["response_format"] = {"type": "json_schema", "json_schema": wanted}
        return {"model": request.model, "messages": _messages(request), **named}

    async def _call(self, request: Request) -> ServiceReply:
        raw = await self.client.chat.completions.with_raw_response.create(
            **self.body(request), extra_headers=request.headers
        )
        return replace(self.reply(raw.parse(), request.model), told=told_in(raw.headers))

    def reply_in(self, body: dict[str, Any], model: str) -> ServiceReply:
        """The reply in the body of a batch result; ServiceTrouble if the body contains an error."""
        return self.reply(ChatCompletion.construct(**body), model)

    def reply(self, answer: Any, model: str) -> ServiceReply:
        """The reply in a completion; ServiceTrouble if it contains an error."""
        if not getattr(answer, "choices", None):
            raise trouble_inside(self.provider, error_inside(answer))
        choice = answer.choices[0]
        if choice.message is None:
            raise trouble_inside(self.provider, getattr(choice, "error", None))
        declined = getattr(choice.message, "refusal", None)
        finish = {"length": Finish.CUT_OFF, "content_filter": Finish.FILTERED}.get(
            str(choice.finish_reason), Finish.FILTERED if declined else Finish.WHOLE
        )
        return ServiceReply(_text(choice.message.content) or declined or "", finish, self._usage(answer, model))

    def _usage(self, answer: Any, model: str) -> Usage:
        told = answer.usage
        if told is None:
            return Usage()
        details = getattr(told, "prompt_tokens_details", None)
        usage = Usage(told.prompt_tokens, told.completion_tokens, getattr(details, "cached_tokens", None))
        return cost_of(self.provider, model, usage)


def _messages(request: Request) -> Any:
    content: Any = request.prompt
    if request.images:
        pictures = [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in request.images]
        content = [*pictures, {"type": "text", "text": request.prompt}]
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def data_url(image: bytes) -> str:
    """A picture as a data URL, for a request."""
    return f"data:{media_type(image)};base64,{base64.b64encode(image).decode()}"


def _text(content: Any) -> str:
    """The text of a message; some servers send it in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content or ""


def trouble_of(error: Exception, provider: Provider) -> ServiceTrouble:
    """The ServiceTrouble for an error of the library."""
    if isinstance(error, openai.APITimeoutError):
        return time_out(error, provider)
    if isinstance(error, openai.APIStatusError):
        code = str(error.code or error.type or "")
        return refusal(provider, error.status_code, code, _said(error), error.body, error.response.headers)
    if isinstance(error, openai.APIConnectionError):
        return connection_trouble(error, provider)
    return ServiceTrouble(provider, TroubleKind.BUSY, say("unreadable_answer", type=type(error).__name__), unknown=True)


def _said(error: openai.APIStatusError) -> str:
    body = error.body if isinstance(error.body, dict) else {}
    return " ".join(str(body.get("message") or error.message).split())[:300]
