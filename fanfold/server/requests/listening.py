"""uvicorn's settings, and a timeout for connections on which no complete request arrives."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 20.0
"""Time limit for the request line and headers, from the connection or from their first byte."""
GRACE_SECONDS = 3
"""Time limit for responses in progress when the server stops; open streams are ended immediately."""
HEAD_BYTES = 64_000
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol with a timeout for request headers, which uvicorn alone waits for forever.

    The guard limits the time for bodies; uvicorn limits idle connections after a response.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Bytes have arrived."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._calm()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Run the timeout while a request is incomplete; stop it while one is being answered."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._calm()
        elif self._patience is None and not self.transport.is_closing():
            self._patience = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        self._patience = None
        if not self.transport.is_closing():
            self.transport.write(TOO_SLOW)
            self.transport.close()


def configured(app: ASGIApp, **others: Any) -> uvicorn.Config:
    """The configuration for uvicorn."""
    known: dict[str, Any] = {
        "http": Protocol,
        "ws": "none",
        "log_config": None,
        "access_log": False,
        "timeout_graceful_shutdown": GRACE_SECONDS,
        "server_header": False,
        "h11_max_incomplete_event_size": HEAD_BYTES,
    }
    return uvicorn.Config(app, **(known | others))
