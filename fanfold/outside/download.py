"""Downloads a file from a URL, with limits of size and time. Every redirect is checked like the URL itself."""

from __future__ import annotations

import email.message
import http.client
import re
import shutil
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, unquote, urljoin

from fanfold.errors import BadInput
from fanfold.outside.addresses import NOTHING, Allowed, PrivateAddress, RequestRefused, checked
from fanfold.outside.connection import CheckedConnection
from fanfold.outside.guarded_request import REDIRECTS

MOST_REDIRECTS = 5
SILENCE_SECONDS = 20.0
"""Longest wait for the next bytes."""
_PART = 1 << 16
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]")
_ENDINGS = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "application/xhtml+xml": ".xhtml",
    "application/epub+zip": ".epub",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/tiff": ".tif",
    "image/webp": ".webp",
}


@dataclass(frozen=True)
class Limits:
    """What a download may take."""

    size: int = 512_000_000
    seconds: float = 120.0
    allowed: Allowed = NOTHING
    """Addresses of this machine and its network that may be reached."""


def download(url: str, folder: Path, limits: Limits) -> Path:
    """Download into the folder; returns the file, named as the server or the URL names it. BadInput says why it failed."""
    seen = url
    for _ in range(MOST_REDIRECTS + 1):
        try:
            parts, addresses = checked(seen, limits.allowed)
            found = _once(parts, addresses, folder, limits)
        except RequestRefused as refusal:
            way = " To allow it: FANFOLD_PRIVATE_ADDRESSES" if isinstance(refusal, PrivateAddress) else ""
            raise BadInput(f"{_shown(url)} is not downloaded: {refusal}.{way}", code="bad_url") from None
        except (OSError, http.client.HTTPException) as error:
            raise BadInput(f"{_shown(url)} cannot be downloaded: {_why(error, limits)}.", code="no_download") from None
        if isinstance(found, Path):
            return found
        target = urljoin(seen, found)
        if parts.scheme == "https" and not target.startswith("https:"):
            raise BadInput(f"{_shown(url)} redirects from https to {target}, which is not secure.", code="bad_url")
        seen = target
    raise BadInput(f"{_shown(url)} redirects more than {MOST_REDIRECTS} times.", code="no_download")


def _once(parts: SplitResult, addresses: Sequence[str], folder: Path, limits: Limits) -> Path | str:
    """The file, or the target of a redirect."""
    connection = CheckedConnection(parts, addresses, SILENCE_SECONDS)
    # A server may send a byte now and then forever: end the connection when the time is over.
    timer = threading.Timer(limits.seconds, connection.cut)
    timer.daemon = True
    timer.start()
    try:
        target = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
        headers = {"User-Agent": "fanfold", "Accept": "*/*", "Accept-Encoding": "identity"}
        connection.request("GET", target if target.startswith("/") else f"/{target}", headers=headers)
        answer = connection.getresponse()
        if answer.status in REDIRECTS and (place := answer.getheader("Location")):
            return place
        if answer.status != 200:
            raise OSError(f"the server answers {answer.status} {answer.reason}".rstrip())
        kept = _kept(answer, folder / _name(parts, answer.headers), limits)
        if not timer.is_alive():
            raise TimeoutError
        return kept
    finally:
        timer.cancel()
        connection.close()


def _kept(answer: http.client.HTTPResponse, target: Path, limits: Limits) -> Path:
    told = answer.getheader("Content-Length") or ""
    if told.isdigit() and int(told) > limits.size:
        raise OSError(_too_large(limits))
    folder = target.parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    size = 0
    with target.open("wb") as sink:
        while part := answer.read(_PART):
            size += len(part)
            if size > limits.size:
                raise OSError(_too_large(limits))
            sink.write(part)
    if told.isdigit() and size < int(told):
        raise OSError("the connection ended early")
    return target


def _name(parts: SplitResult, headers: email.message.Message) -> str:
    given = headers.get_filename() or unquote(parts.path.rpartition("/")[2]) or "document"
    name = _UNFIT.sub("_", given).strip(". ")[-120:] or "document"
    ending = _ENDINGS.get(headers.get_content_type(), "")
    return name if re.search(r"\.[A-Za-z0-9]{2,5}$", name) or not ending else name + ending


def _too_large(limits: Limits) -> str:
    limit = f"{limits.size / 1e6:g} MB" if limits.size >= 1_000_000 else f"{limits.size} bytes"
    return f"it is larger than {limit}"


def _why(error: Exception, limits: Limits) -> str:
    if isinstance(error, TimeoutError):
        return f"the server does not answer, or needs more than {limits.seconds:g} seconds"
    if isinstance(error, ssl.SSLError):
        return f"its certificate cannot be checked ({error.reason or error})"
    if isinstance(error, OSError):
        return str(error.strerror or error).rstrip(".")
    return f"the server's answer is not HTTP ({type(error).__name__})"


def _shown(url: str) -> str:
    """The URL without a user name and password."""
    return re.sub(r"//[^/?#]*@", "//", url)
