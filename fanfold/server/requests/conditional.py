"""Finishes responses to GET and HEAD: gzip where it helps, 304 for unchanged content, no body for HEAD."""

from __future__ import annotations

import asyncio
import gzip
from hashlib import sha256

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMPRESSED = (
    "text/html",
    "text/css",
    "text/javascript",
    "application/json",
    "application/problem+json",
    "image/svg+xml",
)
LEAST_BYTES = 1_000
"""Smallest response worth compressing; smaller ones fit into one packet anyway."""
MOST_BYTES = 2_000_000
"""Largest response compressed in the event loop. Compressing 2 MB blocks it for about 30 ms; larger ones use a thread."""
LEVEL = 4
JSON = "application/json"
ASKED_METHOD = "fanfold.asked_method"
"""In the scope inside the app: the method as the client sent it. HEAD has become GET there."""
REVALIDATED = "private, no-cache"


class CachedResponses:
    """Middleware around the app; methods other than GET and HEAD pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward the request and finish its response."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        answer = CachedResponse(Headers(scope=scope), send, is_head=scope["method"] == "HEAD")
        asked = {**scope, "method": "GET", ASKED_METHOD: scope["method"]}
        if not answer.may_end_early:
            await self.app(asked, receive, answer.take)
            return
        # HEAD does not need the body: a stream would never end, and a large file would be read for nothing.
        making = asyncio.ensure_future(self.app(asked, receive, answer.take))
        answer.ended.add_done_callback(lambda _: making.cancel())
        try:
            await making
        except asyncio.CancelledError:
            if not answer.ended.done():
                making.cancel()
                raise


class CachedResponse:
    """One response in progress. Its headers are held back until it is known whether the body is needed."""

    def __init__(self, asked: Headers, send: Send, *, is_head: bool) -> None:
        self.asked = asked
        self.send = send
        self.is_head = is_head
        self.may_end_early = is_head or "if-none-match" in asked
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._start: Message | None = None

    async def take(self, message: Message) -> None:
        """Handle a message from the app."""
        if self.ended.done():
            return
        if message["type"] != "http.response.start":
            start, self._start = self._start, None
            await (self.send(message) if start is None else self._whole(start, message))
        elif "content-length" in Headers(raw=message["headers"]):
            self._start = message
        else:  # A stream: send the headers now, because the client waits for them before the first message.
            await self._begin(message)

    async def _whole(self, start: Message, message: Message) -> None:
        """Send the headers with the first part of a body of known length, which is often all of it."""
        headers = MutableHeaders(scope=start)
        body, is_all = message.get("body", b""), not message.get("more_body")
        if is_all and start["status"] == 200 and headers.get("content-type", "").startswith(JSON):
            headers.setdefault("etag", f'W/"{sha256(body).hexdigest()[:32]}"')
            headers.setdefault("cache-control", REVALIDATED)
        if start["status"] in (200, 206) and self._is_known(headers.get("etag")):
            await self._not_modified(headers)
            return
        if is_all and self._compresses(headers, body):
            body = await compressed(body)
            headers["content-encoding"] = "gzip"
            headers["content-length"] = str(len(body))
        await self._begin(start)
        if not self.ended.done():
            await self.send({**message, "body": body})

    async def _begin(self, start: Message) -> None:
        await self.send(start)
        if self.is_head:
            await self._end()

    async def _not_modified(self, headers: MutableHeaders) -> None:
        for name in ("content-length", "content-type", "content-range", "content-disposition"):
            del headers[name]
        await self.send({"type": "http.response.start", "status": 304, "headers": headers.raw})
        await self._end()

    async def _end(self) -> None:
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})
        self.ended.set_result(None)

    def _is_known(self, etag: str | None) -> bool:
        """Whether the client already has it; `W/` makes no difference here (RFC 9110, 13.1.2)."""
        known = self.asked.get("if-none-match", "").strip()
        if not etag or not known:
            return False
        return known == "*" or bare(etag) in [bare(one) for one in known.split(",")]

    def _compresses(self, headers: MutableHeaders, body: bytes) -> bool:
        kind = headers.get("content-type", "").partition(";")[0].strip()
        if kind not in COMPRESSED or "content-encoding" in headers or "accept-ranges" in headers:
            return False
        headers.add_vary_header("Accept-Encoding")
        return len(body) >= LEAST_BYTES and takes_gzip(self.asked)


def bare(etag: str) -> str:
    """An ETag normalised for comparison."""
    return etag.strip().removeprefix("W/")


def takes_gzip(asked: Headers) -> bool:
    """Whether the client accepts gzip."""
    for part in asked.get("accept-encoding", "").lower().split(","):
        name, _, quality = part.partition(";")
        if name.strip() in ("gzip", "*") and quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            return True
    return False


async def compressed(body: bytes) -> bytes:
    """The body, compressed with gzip."""
    if len(body) > MOST_BYTES:
        return await asyncio.to_thread(gzip.compress, body, LEVEL, mtime=0)
    return gzip.compress(body, LEVEL, mtime=0)
