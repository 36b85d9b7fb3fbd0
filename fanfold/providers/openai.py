"""OpenAI's protocol, which Ollama, vLLM, LM Studio, DeepSeek, Qwen and many other services speak too."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import openai

from fanfold.model.text.sentences import say
from fanfold.model.values.questions import Usage
from fanfold.providers.configuration import DEFAULT_ADDRESSES, Provider
from fanfold.providers.limits.told import told_in
from fanfold.providers.prices import cost_of
from fanfold.providers.services import (
    Finish,
    LeftOut,
    Reply,
    Request,
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
"""The library wants a key also for servers that need none."""


class OpenAIService:
    """One provider that speaks this protocol."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.client = openai.AsyncOpenAI(
            api_key=provider.key or NO_KEY,
            base_url=provider.base_url or DEFAULT_ADDRESSES[provider.kind],
            max_retries=0,
            timeout=provider.timeout,
        )
        self._left_out = LeftOut()

    async def call(self, request: Request) -> Reply:
        """Ask once; a parameter that the model does not take is left out from then on."""
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
        """The request in the words of the protocol, without parameters that the model does not take."""
        named = dict(self._left_out.sent(request))
        if longest := named.pop("max_tokens", None):
            own = "api.openai.com" in self.provider.address
            named["max_completion_tokens" if own else "max_tokens"] = longest
        return {"model": request.model, "messages": _messages(request), **named}

    async def _call(self, request: Request) -> Reply:
        raw = await self.client.chat.completions.with_raw_response.create(
            **self.body(request), extra_headers=request.headers
        )
        return replace(self.reply(raw.parse(), request.model), told=told_in(raw.headers))

    def reply(self, answer: Any, model: str) -> Reply:
        """What a completion says; ServiceTrouble when it has an error inside."""
        if not getattr(answer, "choices", None):
            raise trouble_inside(self.provider, error_inside(answer))
        choice = answer.choices[0]
        if choice.message is None:
            raise trouble_inside(self.provider, getattr(choice, "error", None))
        declined = getattr(choice.message, "refusal", None)
        finish = {"length": Finish.CUT_OFF, "content_filter": Finish.FILTERED}.get(
            str(choice.finish_reason), Finish.FILTERED if declined else Finish.WHOLE
        )
        return Reply(_text(choice.message.content) or declined or "", finish, self._usage(answer, model))

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
        pictures = [
            {"type": "image_url", "image_url": {"url": f"data:{media_type(image)};base64,{_encoded(image)}"}}
            for image in request.images
        ]
        content = [*pictures, {"type": "text", "text": request.prompt}]
    system = [{"role": "system", "content": request.system}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def _encoded(image: bytes) -> str:
    return base64.b64encode(image).decode()


def _text(content: Any) -> str:
    """Some servers send the text in parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content)
    return content or ""


def trouble_of(error: Exception, provider: Provider) -> ServiceTrouble:
    """What an error of the library means."""
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
