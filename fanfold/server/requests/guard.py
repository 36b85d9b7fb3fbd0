"""Guards the server: checks Host and Origin first, limits request bodies and adds security headers to responses."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fanfold.model.text.sentences import Sentence, say
from fanfold.server.app_state import AppState
from fanfold.server.requests.problems import problem

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PLAIN_BYTES = 10_000_000
"""Largest request that is not an upload."""
BODY_SECONDS = 30.0
"""Time limit for a request body, plus one second for each kilobyte received."""
BYTES_PER_SECOND = 1_000
FORM_BYTES = 3_000_000
LOGIN_BYTES = 10_000
CLOSING = {"connection": "close"}
"""Closes the connection, because the unread rest of a request would be parsed as the next one."""
UPLOADS = ("/api/v1/tasks", "/submit")
SEAL = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
"""Headers of every response: no inline scripts, no foreign resources, no framing.

Without any referrer, browsers send forms with no origin, and the origin check would reject them as foreign.
"""


class Guard:
    """The outermost middleware of the server."""

    def __init__(self, app: ASGIApp, place: AppState) -> None:
        self.app = app
        self.place = place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reject the request or forward it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                seal(MutableHeaders(scope=message))
            await send(message)

        if refusal := self._refusal(scope["method"], headers):
            await problem(*refusal)(scope, receive, sealed)
            return
        limit = self._limit(scope["path"], headers)
        if _declared(headers) > limit:
            await problem(413, "too_large", self._too_large(scope["path"], limit))(scope, receive, sealed)
            return
        await self.app(scope, bounded(receive, limit, self._too_large(scope["path"], limit)), sealed)

    def _too_large(self, path: str, limit: int) -> Sentence:
        """Message for a request that is too large; the way out differs for uploads."""
        most = self.place.store.settings.upload_bytes
        if limit == most:
            return say("upload_too_large", limit=limit)
        if path in UPLOADS:
            return say("json_too_large", limit=limit, most=most)
        return say("request_too_large", limit=limit)

    def _limit(self, path: str, headers: Headers) -> int:
        """Largest body to read, most of which arrives before the caller is known."""
        kind = headers.get("content-type", "")
        if kind.startswith("multipart/form-data") and path in UPLOADS:
            return self.place.store.settings.upload_bytes
        if path == "/login":
            return LOGIN_BYTES
        return FORM_BYTES if "form" in kind else PLAIN_BYTES

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str, str] | None:
        host = headers.get("host", "")
        if not self.place.knows_host(host):
            return 421, "unknown_host", say("unknown_host", host=host[:100] or "nothing")
        if method in SAFE_METHODS or headers.get("authorization", "").lower().startswith("bearer "):
            # A foreign page can send a browser here, but cannot read the response or set a bearer header. (Browsers may send
            # other kinds of authorization by themselves.)
            return None
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if _is_foreign(origin, host) or site not in (None, "same-origin", "none"):
            return 403, "foreign_origin", say("foreign_origin")
        return None


def _is_foreign(origin: str | None, host: str) -> bool:
    try:
        return origin is not None and urlsplit(origin).netloc.lower() != host.lower()
    except ValueError:
        return True


def bounded(receive: Receive, limit: int, too_large: str) -> Receive:
    """Limit a body in size and time, which also stops clients that declare no length or a wrong one."""
    got = 0
    is_whole = False
    began = asyncio.get_running_loop().time()

    async def counted() -> Message:
        nonlocal got, is_whole
        if is_whole:  # From now on, the only message left is that the client disconnected, which may take a day.
            return await receive()
        try:
            async with asyncio.timeout_at(began + BODY_SECONDS + got / BYTES_PER_SECOND):
                message = await receive()
        except TimeoutError:
            late = say("rest_missing", bytes=got, seconds=BODY_SECONDS + got / BYTES_PER_SECOND)
            raise HTTPException(408, late, CLOSING) from None
        got += len(message.get("body", b"") or b"")
        is_whole = not message.get("more_body")
        if got > limit:
            raise HTTPException(413, too_large, CLOSING)
        return message

    return counted


def seal(headers: MutableHeaders) -> None:
    """Add the security headers that the route has not set itself."""
    for name, value in SEAL.items():
        headers.setdefault(name, value)
    headers.setdefault("cache-control", "no-store")


def _declared(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isdigit() else 0
