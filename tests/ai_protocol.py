"""Calls, replies and faults of AI services, in all protocols."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

OPENAI_PATH = "/v1/chat/completions"
RESPONSES_PATH = "/v1/responses"
ANTHROPIC_PATH = "/v1/messages"
MODELS_PATH = "/v1/models"
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}
ERROR_KINDS = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    503: "overloaded_error",
}
Json = dict[str, Any]
QUESTION = ("model", "messages", "input", "system", "instructions")
"""The parts of a body that are not parameters."""
OTHER_NAMES = {"max_output_tokens": "max_tokens"}


@dataclass
class Call:
    """One request as the service understood it."""

    number: int
    at: datetime
    path: str
    api_key: str | None
    model: str | None = None
    prompt: str = ""
    images: tuple[str, ...] = ()
    """SHA-256 of the bytes of each picture, in hex."""
    parameters: Json = field(default_factory=dict)
    idempotency_key: str | None = None
    given: str = ""
    """``answer`` or the name of the fault; empty until the reply is chosen."""
    paid: bool = False
    """Whether a whole answer was sent, which a real service would charge."""


@dataclass(frozen=True)
class Reply:
    """What the service does with one call. A fault is a good reply with a change."""

    text: str = ""
    given: str = "answer"
    status: int = 200
    finish_reason: str = "stop"
    """In OpenAI's terms; Anthropic's are derived from it."""
    error_code: str | None = None
    message: str = ""
    retry_after_seconds: float | None = None
    after_seconds: float = 0.0
    hangs: bool = False
    held: bool = False
    """Whether it is held back until the test calls ``release``."""
    broken_json: bool = False
    body: Json | None = None
    """What is sent instead of an answer, with status 200."""
    dropped: bool = False
    reset: bool = False
    """Whether the work is done and charged, and the connection is then cut without a reply."""
    lost: bool = False
    """Whether the work is done and charged, and a gateway answers with an error instead."""
    headers: tuple[tuple[str, str], ...] = ()
    input_tokens: int = 1_000
    output_tokens: int | None = None
    cached_tokens: int = 0

    def fault(self, name: str, **changes: Any) -> "Reply":
        """This reply with a fault."""
        return replace(self, given=name, **changes)


Fault = Callable[[Reply], Reply]
Answer = Callable[[Call], "Reply | str"]


def refused(name: str, status: int, message: str, code: str | None = None) -> Fault:
    """A fault that is an error of the service, with its status."""
    return lambda good: good.fault(name, status=status, message=message, error_code=code)


def too_many_requests(retry_after_seconds: float | None = None) -> Fault:
    """429; with the seconds to wait, if given, in the header ``Retry-After``."""
    return lambda good: good.fault(
        "429",
        status=429,
        message="Rate limit reached",
        retry_after_seconds=retry_after_seconds,
        error_code="rate_limit",
    )


def inside(body: Json) -> Fault:
    """A reply with status 200 that contains something else than an answer; it costs nothing."""
    return lambda good: good.fault("inside", body=body)


def slow(seconds: float) -> Fault:
    """The good answer, but late."""
    return lambda good: good.fault("slow", after_seconds=seconds)


def throttled(good: Reply) -> Reply:
    """A refusal in the body of a reply with status 200."""
    return good.fault("throttled", body={"error": {"message": "Too many requests, please slow down"}})


FAULTS: Mapping[str, Fault] = {
    "answer": lambda good: good,
    "429": too_many_requests(),
    "429-retry-after": too_many_requests(1),
    "429-soon": too_many_requests(0.1),
    "500": refused("500", 500, "The server had an error"),
    "503": refused("503", 503, "The engine is overloaded"),
    "400": refused("400", 400, "Invalid value: 'max_tokens'", "invalid_value"),
    "401": refused("401", 401, "Incorrect API key provided", "invalid_api_key"),
    "402": refused("402", 402, "Insufficient balance"),
    "403": refused("403", 403, "Your project has no access to this model", "model_not_found"),
    "insufficient_quota": refused("insufficient_quota", 429, "You exceeded your current quota", "insufficient_quota"),
    "held": lambda good: good.fault("held", held=True),
    "hang": lambda good: good.fault("hang", hangs=True),
    "length": lambda good: good.fault("length", finish_reason="length", text=good.text[: len(good.text) // 2]),
    "content_filter": lambda good: good.fault("content_filter", finish_reason="content_filter", text=""),
    "refusal": lambda good: good.fault("refusal", text="I'm sorry, but I can't assist with that request."),
    "repetition": lambda good: good.fault("repetition", text=good.text + "\n\nand so on and so on" * 400),
    "fence": lambda good: good.fault("fence", text=f"```markdown\n{good.text}\n```"),
    "empty": lambda good: good.fault("empty", text=""),
    "broken_json": lambda good: good.fault("broken_json", broken_json=True),
    "drop": lambda good: good.fault("drop", dropped=True),
    "reset": lambda good: good.fault("reset", reset=True),
    "502-paid": lambda good: refused("502-paid", 502, "Bad gateway")(replace(good, lost=True)),
    "504-paid": lambda good: refused("504-paid", 504, "Gateway time-out")(replace(good, lost=True)),
    "throttled": throttled,
}


def markdown_for(call: Call) -> str:
    """An answer that is the same for the same picture and question, and different for others."""
    seed = "".join(call.images) or call.prompt
    digest = hashlib.sha256(seed.encode()).hexdigest()
    words = " ".join(digest[at : at + 8] for at in range(0, 64, 8))
    return f"# Page {digest[:8]}\n\nThe picture says: {words}.\n\n- {digest[:4]}\n- {digest[4:8]}\n"


def named(fault: str | Fault) -> Fault:
    """The fault of that name, or the given one."""
    return FAULTS[fault] if isinstance(fault, str) else fault


def understood(number: int, path: str, headers: Mapping[str, str], body: Json) -> Call:
    """The call in a request of any protocol."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ") or None
    said = body.get("system") or body.get("instructions")
    system = [{"type": "text", "text": said}] if isinstance(said, str) else []
    messages = body.get("messages") or body.get("input") or []
    parts = [*system, *(part for message in messages for part in parts_of(message["content"]))]
    pictures = [picture for part in parts if (picture := picture_in(part)) is not None]
    return Call(
        number=number,
        at=datetime.now(UTC),
        path=path,
        api_key=key,
        model=body.get("model"),
        prompt="\n".join(part["text"] for part in parts if part["type"] in ("text", "input_text")),
        images=tuple(hashlib.sha256(picture).hexdigest() for picture in pictures),
        parameters={OTHER_NAMES.get(name, name): value for name, value in body.items() if name not in QUESTION},
        idempotency_key=headers.get("idempotency-key"),
    )


def parts_of(content: str | list[Json]) -> list[Json]:
    """The parts of a message; a plain text is one part."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def picture_in(part: Json) -> bytes | None:
    """The bytes of the picture in this part, if it is one."""
    if part["type"] in ("image_url", "input_image"):
        found = part["image_url"]
        return base64.b64decode(
            (found if isinstance(found, str) else found["url"]).partition(";base64,")[2], validate=True
        )
    if part["type"] == "image":
        return base64.b64decode(part["source"]["data"], validate=True)
    return None


def rendered(call: Call, reply: Reply, models: list[str]) -> bytes:
    """The reply as it goes over the wire."""
    body = json.dumps(content_for(call, reply, models)).encode()
    if reply.broken_json:
        body = body[: len(body) // 2]
    headers = [f"HTTP/1.1 {reply.status} Reply", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    if reply.retry_after_seconds is not None:
        headers.append(f"Retry-After: {reply.retry_after_seconds:g}")
    headers += [f"{name}: {value}" for name, value in reply.headers]
    return "\r\n".join([*headers, "", ""]).encode() + body


def content_for(call: Call, reply: Reply, models: list[str]) -> Json:
    """The body in the terms of the protocol in use."""
    if reply.body is not None:
        return reply.body
    if reply.status != 200:
        kind = ERROR_KINDS.get(reply.status, "invalid_request_error")
        error = {"type": kind, "message": reply.message}
        if call.path == ANTHROPIC_PATH:
            return {"type": "error", "error": error}
        return {"error": {**error, "code": reply.error_code, "param": None}}
    if call.path == MODELS_PATH:
        return {
            "object": "list",
            "data": [{"id": name, "object": "model", "created": 0, "owned_by": "x"} for name in models],
        }
    written = {ANTHROPIC_PATH: anthropic_message, RESPONSES_PATH: openai_response}.get(call.path, openai_completion)
    return written(call, reply)


def openai_completion(call: Call, reply: Reply) -> Json:
    """A chat completion; its input tokens include those from the cache."""
    written = len(reply.text) // 4 if reply.output_tokens is None else reply.output_tokens
    return {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": int(call.at.timestamp()),
        "model": call.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": reply.text, "refusal": None},
                "finish_reason": reply.finish_reason,
            }
        ],
        "usage": {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": written,
            "total_tokens": reply.input_tokens + written,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        },
    }


def openai_response(call: Call, reply: Reply) -> Json:
    """A response; its input tokens count those from the cache too."""
    written = len(reply.text) // 4 if reply.output_tokens is None else reply.output_tokens
    reasons = {"length": "max_output_tokens", "content_filter": "content_filter"}
    reason = reasons.get(reply.finish_reason)
    return {
        "id": f"resp_{call.number}",
        "object": "response",
        "created_at": int(call.at.timestamp()),
        "model": call.model,
        "status": "incomplete" if reason else "completed",
        "incomplete_details": {"reason": reason} if reason else None,
        "error": None,
        "output": [
            {"type": "reasoning", "id": f"rs_{call.number}", "summary": []},
            {
                "type": "message",
                "id": f"msg_{call.number}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            },
        ],
        "usage": {
            "input_tokens": reply.input_tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.input_tokens + written,
        },
    }


def anthropic_message(call: Call, reply: Reply) -> Json:
    """A message; its input tokens do not include those from the cache."""
    return {
        "id": f"msg_{call.number}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": reply.text}] if reply.text else [],
        "stop_reason": STOP_REASONS[reply.finish_reason],
        "stop_sequence": None,
        "usage": {
            "input_tokens": reply.input_tokens - reply.cached_tokens,
            "output_tokens": len(reply.text) // 4 if reply.output_tokens is None else reply.output_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": reply.cached_tokens,
        },
    }
