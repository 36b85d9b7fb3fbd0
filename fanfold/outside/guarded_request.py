"""Sends a request to an address from outside without letting it reach this machine or its network.

The connection is made to a checked address, so a name that answers differently the next time gains nothing. Redirects are
checked in the same way. Time and size are bounded.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin

from fanfold.outside.addresses import NOTHING, Allowed, RequestRefused, checked
from fanfold.outside.connection import CheckedConnection

REDIRECTS = (301, 302, 303, 307, 308)


@dataclass(frozen=True)
class Reply:
    """What the other side answered; of a long body only the beginning."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def send(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    seconds: float = 15.0,
    most_bytes: int = 65_536,
    redirects: int = 0,
    allowed: Allowed = NOTHING,
) -> Reply:
    """Send one request. RequestRefused before anything is sent to an address that must not be asked; OSError if it fails.

    Redirects are followed ``redirects`` times, and never with a body.
    """
    for _ in range(redirects + 1):
        parts, addresses = checked(url, allowed)
        reply = _sent(parts, addresses, method, body, dict(headers or {}), seconds, most_bytes)
        target = reply.headers.get("location")
        if reply.status not in REDIRECTS or not redirects or body is not None or not target:
            return reply
        url = urljoin(url, target)
    raise RequestRefused("it redirects too often")


def _sent(
    parts: SplitResult,
    addresses: Sequence[str],
    method: str,
    body: bytes | None,
    headers: dict[str, str],
    seconds: float,
    most_bytes: int,
) -> Reply:
    """Connect to a checked address and ask. At the end of the time the connection is cut, whatever the other side does."""
    connection = CheckedConnection(parts, addresses, seconds)
    late = threading.Event()

    def cut() -> None:
        late.set()
        connection.cut()

    timer = threading.Timer(seconds, cut)
    timer.daemon = True
    timer.start()
    try:
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request(method, path, body, {"Accept-Encoding": "identity", "Connection": "close", **headers})
        answer = connection.getresponse()
        found = _read(answer, most_bytes)
        if late.is_set():
            raise TimeoutError(f"no complete answer within {seconds:g} s")
        return Reply(answer.status, found, {name.lower(): value for name, value in answer.getheaders()})
    except (http.client.HTTPException, ValueError) as problem:
        if late.is_set():
            raise TimeoutError(f"no complete answer within {seconds:g} s") from problem
        raise ConnectionError(f"its answer is not HTTP: {type(problem).__name__}") from problem
    except OSError as problem:
        if late.is_set():
            raise TimeoutError(f"no complete answer within {seconds:g} s") from problem
        raise
    finally:
        timer.cancel()
        connection.close()


def _read(answer: http.client.HTTPResponse, most_bytes: int) -> bytes:
    """The beginning of a body; the rest is not read."""
    found = bytearray()
    while len(found) < most_bytes and (piece := answer.read1(min(65_536, most_bytes - len(found)))):
        found += piece
    return bytes(found)
