"""An HTTP connection to a checked address, which another thread can cut off."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from collections.abc import Sequence
from urllib.parse import SplitResult

from fanfold.outside.addresses import PORTS


class CheckedConnection(http.client.HTTPConnection):
    """A connection to one of the checked addresses; the certificate must be that of the host."""

    def __init__(self, parts: SplitResult, addresses: Sequence[str], seconds: float) -> None:
        super().__init__(parts.hostname or "", parts.port or PORTS[parts.scheme], timeout=seconds)
        self._addresses = addresses
        self._seconds = seconds
        self._secure = parts.scheme == "https"
        self._is_cut = False

    def connect(self) -> None:
        """Try the addresses in their order; all of them together get the time that one would."""
        problem: OSError = ConnectionError("its host has no address")
        end = time.monotonic() + self._seconds
        for place, address in enumerate(self._addresses):
            left = (end - time.monotonic()) / (len(self._addresses) - place)
            if self._is_cut or left <= 0:
                break
            try:
                self.sock = socket.create_connection((address, self.port), left)
                break
            except OSError as error:
                problem = error
        if self.sock is None:
            raise problem
        if self._is_cut:
            raise TimeoutError
        self.sock.settimeout(self._seconds)
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def cut(self) -> None:
        """End the connection while another thread reads from it. That thread closes it: closing it here breaks its read."""
        self._is_cut = True
        sock = self.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # It has just ended.
                return
