"""An HTTP connection to a checked address, which another thread can cut off."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Sequence
from urllib.parse import SplitResult

from fanfold.outside.addresses import PORTS


class Connection(http.client.HTTPConnection):
    """A connection to one of the checked addresses; the certificate must be that of the host."""

    def __init__(self, parts: SplitResult, addresses: Sequence[str], seconds: float) -> None:
        super().__init__(parts.hostname or "", parts.port or PORTS[parts.scheme], timeout=seconds)
        self._addresses = addresses
        self._secure = parts.scheme == "https"

    def connect(self) -> None:
        """Try the addresses in their order."""
        problem: OSError = ConnectionError("its host has no address")
        for address in self._addresses:
            try:
                self.sock = socket.create_connection((address, self.port), self.timeout)
                break
            except OSError as error:
                problem = error
        else:
            raise problem
        if self._secure:
            self.sock = ssl.create_default_context().wrap_socket(self.sock, server_hostname=self.host)

    def cut(self) -> None:
        """End the connection while another thread reads from it. That thread closes it: closing it here breaks its read."""
        sock = self.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:  # It has just ended.
                return
