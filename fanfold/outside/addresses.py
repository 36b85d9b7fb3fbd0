"""Checks an address that somebody else has chosen, so that it cannot reach this machine or its network.

The host is resolved once and every address that it has is checked. Connect only to an address that ``checked`` returned: a
name may resolve to another one a moment later.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64 = ipaddress.ip_network("64:ff9b::/96")
PORTS = {"http": 80, "https": 443}


class RequestRefused(Exception):
    """The address must not be asked: it is not a public one, or not a web address."""


class PrivateAddress(RequestRefused):
    """The address belongs to this machine or a private network, and is not among those that are allowed."""


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
            raise PrivateAddress(f"{host} has the address {address}, which is not public")
    return parts, addresses


def is_public(address: Address) -> bool:
    """Whether an address belongs to the public internet."""
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: Address) -> Address:
    """The IPv4 address inside an IPv6 address that stands for one; `::` and `::1` stand for themselves."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in NAT64 or 1 < int(address) < 2**32:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address
