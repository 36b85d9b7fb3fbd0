"""Which AI service do tests talk to? One on the loopback that speaks both protocols and fails as it is told."""

import asyncio
import base64
import hashlib
import json
import random
import threading
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

OPENAI_PATH = "/v1/chat/completions"
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


@dataclass
class Call:
    """One request, as the service has understood it."""

    number: int
    at: datetime
    path: str
    api_key: str | None
    model: str | None = None
    prompt: str = ""
    images: tuple[str, ...] = ()
    """SHA-256 of the bytes of each picture, in hex."""
    parameters: Json = field(default_factory=dict)
    given: str = ""
    """``answer`` or the name of the fault; empty until the reply is chosen."""
    paid: bool = False
    """Whether a whole answer has gone out, which a real service would put on the bill."""


@dataclass(frozen=True)
class Reply:
    """What the service does with one call. A fault is a good reply, changed."""

    text: str = ""
    given: str = "answer"
    status: int = 200
    finish_reason: str = "stop"
    """In OpenAI's words; Anthropic's are derived from it."""
    error_code: str | None = None
    message: str = ""
    retry_after_seconds: float | None = None
    after_seconds: float = 0.0
    hangs: bool = False
    broken_json: bool = False
    dropped: bool = False
    input_tokens: int = 1_000
    output_tokens: int | None = None
    cached_tokens: int = 0

    def fault(self, name: str, **changes: Any) -> "Reply":
        """This reply with something wrong about it."""
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


def slow(seconds: float) -> Fault:
    """The good answer, but late."""
    return lambda good: good.fault("slow", after_seconds=seconds)


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
    "hang": lambda good: good.fault("hang", hangs=True),
    "length": lambda good: good.fault("length", finish_reason="length", text=good.text[: len(good.text) // 2]),
    "content_filter": lambda good: good.fault("content_filter", finish_reason="content_filter", text=""),
    "refusal": lambda good: good.fault("refusal", text="I'm sorry, but I can't assist with that request."),
    "repetition": lambda good: good.fault("repetition", text=good.text + "\n\nand so on and so on" * 400),
    "fence": lambda good: good.fault("fence", text=f"```markdown\n{good.text}\n```"),
    "empty": lambda good: good.fault("empty", text=""),
    "broken_json": lambda good: good.fault("broken_json", broken_json=True),
    "drop": lambda good: good.fault("drop", dropped=True),
}


def markdown_for(call: Call) -> str:
    """An answer that is the same for the same picture and question, and another one for others."""
    seed = "".join(call.images) or call.prompt
    digest = hashlib.sha256(seed.encode()).hexdigest()
    words = " ".join(digest[at : at + 8] for at in range(0, 64, 8))
    return f"# Page {digest[:8]}\n\nThe picture says: {words}.\n\n- {digest[:4]}\n- {digest[4:8]}\n"


class AIServer:
    """The service: ``with AIServer() as server``, then tell it what to do, and afterwards ask what it was asked."""

    def __init__(self) -> None:
        self.models = ["fake-large", "fake-small"]
        self.busiest = 0
        """The most calls that were ever waiting for their reply at the same time."""
        self._waiting = 0
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self._answer: Answer = markdown_for
        self._queue: deque[Fault] = deque()
        self._draw: Callable[[], Fault] = lambda: FAULTS["answer"]
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="ai-server", daemon=True)

    def answer(self, answer: Answer | Reply | str) -> None:
        """Give this as the good answer: a text, a reply, or a function of the call that does not block."""
        self._answer = answer if callable(answer) else lambda call: answer

    def always(self, fault: str | Fault) -> None:
        """Give every call this fault; ``always("answer")`` ends it."""
        chosen = named(fault)
        self._draw = lambda: chosen

    def next(self, *faults: str | Fault) -> None:
        """Give the next calls these faults, one each, before anything else holds."""
        with self._lock:
            self._queue.extend(named(fault) for fault in faults)

    def mix(self, chances: Mapping[str, float], seed: int) -> None:
        """Draw a fault for each call, in the order the calls come in; what is left of 1 are good answers."""
        names = [*chances, "answer"]
        weights = [*chances.values(), 1 - sum(chances.values())]
        generator = random.Random(seed)
        faults = [named(name) for name in names]
        self._draw = lambda: generator.choices(faults, weights)[0]

    @property
    def url(self) -> str:
        """Where it listens: the ``base_url`` for Anthropic's SDK."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def openai_url(self) -> str:
        """The ``base_url`` for OpenAI's SDK."""
        return f"{self.url}/v1"

    @property
    def calls(self) -> list[Call]:
        """Every call for an answer so far, the first one first."""
        with self._lock:
            return [call for call in self._calls if call.path != MODELS_PATH]

    @property
    def paid(self) -> list[Call]:
        """The calls that were answered in full, also with a cut-off text: those that cost money."""
        return [call for call in self.calls if call.paid]

    @property
    def given(self) -> Counter[str]:
        """How many calls were given which fault, or an answer."""
        return Counter(call.given for call in self.calls)

    @property
    def calls_by_image(self) -> Counter[str]:
        """How many calls there were about each picture."""
        return Counter(image for call in self.calls for image in call.images)

    @property
    def paid_by_image(self) -> Counter[str]:
        """How many times each picture was paid for."""
        return Counter(image for call in self.paid for image in call.images)

    @property
    def waiting(self) -> int:
        """How many calls are waiting for their reply now."""
        with self._lock:
            return self._waiting

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and cut every connection; what hangs ends here."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        listener = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1_000)
        self._port: int = listener.sockets[0].getsockname()[1]
        self._started.set()
        await self._stop.wait()
        listener.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._converse(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until the client goes away or a fault ends it."""
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply. Returns whether the connection goes on."""
        call, reply = self._choose(*await read_request(reader))
        try:
            if reply.hangs or reply.after_seconds:
                await client_stays(reader, None if reply.hangs else reply.after_seconds)
            # Before it is sent: who has the answer finds it on the bill.
            call.paid = reply.status == 200 and not reply.dropped
        finally:
            with self._lock:
                self._waiting -= 1
        payload = rendered(call, reply, self.models)
        writer.write(payload[: -len(reply.text) // 2 - 1] if reply.dropped else payload)
        await writer.drain()
        return not reply.dropped

    def _choose(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[Call, Reply]:
        with self._lock:
            call = understood(len(self._calls) + 1, path, headers, json.loads(body) if body else {})
            self._calls.append(call)
            self._waiting += 1
            self.busiest = max(self.busiest, self._waiting)
            reply = self._reply(call)
            call.given = reply.given
        return call, reply

    def _reply(self, call: Call) -> Reply:
        if call.path not in (OPENAI_PATH, ANTHROPIC_PATH, MODELS_PATH):
            return refused("404", 404, f"Unknown path {call.path}")(Reply())
        if call.path == MODELS_PATH:
            return (self._queue.popleft() if self._queue else FAULTS["answer"])(Reply())
        good = self._answer(call)
        fault = self._queue.popleft() if self._queue else self._draw()
        return fault(good if isinstance(good, Reply) else Reply(text=good))


def named(fault: str | Fault) -> Fault:
    """The fault of that name, or the given one."""
    return FAULTS[fault] if isinstance(fault, str) else fault


async def client_stays(reader: asyncio.StreamReader, seconds: float | None) -> None:
    """Wait that long, or for ever; an error as soon as the client goes away."""
    try:
        await asyncio.wait_for(reader.read(1), seconds)
    except TimeoutError:
        return
    raise ConnectionResetError("the client has gone away")


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    """Path, headers in lower case, and body of the next request on this connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    path = head[0].split()[1].partition("?")[0]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    return path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


def understood(number: int, path: str, headers: Mapping[str, str], body: Json) -> Call:
    """The call in a request of either protocol."""
    key = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ") or None
    system = [{"type": "text", "text": body["system"]}] if isinstance(body.get("system"), str) else []
    parts = [*system, *(part for message in body.get("messages", []) for part in parts_of(message["content"]))]
    pictures = [picture for part in parts if (picture := picture_in(part)) is not None]
    return Call(
        number=number,
        at=datetime.now(UTC),
        path=path,
        api_key=key,
        model=body.get("model"),
        prompt="\n".join(part["text"] for part in parts if part["type"] == "text"),
        images=tuple(hashlib.sha256(picture).hexdigest() for picture in pictures),
        parameters={name: value for name, value in body.items() if name not in ("model", "messages", "system")},
    )


def parts_of(content: str | list[Json]) -> list[Json]:
    """The parts of a message, of which a plain text is one."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def picture_in(part: Json) -> bytes | None:
    """The bytes of the picture in this part, if it is one."""
    if part["type"] == "image_url":
        return base64.b64decode(part["image_url"]["url"].partition(";base64,")[2], validate=True)
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
    return "\r\n".join([*headers, "", ""]).encode() + body


def content_for(call: Call, reply: Reply, models: list[str]) -> Json:
    """The body in the words of the protocol that was spoken."""
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
    return (anthropic_message if call.path == ANTHROPIC_PATH else openai_completion)(call, reply)


def openai_completion(call: Call, reply: Reply) -> Json:
    """A chat completion; its input tokens count those from the cache too."""
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


def anthropic_message(call: Call, reply: Reply) -> Json:
    """A message; its input tokens are those that did not come from the cache."""
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
