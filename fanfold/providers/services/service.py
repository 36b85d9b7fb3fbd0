"""The common form of all protocols: one request, and one reply or one kind of trouble."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import import_module
from typing import Any, Protocol

from fanfold.errors import BadInput
from fanfold.model.money.questions import SCHEMA, Usage
from fanfold.model.shortage import shortage
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values.secrets import blanked
from fanfold.providers.configuration import Provider
from fanfold.providers.limits.told import ToldLimit, delay_in, is_daily, is_throttling, told_in, until_tomorrow
from fanfold.providers.protocols import PROTOCOLS, load_class

NOT_SENT = ("ConnectTimeout", "PoolTimeout")
"""The HTTP library's names for a timeout before anything was sent."""
CUT = ("RemoteProtocolError", "ReadError", "WriteError", "DecodingError")
"""The HTTP library's names for a connection that broke while in use: the request may have been served."""


@dataclass(frozen=True)
class Request:
    """A request to a service, in any protocol."""

    model: str
    prompt: str
    images: tuple[bytes, ...] = ()
    system: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


class Finish(StrEnum):
    """Why an answer ended."""

    WHOLE = "whole"
    CUT_OFF = "cut off"
    FILTERED = "filtered"


@dataclass(frozen=True)
class ServiceReply:
    """The reply of a service, before it is checked."""

    text: str
    finish: Finish
    usage: Usage
    told: tuple[ToldLimit, ...] = ()
    """What the service reported about its limits."""


UNKNOWN_STATUSES = (502, 504, 520, 524)
"""Statuses of a gateway that lost the answer of the service behind it: the request may have been served."""


ACCOUNT_CODES = ("insufficient_quota", "billing_not_active", "billing_error")
"""Error codes for an account that cannot pay, with any HTTP status."""
NAMED_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "billing_not_active": 402,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit": 429,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "too_many_requests": 429,
    "resource_exhausted": 429,
    "api_error": 500,
    "server_error": 500,
    "internal_server_error": 500,
    "overloaded_error": 529,
}
"""The HTTP status that each error code of a service stands for; codes are in lower case."""


SHORTEST_QUOTA = 600.0
"""If the daily quota is used up but the service asks for a shorter wait than this, the wait is for another limit."""


class TroubleKind(StrEnum):
    """The kind of trouble with a service, which decides what happens next. "Counted" means as one of the item's retries."""

    BUSY = "busy"
    """The service failed (5xx, a broken answer): try again, counted."""
    LATE = "timeout"
    """The service did not answer in time: try again, counted."""
    LIMITED = "rate_limited"
    """Too many requests: wait, not counted."""
    QUOTA = "quota_used_up"
    """The daily quota is used up: ask the next model, or wait for the new quota, not counted."""
    REFUSED = "refused"
    """The key, the account or the model is not accepted: other items would fail too."""
    UNREACHABLE = "unreachable"
    """The service cannot be reached: wait, not counted."""
    REJECTED = "rejected"
    """The service does not accept this particular request: another model may."""


class ServiceTrouble(Exception):
    """A call that brought no answer. The message never contains the key, even if the service repeats it."""

    def __init__(
        self,
        provider: Provider,
        kind: TroubleKind,
        said: str,
        after: float | None = None,
        *,
        unknown: bool = False,
        told: tuple[ToldLimit, ...] = (),
        is_own: bool = False,
        status: int | None = None,
    ) -> None:
        key = provider.key
        message = say("service_said", service=provider.name, said=said)
        self.message = message.changed(lambda text: blanked(text, [key])) if key else message
        super().__init__(self.message)
        self.kind = kind
        self.after = after
        """Seconds the service asked to wait, if it did."""
        self.unknown = unknown or kind is TroubleKind.LATE
        """Whether the service may have done the work, and charged for it, although no answer came."""
        self.told = told
        """What the service reported about its limits."""
        self.is_own = is_own
        """Whether nothing was sent, because our own limit is used up or closed."""
        self.status = status
        """The HTTP status of the refusal, if there was one."""


class Service(Protocol):
    """A connection to one provider, in one event loop."""

    async def call(self, request: Request) -> ServiceReply:
        """Ask once; ServiceTrouble when there is no answer."""
        ...

    async def close(self) -> None:
        """Close the connections."""
        ...


def objection(provider: Provider) -> Sentence | None:
    """Why a provider cannot be asked here, and what to do about it; None if no reason is known."""
    if provider.lacks_key:
        return say("needs_key", provider=provider.name, variable=provider.key_env)
    if not PROTOCOLS[provider.kind].is_installed:
        return say("needs_library", provider=provider.name)
    return None


def connect(provider: Provider) -> Service:
    """Connect to a provider. Its library is loaded only now."""
    if reason := objection(provider):
        raise BadInput(reason)
    import_module("genai_prices")  # The first answer needs it; loading it then would make that answer look late.
    service: Service = load_class(PROTOCOLS[provider.kind].live)(provider)
    return service


def connection_trouble(error: Exception, provider: Provider) -> ServiceTrouble:
    """The ServiceTrouble for a failed connection: it broke while in use, or it was never made."""
    if type(error.__cause__).__name__ in CUT:
        return ServiceTrouble(provider, TroubleKind.BUSY, say("broke_off"), unknown=True)
    if (advice := shortage(error)) is not None:
        return ServiceTrouble(provider, TroubleKind.UNREACHABLE, say("short_of_files", advice=advice))
    return ServiceTrouble(provider, TroubleKind.UNREACHABLE, say("not_reached", address=provider.address))


def time_out(error: Exception, provider: Provider) -> ServiceTrouble:
    """The ServiceTrouble for a timeout: the service was not reached, or the request was sent and may have been served."""
    if type(error.__cause__).__name__ in NOT_SENT:
        return ServiceTrouble(provider, TroubleKind.UNREACHABLE, say("not_reached", address=provider.address))
    return ServiceTrouble(provider, TroubleKind.LATE, say("late", seconds=provider.timeout))


def refusal(provider: Provider, status: int, code: str, said: str, body: Any, headers: Any) -> ServiceTrouble:
    """The ServiceTrouble for an error with an HTTP status."""
    kind, wait = kind_of_status(status, code), seconds_to_wait(headers)
    if kind is TroubleKind.LIMITED:
        wait = wait if wait is not None else delay_in(body, said)
        if is_daily(body, said):
            kind, wait = TroubleKind.QUOTA, wait if wait and wait > SHORTEST_QUOTA else until_tomorrow()
    sentence = say("answered_status", status=status, said=said)
    unknown = status in UNKNOWN_STATUSES
    return ServiceTrouble(provider, kind, sentence, wait, unknown=unknown, told=told_in(headers), status=status)


def kind_of_status(status: int, code: str) -> TroubleKind:
    """What an HTTP status means; ``code`` is the service's own error code, if any."""
    if code in ACCOUNT_CODES or status in (401, 402, 403, 404):
        return TroubleKind.REFUSED
    if status == 429:
        return TroubleKind.LIMITED
    if status >= 500 or status in (408, 409, 425):
        return TroubleKind.BUSY
    return TroubleKind.REJECTED


def trouble_inside(provider: Provider, error: Any) -> ServiceTrouble:
    """The ServiceTrouble for a reply with status 200 that contains an error, or nothing.

    An error that names another status means what that status means. One that names none may have been charged.
    """
    if not error:
        return ServiceTrouble(provider, TroubleKind.BUSY, say("reply_without_answer"), unknown=True)
    told: dict[str, Any] = error if isinstance(error, dict) else {"message": error}
    words = [str(told[name]) for name in ("code", "status", "type") if told.get(name) is not None]
    text = " ".join(str(told.get("message") or error).split())[:300]
    status = next((found for word in words if (found := _status_named(word)) is not None), None)
    if status is None and is_throttling(text):
        status = 429
    kind = kind_of_status(status or 500, next((word for word in words if word in ACCOUNT_CODES), ""))
    wait = delay_in(told, text) if kind is TroubleKind.LIMITED else None
    if kind is TroubleKind.LIMITED and is_daily(told, text):
        kind, wait = TroubleKind.QUOTA, until_tomorrow()
    unknown = status is None or status in UNKNOWN_STATUSES
    return ServiceTrouble(provider, kind, say("answered_error", said=text), wait, unknown=unknown)


def error_inside(answer: Any) -> Any:
    """The error in a body with status 200: its field `error`, or the body itself."""
    more = getattr(answer, "model_extra", None) or {}
    named = getattr(answer, "error", None)
    return named if named or not {"message", "code", "status"} & set(more) else more


def _status_named(word: str) -> int | None:
    """The HTTP status that an error's code or type stands for, if any."""
    if word.isascii() and word.isdigit() and 400 <= int(word) < 600:
        return int(word)
    return NAMED_STATUSES.get(word.lower())


CALLED = {SCHEMA: ("response_format", "json_schema", "output_config")}
"""The services' names for a parameter that has another name here."""


class LeftOut:
    """Parameters that a model has refused, so that they are not sent again."""

    def __init__(self) -> None:
        self._by_model: dict[str, set[str]] = {}

    def sent(self, request: Request) -> dict[str, Any]:
        """The parameters of a request that its model has not refused."""
        refused = self._by_model.get(request.model, set())
        return {name: value for name, value in request.parameters.items() if name not in refused}

    def learn(self, request: Request, said: str) -> bool:
        """Remember the parameters that a refusal names; False if it is about something else."""
        words = ("unsupported", "not support", "unknown", "unrecognized", "deprecated", "not permitted", "too large")
        if not any(word in said.lower() for word in words):
            return False
        unknown = {
            name for name in self.sent(request) if any(word in said.lower() for word in CALLED.get(name, (name,)))
        }
        self._by_model.setdefault(request.model, set()).update(unknown)
        return bool(unknown)


def seconds_to_wait(headers: Any) -> float | None:
    """The wait that a reply's headers ask for: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    try:
        milliseconds, asked = headers.get("retry-after-ms"), headers.get("retry-after")
        if milliseconds is None and asked is None:
            return None
        seconds = float(milliseconds) / 1000 if milliseconds is not None else _seconds(asked)
    except (ValueError, TypeError, OverflowError):
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds(asked: str) -> float:
    return float(asked) if asked.replace(".", "", 1).isdigit() else _until(asked)


def _until(date: str) -> float:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    moment = parsedate_to_datetime(date)
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


def media_type(image: bytes) -> str:
    """The type of a picture, by its first bytes."""
    if image.startswith(b"\x89PNG"):
        return "image/png"
    return "image/webp" if image[8:12] == b"WEBP" else "image/jpeg"
