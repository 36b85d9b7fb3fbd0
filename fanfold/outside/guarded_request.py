"""Sends a request to an address from outside without letting it reach this machine or its network.

The host is resolved once, every address that it has is checked, and the connection is made to a checked address, so a name
that answers differently the next time gains nothing. Redirects are checked in the same way. Time and size are bounded.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
REDIRECTS = (301, 302, 303, 307, 308)
PORTS = {"http": 80, "https": 443}


class RequestRefused(Exception):
    """The address must not be asked: it is not a public one, or not a web address."""


@dataclass(frozen=True)
class Allowed:
    """Private addresses that may be asked nevertheless: host names, and networks."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...] = ()

    @classmethod
    def parsed(cls, text: str) -> Allowed:
        """From a list such as `10.0.0.0/8, hooks.internal`; ValueError for a network that is none."""
        words = [word.strip().lower() for word in text.split(",") if word.strip()]
        networks = [word for word in words if word[0].isdigit() or ":" in word]
        return cls(
            frozenset(word for word in words if word not in networks),
            tuple(ipaddress.ip_network(word, strict=False) for word in networks),
        )

    def admits(self, host: str, address: Address) -> bool:
        """Whether this address of this host may be asked."""
        named = host in self.hosts
        return named or any(address in one for one in self.networks if one.version == address.version)


NOTHING = Allowed()


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


def checked(url: str, allowed: Allowed = NOTHING) -> tuple[SplitResult, Sequence[str]]:
    """The parts of a web address, and the addresses of its host, all of which may be asked; RequestRefused otherwise."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        raise RequestRefused("it is not a web address") from None
    if parts.scheme not in PORTS or not host or parts.username is not None or any(ord(one) <= 32 for one in url):
        raise RequestRefused("it is not a web address that begins with http:// or https://")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise RequestRefused("its host has no valid name") from None
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for text in addresses:
        address = _inner(ipaddress.ip_address(text.partition("%")[0]))
        if not is_public(address) and not allowed.admits(host, address):
            raise RequestRefused(f"{host} has the address {address}, which is not public")
    return parts, addresses


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet."""
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address that stands for one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in NAT64 or int(address) < 2**32:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address


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
    host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
    connection = _Connection(host, port, addresses, parts.scheme == "https", seconds)
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


class _Connection(http.client.HTTPConnection):
    """A connection to one of the checked addresses; the certificate must be that of the host."""

    def __init__(self, host: str, port: int, addresses: Sequence[str], secure: bool, seconds: float) -> None:
        super().__init__(host, port, timeout=seconds)
        self._addresses = addresses
        self._secure = secure

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
