"""A route for any web server: `wsgi` for WSGI (gunicorn, Google Cloud Functions), `asgi` for ASGI (uvicorn).

A timer sends `POST /tick` with `Authorization: Bearer $TICK_SECRET`. Fanfold's own server has such a route already:
`POST /api/v1/tick`.
"""

import asyncio
import hmac
import json
import os
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import asdict
from typing import Any

import fanfold as ff


def tick(authorization: str) -> tuple[str, bytes]:
    """Status and body: one tick, for callers that know the secret."""
    secret = os.environ.get("TICK_SECRET", "")
    if not secret or not hmac.compare_digest(authorization.encode(), f"Bearer {secret}".encode()):
        return "401 Unauthorized", b'{"error": "the bearer token is not TICK_SECRET"}'
    return "200 OK", json.dumps(asdict(ff.tick(seconds=45.0))).encode()


def wsgi(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The route for WSGI servers."""
    status, body = tick(environ.get("HTTP_AUTHORIZATION", ""))
    start_response(status, [("content-type", "application/json"), ("content-length", str(len(body)))])
    return [body]


async def asgi(
    scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """The route for ASGI servers. The tick runs in a thread, because it blocks."""
    assert scope["type"] == "http", "start the server with --lifespan off"
    given = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    status, body = await asyncio.to_thread(tick, given)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": int(status[:3]), "headers": headers})
    await send({"type": "http.response.body", "body": body})
