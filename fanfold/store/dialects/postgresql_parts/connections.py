"""Tracks the PostgreSQL connections in use, and ends those that will never answer."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.store.dialects.access import Use

SHARES = {"keepalives_idle": 3, "keepalives_interval": 6}
"""Fractions (1/n) of the patience after which an idle connection is probed, and between two probes."""
PROBES = 3


class Connections:
    """Which thread uses a connection, and since when.

    A connection whose peer vanished silently (a pulled cable, a frozen server, a firewall that dropped its state) looks like
    one whose server is still busy. The kernel cannot always tell them apart, so callers decide which connections to end: see
    ``Database.end_silent`` and the worker's heartbeat.
    """

    def __init__(self) -> None:
        self._used: dict[int, Use] = {}
        # Reentrant: the garbage collector may return a connection to the pool at any point.
        self._lock = threading.RLock()

    def watch(self, engine: sa.Engine, prepare: Callable[[Any], None]) -> None:
        """Track the connections of a pool from before their first message."""

        def connected(connection: Any, record: Any) -> None:
            self._take(id(record), connection)
            prepare(connection)

        event.listen(engine, "connect", connected)
        event.listen(engine, "checkout", lambda connection, record, _proxy: self._take(id(record), connection))
        for ending in ("checkin", "close"):
            event.listen(engine, ending, lambda _connection, record: self._leave(id(record)))

    @contextmanager
    def using(self, connection: Any) -> Iterator[None]:
        """The same for a connection outside the pool."""
        self._take(id(connection), connection)
        try:
            yield
        finally:
            self._leave(id(connection))

    def waiting(self, seconds: float) -> dict[int, Use]:
        """Connections in use for longer than ``seconds``, by server process id."""
        start = time.monotonic() - seconds
        with self._lock:
            waiting = [use for use in list(self._used.values()) if use.since < start and not use.connection.closed]
            return {use.connection.info.backend_pid: use for use in waiting}

    def end(self, unwanted: Callable[[Use], bool]) -> int:
        """End these connections: threads waiting on them get an error at once. Returns how many.

        The socket is shut down, not closed, because another thread is using it inside libpq. The lock keeps it from being
        closed meanwhile and its descriptor from being reused.
        """
        with self._lock:
            return sum(_shut(use.connection) for use in list(self._used.values()) if unwanted(use))

    def _take(self, key: int, connection: Any) -> None:
        with self._lock:
            self._used[key] = Use(connection, threading.get_ident(), time.monotonic())

    def _leave(self, key: int) -> None:
        with self._lock:
            self._used.pop(key, None)


def _shut(connection: Any) -> bool:
    if connection.closed:
        return False
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as end:
            end.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False  # Already broken; its user gets an error anyway.
    return True


def client_options(patience: float) -> dict[str, int]:
    """Options for libpq: a connection to a vanished machine ends within about the patience."""
    probing = {name: max(1, int(patience / share)) for name, share in SHARES.items()}
    return {
        "connect_timeout": max(2, min(10, int(patience))),
        "keepalives_count": PROBES,
        "tcp_user_timeout": _milliseconds(patience),
        **probing,
    }


def server_options(patience: float) -> dict[str, str]:
    """Options for the server: it also releases the locks of a client that vanished or stopped inside a transaction."""
    probing = {f"tcp_{name}": f"{max(1, int(patience / share))}" for name, share in SHARES.items()}
    return {
        "idle_in_transaction_session_timeout": f"{_milliseconds(patience)}",
        "tcp_keepalives_count": f"{PROBES}",
        "tcp_user_timeout": f"{_milliseconds(patience)}",
        **probing,
    }


def _milliseconds(patience: float) -> int:
    return max(1_000, int(patience * 1000))
