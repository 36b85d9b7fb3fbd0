"""OpenAI's Responses protocol: the same service as for chat, with other field names for the question and the answer."""

from __future__ import annotations

import json
from typing import Any

from fanfold.model.money.questions import Usage
from fanfold.providers.costs.prices import cost_of
from fanfold.providers.limits.told import told_in
from fanfold.providers.services.openai import OpenAIService, data_url
from fanfold.providers.services.service import Finish, Request, ServiceReply, trouble_inside

KNOWN = ("model", "input", "instructions", "max_output_tokens", "store")
"""The parts of a request that the library has parameters for."""
FOREIGN = ("frequency_penalty", "presence_penalty")
"""Chat parameters that this protocol does not have."""
ENDINGS = {"max_output_tokens": Finish.CUT_OFF, "content_filter": Finish.FILTERED}


class ResponsesService(OpenAIService):
    """One provider that speaks this protocol. The service is told not to store questions."""

    endpoint = "/v1/responses"

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a request in this protocol, without parameters that the model has refused."""
        named = {name: value for name, value in self._left_out.sent(request).items() if name not in FOREIGN}
        longest = named.pop("max_tokens", None)
        limit = {"max_output_tokens": longest} if longest else {}
        system = {"instructions": request.system} if request.system else {}
        return {"model": request.model, "input": _input(request), "store": False, **system, **limit, **named}

    async def _call(self, request: Request) -> ServiceReply:
        others = self.body(request)
        known: Any = {name: others.pop(name) for name in KNOWN if name in others}
        raw = await self.client.responses.with_raw_response.create(
            **known, extra_body=others or None, extra_headers=request.headers
        )
        return self.reply_in(json.loads(raw.text), request.model, told_in(raw.headers))

    def reply_in(self, body: dict[str, Any], model: str, told: Any = ()) -> ServiceReply:
        """The reply in a response; ServiceTrouble if it contains an error."""
        parts = [
            part
            for one in body.get("output") or []
            if one.get("type") == "message"
            for part in one.get("content") or []
        ]
        if body.get("error") or not (parts or body.get("incomplete_details")):
            is_error = "output" not in body and {"message", "code"} & set(body)
            raise trouble_inside(self.provider, body.get("error") or (body if is_error else None))
        text = "".join(str(part["text"]) for part in parts if part.get("type") == "output_text")
        declined = "".join(str(part.get("refusal") or "") for part in parts if part.get("type") == "refusal")
        reason = (body.get("incomplete_details") or {}).get("reason")
        finish = ENDINGS.get(str(reason), Finish.FILTERED if declined else Finish.WHOLE)
        return ServiceReply(text or declined, finish, self._usage_in(body.get("usage") or {}, model), told)

    def _usage_in(self, told: dict[str, Any], model: str) -> Usage:
        cached = (told.get("input_tokens_details") or {}).get("cached_tokens")
        return cost_of(self.provider, model, Usage(told.get("input_tokens"), told.get("output_tokens"), cached))


def _input(request: Request) -> Any:
    pictures = [{"type": "input_image", "image_url": data_url(image)} for image in request.images]
    return [{"role": "user", "content": [*pictures, {"type": "input_text", "text": request.prompt}]}]
