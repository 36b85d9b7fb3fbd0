"""A loopback proxy in front of PostgreSQL that can drop connections, or stop forwarding without closing them."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from pathlib import Path
from types import TracebackType

DROP_AT_ONCE = struct.pack("ii", 1, 0)
"""Linger for no time: closing sends a reset."""


class Line:
    """One connection from a client through the proxy to the server."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.ends = (client, server)
        self.flows = threading.Event()
        self.flows.set()
        self.is_over = False
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        """Pass on what comes; while nothing flows, what has come is acknowledged by the kernel and stays here."""
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                self.flows.wait()
                target.sendall(data)
            self.flows.wait()
        self.drop()

    def drop(self) -> None:
        """End both ends with a reset."""
        self.is_over = True
        self.flows.set()
        for end in self.ends:
            with contextlib.suppress(OSError):
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, DROP_AT_ONCE)
                end.shutdown(socket.SHUT_RD)
            end.close()


class Proxy:
    """Listens on a free port of the loopback and passes everything on to the socket of a server."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.lines: list[Line] = []
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        self._accepts = threading.Event()
        self._accepts.set()
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, database: str) -> str:
        """The URL of a database behind the proxy."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{database}"

    def reset(self) -> int:
        """Drop every connection, as a router that restarts does; new ones work. Returns how many there were."""
        lines, self.lines = self.lines, []
        living = [line for line in lines if not line.is_over]
        for line in lines:
            line.drop()
        return len(living)

    def fall_silent(self) -> None:
        """Half-open: accept nothing more, pass nothing on, close nothing."""
        self._accepts.clear()
        for line in self.lines:
            line.flows.clear()

    def forget(self) -> int:
        """Act like a firewall that lost its table: old connections stay silent forever, new ones work. Returns how many."""
        self.fall_silent()
        self._accepts.set()
        return sum(not line.is_over for line in self.lines)

    def speak(self) -> None:
        """Pass everything on again, also what has come meanwhile."""
        for line in self.lines:
            line.flows.set()
        self._accepts.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._accepts.wait()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self.target))
                except OSError:
                    client.close()
                    server.close()
                else:
                    self.lines.append(Line(client, server))

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._accepts.set()
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.reset()
