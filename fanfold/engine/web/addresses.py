"""Checks a URL that a person or a document names, so that it cannot reach this machine or its network.

Whatever is connected to must be an address that ``checked_addresses`` returned: a name may resolve to another address a
moment later.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

from fanfold.errors import BadInput

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]
PORTS = {"http": 80, "https": 443}
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses that a gateway translates to the IPv4 address in their last four bytes."""


def checked_url(url: str) -> SplitResult:
    """The parts of an http or https URL; BadInput for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadInput(f"{url} is not a valid URL.", code="bad_url") from None
    if parts.scheme not in PORTS:
        raise BadInput(f"{_named(parts)} is not a URL with http or https.", code="bad_url")
    if not parts.hostname or port == 0:
        raise BadInput(f"{url} names no host.", code="bad_url")
    if parts.username is not None or parts.password is not None:
        raise BadInput(
            "A URL must not contain a password: it would be stored. Download the file first.", code="bad_url"
        )
    return parts


def checked_addresses(parts: SplitResult, *, private: bool, resolve: Resolve | None = None) -> list[str]:
    """The addresses of a URL's host. BadInput if there are none, or if one is private and ``private`` is not set."""
    host = parts.hostname or ""
    try:
        found = list((resolve or _resolved)(host, parts.port or PORTS[parts.scheme]))
    except (OSError, UnicodeError):
        found = []
    if not found:
        raise BadInput(f"There is no host {host}. Check the URL.", code="no_host")
    if not private and any(not is_public(address) for address in found):
        raise BadInput(
            f"{host} is an address of this machine or its network, which URLs may not reach. To allow it: "
            "FANFOLD_PRIVATE_URLS=1",
            code="private_url",
        )
    return found


def is_public(address: str) -> bool:
    """Whether an address is on the public internet, also if it hides another address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not one.is_multicast and not one.is_reserved for one in (found, *_hidden(found)))


def _hidden(found: Address) -> list[Address]:
    if isinstance(found, ipaddress.IPv4Address):
        return []
    translated = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF) if found in _TRANSLATED else None
    teredo = found.teredo or (None, None)
    return [one for one in (found.ipv4_mapped, found.sixtofour, *teredo, translated) if one is not None]


def _resolved(host: str, port: int) -> list[str]:
    found: list[Any] = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _named(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
