"""Is anybody at the other end? Connections to PostgreSQL that are in use, and the way to end one that will never answer."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

SHARES = {"keepalives_idle": 3, "keepalives_interval": 6}
"""Parts of the patience after which a quiet connection is probed, and between two probes."""
PROBES = 3


@dataclass(frozen=True)
class Use:
    """A connection in somebody's hands."""

    connection: Any
    thread: int
    since: float


class Connections:
    """Who uses a connection, and since when.

    A connection whose other end is gone without a word (a pulled cable, a frozen server, a forgetful firewall) looks like
    one on which the server still thinks. The kernel tells the first two apart only sometimes, so others decide here which
    connections are ended: see ``Database.end_silent`` and the worker's heartbeat.
    """

    def __init__(self) -> None:
        self._used: dict[int, Use] = {}
        # Reentrant: the garbage collector may give a connection back in the middle of anything.
        self._lock = threading.RLock()

    def watch(self, engine: sa.Engine, prepare: Callable[[Any], None]) -> None:
        """Follow the connections of a pool from before the first word is said on each."""

        def connected(connection: Any, record: Any) -> None:
            self._take(id(record), connection)
            prepare(connection)

        event.listen(engine, "connect", connected)
        event.listen(engine, "checkout", lambda connection, record, _proxy: self._take(id(record), connection))
        for ending in ("checkin", "close"):
            event.listen(engine, ending, lambda _connection, record: self._leave(id(record)))

    @contextmanager
    def using(self, connection: Any) -> Iterator[None]:
        """The same for a connection outside of the pool."""
        self._take(id(connection), connection)
        try:
            yield
        finally:
            self._leave(id(connection))

    def waiting(self, seconds: float) -> dict[int, Use]:
        """The connections in use for longer than this, by the process id of their server."""
        start = time.monotonic() - seconds
        with self._lock:
            waiting = [use for use in list(self._used.values()) if use.since < start and not use.connection.closed]
            return {use.connection.info.backend_pid: use for use in waiting}

    def end(self, unwanted: Callable[[Use], bool]) -> int:
        """End these connections: who waits on one gets an error at once. Returns how many.

        The socket is shut down and not closed, because another thread is inside libpq with it. Under the lock, so that it
        cannot be closed meanwhile and its number be given to something else.
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
        return False  # It was broken already; whoever uses it knows.
    return True


def client_options(patience: float) -> dict[str, int]:
    """What libpq is told: a connection to a machine that is gone ends within about the patience."""
    probing = {name: max(1, int(patience / share)) for name, share in SHARES.items()}
    return {
        "connect_timeout": max(2, min(10, int(patience))),
        "keepalives_count": PROBES,
        "tcp_user_timeout": _milliseconds(patience),
        **probing,
    }


def server_options(patience: float) -> dict[str, str]:
    """What the server is told: the locks of a client that is gone, or stopped in the middle of a transaction, end as well."""
    probing = {f"tcp_{name}": f"{max(1, int(patience / share))}" for name, share in SHARES.items()}
    return {
        "idle_in_transaction_session_timeout": f"{_milliseconds(patience)}",
        "tcp_keepalives_count": f"{PROBES}",
        "tcp_user_timeout": f"{_milliseconds(patience)}",
        **probing,
    }


def _milliseconds(patience: float) -> int:
    return max(1_000, int(patience * 1000))
