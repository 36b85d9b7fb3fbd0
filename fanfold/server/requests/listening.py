"""How the server listens: uvicorn's settings, and an end for connections on which no whole request arrives."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEAD_SECONDS = 20.0
"""How long the line and the headers of a request may take, from the connection or from their first byte."""
GRACE_SECONDS = 3
"""How long answers under way may take when the server stops; open streams are told to end at once."""
HEAD_BYTES = 64_000
TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Protocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
    """uvicorn's protocol, which by itself waits forever for the rest of a request's headers.

    Bodies have a time limit of their own, in the guard; idle connections after an answer have uvicorn's.
    """

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """A client has connected."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Some bytes have come."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._calm()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the clock while a request is incomplete, stop it when one is being answered."""
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
    """What uvicorn is told."""
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
