"""An AI service on the loopback for tests: speaks all protocols and fails as told."""

import asyncio
import json
import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Self

from tests.ai_batches import FakeBatches
from tests.ai_protocol import (
    ANTHROPIC_PATH,
    FAULTS,
    MODELS_PATH,
    OPENAI_PATH,
    RESPONSES_PATH,
    Answer,
    Call,
    Fault,
    Reply,
    markdown_for,
    named,
    refused,
    rendered,
    throttled,
    too_many_requests,
    understood,
)


class AIServer:
    """The service: ``with AIServer() as server``, then tell it what to do, and afterwards inspect what it was asked."""

    def __init__(self) -> None:
        self.models = ["fake-large", "fake-small"]
        self.busiest = 0
        """The largest number of calls that waited for a reply at the same time."""
        self._waiting = 0
        self._lock = threading.Lock()
        self._calls: list[Call] = []
        self.limit: HiddenLimit | None = None
        self._keys: set[str] = set()
        self._answer: Answer = markdown_for
        self._queue: deque[Fault] = deque()
        self._draw: Callable[[], Fault] = lambda: FAULTS["answer"]
        self.batches = FakeBatches(lambda: self._answer)
        self._started = threading.Event()
        self._released = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="ai-server", daemon=True)

    def answer(self, answer: Answer | Reply | str) -> None:
        """Give this as the good answer: a text, a reply, or a function of the call that does not block."""
        self._answer = answer if callable(answer) else lambda call: answer

    def always(self, fault: str | Fault) -> None:
        """Give every call this fault; ``always("answer")`` ends it."""
        chosen = named(fault)
        self._draw = lambda: chosen

    def next(self, *faults: str | Fault) -> None:
        """Give the next calls these faults, one each, before any other rule applies."""
        with self._lock:
            self._queue.extend(named(fault) for fault in faults)

    def mix(self, chances: Mapping[str, float], seed: int) -> None:
        """Draw a fault for each call, in the order of arrival; the rest up to 1 are good answers."""
        names = [*chances, "answer"]
        weights = [*chances.values(), 1 - sum(chances.values())]
        generator = random.Random(seed)
        faults = [named(name) for name in names]
        self._draw = lambda: generator.choices(faults, weights)[0]

    def release(self) -> None:
        """Send the answers that are held back, and hold back no more."""
        self._released.set()

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
        """Every call for an answer so far, in order."""
        with self._lock:
            return [call for call in self._calls if call.path != MODELS_PATH]

    @property
    def paid(self) -> list[Call]:
        """The calls that were fully answered, even with a cut-off text: those that cost money."""
        return [call for call in self.calls if call.paid]

    @property
    def given(self) -> Counter[str]:
        """How many calls got each fault, or an answer."""
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
        """Stop listening and cut every connection, including those that hang."""
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
        """Serve one connection until the client closes it or a fault ends it."""
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply. Returns whether the connection stays open."""
        method, path, headers, body = await read_request(reader)
        if self.batches.handles(path):
            return await self._exchange_batches(writer, method, path, headers, body)
        call, reply = self._choose(path, headers, body)
        try:
            if reply.hangs or reply.after_seconds:
                await client_stays(reader, None if reply.hangs else reply.after_seconds)
            while reply.held and not self._released.is_set():
                await client_stays(reader, 0.01)
            # Before it is sent, so that a client that has the answer finds it on the bill.
            served = reply.lost or (reply.status == 200 and not reply.dropped and reply.body is None)
            call.paid = served and not self._is_repeated(call)
        finally:
            with self._lock:
                self._waiting -= 1
        if reply.reset:
            return False
        payload = rendered(call, reply, self.models)
        writer.write(payload[: -len(reply.text) // 2 - 1] if reply.dropped else payload)
        await writer.drain()
        return not reply.dropped

    async def _exchange_batches(
        self, writer: asyncio.StreamWriter, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> bool:
        """A request about files or batches. Returns whether the connection stays open."""
        with self._lock:
            status, content, part = self.batches.handle(method, path, headers, body)
        if not part:
            return False
        kind = "application/json" if content.startswith(b"{") and content.count(b"\n") <= 1 else "application/x-jsonl"
        head = f"HTTP/1.1 {status} Reply\r\nContent-Type: {kind}\r\nContent-Length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content[: int(len(content) * part)])
        await writer.drain()
        return part == 1

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
        if call.path not in (OPENAI_PATH, RESPONSES_PATH, ANTHROPIC_PATH, MODELS_PATH):
            return refused("404", 404, f"Unknown path {call.path}")(Reply())
        if call.path == MODELS_PATH:
            return (self._queue.popleft() if self._queue else FAULTS["answer"])(Reply())
        if self.limit is not None and (limited := self.limit.refusal()) is not None:
            return limited
        good = self._answer(call)
        fault = self._queue.popleft() if self._queue else self._draw()
        reply = fault(good if isinstance(good, Reply) else Reply(text=good))
        return reply if self.limit is None else replace(reply, headers=self.limit.headers())

    def _is_repeated(self, call: Call) -> bool:
        """Whether a call repeats the idempotency key of a served one: then it gets the same answer and is not charged again."""
        if call.idempotency_key is None:
            return False
        with self._lock:
            is_known = call.idempotency_key in self._keys
            self._keys.add(call.idempotency_key)
        return is_known


class HiddenLimit:
    """A limit of the service: a bucket for three seconds of calls, reported in headers if wanted, and enforced by refusals."""

    def __init__(
        self,
        per_minute: float,
        *,
        tells: bool = True,
        style: str = "429",
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.per_minute = per_minute
        self.tells = tells
        self.style = style
        """How it refuses: `429`, or `throttled` inside a reply with the status 200."""
        self.refused = 0
        self.allowed = 0
        self._most = 3 * per_minute / 60
        self._level = self._most
        self._now = now
        self._at = now()

    def refusal(self) -> Reply | None:
        """What a call gets for which nothing is left; None when there is."""
        now = self._now()
        self._level = min(self._most, self._level + (now - self._at) * self.per_minute / 60)
        self._at = now
        if self._level >= 1:
            self._level -= 1
            self.allowed += 1
            return None
        self.refused += 1
        if self.style == "throttled":
            return throttled(Reply())
        seconds = (1 - self._level) * 60 / self.per_minute
        return replace(too_many_requests(round(seconds, 3))(Reply()), headers=self.headers())

    def headers(self) -> tuple[tuple[str, str], ...]:
        """The limit as OpenAI's headers report it."""
        if not self.tells:
            return ()
        missing = (self._most - self._level) * 60 / self.per_minute
        return (
            ("x-ratelimit-limit-requests", f"{self.per_minute:g}"),
            ("x-ratelimit-remaining-requests", f"{int(self._level)}"),
            ("x-ratelimit-reset-requests", f"{missing:.3f}s"),
        )


async def client_stays(reader: asyncio.StreamReader, seconds: float | None) -> None:
    """Wait for that long, or forever; an error as soon as the client disconnects."""
    try:
        await asyncio.wait_for(reader.read(1), seconds)
    except TimeoutError:
        return
    raise ConnectionResetError("the client has gone away")


async def read_request(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str], bytes]:
    """Method, path, headers in lower case, and body of the next request on this connection."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target = head[0].split()[:2]
    path = target.partition("?")[0]
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
    if headers.get("transfer-encoding") == "chunked":
        return method, path, headers, await read_chunks(reader)
    return method, path, headers, await reader.readexactly(int(headers.get("content-length", 0)))


async def read_chunks(reader: asyncio.StreamReader) -> bytes:
    """A body that comes in chunks."""
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return body
