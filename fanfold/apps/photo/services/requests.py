"""Requests to image services: plain HTTP, one try each, with bounded time and size.

The outcome of a request that starts a job has three classes. *Refused* is safe to repeat: the service says so (4xx, 429, 503,
529), or nothing was sent. *Accepted* has an id. Everything else (timeout, reset, 408, 409, 500, 502, 504) is *unknown*: the job
may have been started and paid for.
"""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import Mapping
from typing import Any

import fanfold as ff
from fanfold.apps.photo.configuration import ServiceSettings
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.outside.addresses import RequestRefused
from fanfold.outside.guarded_request import Reply, send

MOST_BYTES = 4_000_000
PICTURE_BYTES = 60_000_000
BUSY = (429, 503, 529)
UNCLEAR = (408, 409)
"""Refusals that prove nothing: a gateway gave up waiting, or a request with the same key is being worked on."""
NO_ACCESS = (401, 402, 403)
LONGEST_AFTER_SECONDS = 600.0


class UnknownOutcome(Exception):
    """Nobody knows whether the service has started the job: it must not be started again blindly."""


class ServiceTrouble(Exception):
    """A request that only looks at something failed; it can be repeated."""

    def __init__(self, message: str, status: int = 0, body: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.body = body


class Requests:
    """Requests to one service."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings

    def start(
        self,
        path: str,
        body: Any,
        *,
        key: str,
        headers: Mapping[str, str] | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> Any:
        """POST a request that starts a job, and return its answer; see the module for what else can happen."""
        sent = dict(headers or {})
        if self.settings.idempotency_header:
            sent[self.settings.idempotency_header] = key
        try:
            reply = self._send("POST", self._url(path), body, sent, most_bytes)
        except RequestRefused as refusal:
            raise ff.Permanent(self._said("not_asked", why=str(refusal)), code="bad_address") from None
        except (ConnectionRefusedError, socket.gaierror) as problem:
            raise ff.Temporary(self._said("unreachable", why=str(problem)), by=self.settings.name) from problem
        except OSError as problem:
            raise UnknownOutcome(self._said("cut_off", why=str(problem) or type(problem).__name__)) from problem
        if 200 <= reply.status < 300:
            return self._json(reply, UnknownOutcome)
        self._refuse(reply)
        raise UnknownOutcome(self._said("answered", status=reply.status, why=_beginning(reply)))

    def get(self, path: str) -> Any:
        """GET an answer; None for 404. ServiceTrouble if it should be asked again later."""
        return self._harmless("GET", path, None)

    def post(self, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """POST something that costs nothing, such as a cancel or an upload."""
        return self._harmless("POST", path, body, headers)

    def put(self, path: str, body: Any = None) -> Any:
        """PUT something that costs nothing."""
        return self._harmless("PUT", path, body)

    def picture(self, link: str) -> bytes:
        """The bytes behind a link; ff.Temporary if it cannot be copied now."""
        own = self._is_own(link)
        try:
            reply = self._send("GET", self._url(link), None, {}, PICTURE_BYTES, with_key=own, redirects=0 if own else 3)
        except (OSError, RequestRefused) as problem:
            raise ff.Temporary(self._said("not_copied", why=str(problem)), code="not_copied") from problem
        if reply.status != 200:
            raise ff.Temporary(self._said("not_copied", why=f"HTTP {reply.status}"), code="not_copied")
        if len(reply.body) >= PICTURE_BYTES:
            raise ff.Permanent(self._said("picture_large", most=PICTURE_BYTES // 1_000_000), code="not_copied")
        return reply.body

    def _harmless(self, method: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Any:
        if not self._is_own(path):  # The key goes along, so it must not go elsewhere, whatever an answer says.
            raise ServiceTrouble(self._said("foreign_link"))
        try:
            reply = self._send(method, self._url(path), body, dict(headers or {}), MOST_BYTES)
        except (OSError, RequestRefused) as problem:
            raise ServiceTrouble(f"{self.settings.name}: {problem}") from problem
        if reply.status == 404:
            return None
        if not 200 <= reply.status < 300:
            raise ServiceTrouble(f"{self.settings.name}: HTTP {reply.status}", reply.status, _beginning(reply))
        answer = self._json(reply, ServiceTrouble) if reply.body.strip() else {}
        if not isinstance(answer, dict):
            raise ServiceTrouble(self._said("no_json", why=_beginning(reply)))
        return answer

    def _send(
        self,
        method: str,
        url: str,
        body: Any,
        headers: dict[str, str],
        most_bytes: int,
        *,
        with_key: bool = True,
        redirects: int = 0,
    ) -> Reply:
        if body is not None and not isinstance(body, bytes):
            body, headers = json.dumps(body).encode(), {"Content-Type": "application/json", **headers}
        if with_key and self.settings.key:
            headers = {**headers, "Authorization": f"{self._scheme} {self.settings.key}"}
        return send(
            url,
            method=method,
            body=body,
            headers={"Accept": "*/*", "User-Agent": "fanfold", **headers},
            seconds=self.settings.seconds,
            most_bytes=most_bytes,
            redirects=redirects,
            allowed=self.settings.allowed,
        )

    @property
    def _scheme(self) -> str:
        return "Key" if self.settings.protocol == "fal" else "Bearer"

    def _is_own(self, link: str) -> bool:
        """Whether a link leads to the service itself."""
        return link.startswith(("/", f"{self.settings.address}/"))

    def _url(self, path: str) -> str:
        return path if path.startswith(("http://", "https://")) else f"{self.settings.address}{path}"

    def _refuse(self, reply: Reply) -> None:
        """Raise for a status which proves that nothing was started."""
        why = _beginning(reply)
        if reply.status in BUSY:
            after = _retry_after(reply)
            said = self._said("busy", status=reply.status)
            raise ff.Temporary(said, after=after, counts=False, by=self.settings.name, code="rate_limited")
        if reply.status in NO_ACCESS:
            raise ff.PauseTask(self._said("no_access", status=reply.status, why=why, variable=self.settings.key_env))
        if 400 <= reply.status < 500 and reply.status not in UNCLEAR:
            raise ff.Permanent(self._said("refused", status=reply.status, why=why), code="refused")

    def _json(self, reply: Reply, otherwise: type[Exception]) -> Any:
        try:
            return json.loads(reply.body)
        except ValueError as problem:
            raise otherwise(self._said("no_json", why=_beginning(reply))) from problem

    def _said(self, code: str, **values: Any) -> Any:
        return say_of_photo(code, service=self.settings.name, **values)


def multipart(fields: Mapping[str, str], files: list[tuple[str, str, bytes, str]]) -> tuple[bytes, str]:
    """A form with files (field, name, content, type) as the body of a request, and its content type."""
    mark = secrets.token_hex(16)
    parts = [
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for field, name, content, kind in files:
        head = f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'
        parts += [head.encode(), content, b"\r\n"]
    return b"".join([*parts, f"--{mark}--\r\n".encode()]), f"multipart/form-data; boundary={mark}"


def _beginning(reply: Reply) -> str:
    return " ".join(reply.body[:300].decode("utf-8", "replace").split())


def _retry_after(reply: Reply) -> float:
    told = reply.headers.get("retry-after", "")
    return min(LONGEST_AFTER_SECONDS, float(told)) if told.isdigit() else 10.0
