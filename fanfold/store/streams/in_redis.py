"""Carries streamed output to readers through Redis, so that they see each piece at once and do not poll the database.

Redis is a copy with a short life. Every piece also goes to the database, which decides what counts: readers take from Redis only
what continues without a gap, under the lease that the database names, from the attempt that began when the database says. So
Redis may be slow, gone or emptied at any time, and a database may be restored from a backup beside a Redis that was not.

One stream per item. The id of an entry is the lease and the position, which both only grow: Redis refuses whatever an earlier
attempt still writes, and an entry that is sent twice is there once.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from fanfold.errors import BadInput

if TYPE_CHECKING:
    from redis import Redis

log = logging.getLogger("fanfold.streams")
SCHEMES = ("redis", "rediss", "unix")
ANSWER_SECONDS = 0.5
"""How long Redis may take to answer. A handler waits for it, so this is short."""
SILENT_SECONDS = 5.0
"""How long Redis is left alone after a failure."""
KEPT_SECONDS = 3_600
"""How long a stream is kept after its last piece."""
MOST_ENTRIES = 10_000
"""About this many entries of a stream are kept; earlier ones are read from the database."""
PAGE = 500
BODY, BEGAN = b"body", b"began"


class LivePiece(NamedTuple):
    """An entry of a stream; without a body it says that the attempt emits nothing more."""

    lease: int
    position: int
    body: str | None
    began: str
    """When the attempt began, according to the database."""


def address(url: str) -> str:
    """Where a Redis is, for people: without user and password."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_url(url: str) -> None:
    """BadInput if it is no address of a Redis, or if the package is missing. Never repeats the address: it has a password."""
    if url.partition("://")[0] not in SCHEMES:
        raise BadInput("Setting streams is not the URL of a Redis; write redis://HOST:PORT/NUMBER.")
    try:
        import redis
    except ImportError:
        raise BadInput(
            "Setting streams names a Redis, which needs a package more: pip install 'fanfold[redis]'"
        ) from None
    try:
        redis.ConnectionPool.from_url(url)
    except (ValueError, TypeError):
        raise BadInput(
            "Setting streams cannot be read as the URL of a Redis; write redis://HOST:PORT/NUMBER."
        ) from None


class LiveStreams:
    """The streams of one installation. Never raises because of Redis: a failure is logged once, and Redis left alone a while."""

    def __init__(self, url: str, prefix: str) -> None:
        """``prefix``: keeps the streams of several databases apart."""
        self.address = address(url)
        self._url = url
        self._prefix = prefix
        self._client: Redis | None = None
        self._silent_until = 0.0
        self._failed = False

    @property
    def works(self) -> bool:
        """Whether Redis answered last time, or may be tried again."""
        return time.monotonic() >= self._silent_until

    def add(self, item: int, piece: LivePiece) -> bool:
        """Append a piece. False only if Redis has something newer: then a later attempt writes, so ask the database."""
        if not self.works:
            return True
        key, id_ = self._key(item), f"{piece.lease}-{piece.position + 1}"
        entry = {BEGAN: piece.began} if piece.body is None else {BEGAN: piece.began, BODY: piece.body}
        try:
            both = self._redis.pipeline(transaction=False)
            both.xadd(key, entry, id=id_, maxlen=MOST_ENTRIES, approximate=True)  # type: ignore[arg-type]
            both.expire(key, KEPT_SECONDS)
            added, _ = both.execute(raise_on_error=False)
            self._answered()
            # An entry that is there already is our own: the answer to it got lost.
            return not _is_refusal(added) or bool(self._redis.xrange(key, id_, id_))
        except self._problems() as problem:
            self._fail(problem)
            return True

    def read(self, item: int, lease: int, position: int) -> list[LivePiece] | None:
        """The entries after a position of an attempt; None if Redis does not answer."""
        if not self.works:
            return None
        try:
            found = self._redis.xread({self._key(item): f"{lease}-{position + 1}"}, count=PAGE)
            self._answered()
        except self._problems() as problem:
            self._fail(problem)
            return None
        entries: Any = found.values() if isinstance(found, dict) else (rows for _, rows in found or ())
        return [_piece(id_, fields) for rows in entries for id_, fields in _flat(rows)]

    def ping(self) -> str | None:
        """Why Redis does not answer; None if it does."""
        try:
            self._redis.ping()
        except self._problems() as problem:
            return _told(problem)
        return None

    def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def _redis(self) -> Redis:
        if self._client is None:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry

            self._client = Redis.from_url(
                self._url,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),
                protocol=2,
            )
        return self._client

    def _key(self, item: int) -> str:
        return f"fanfold:{self._prefix}:{item}:out"

    def _answered(self) -> None:
        if self._failed:
            self._failed = False
            log.info("[streams] Redis at %s answers again", self.address)

    def _fail(self, problem: Exception) -> None:
        self._silent_until = time.monotonic() + SILENT_SECONDS
        if not self._failed:
            self._failed = True
            log.warning(
                "[streams] Redis at %s does not answer: %s. Streamed output comes from the database; trying again in %g s",
                self.address, _told(problem), SILENT_SECONDS,
            )  # fmt: skip

    def _problems(self) -> tuple[type[Exception], ...]:
        from redis import RedisError

        return (RedisError, OSError)


def _flat(rows: Any) -> Any:
    """The entries of one stream; depending on its protocol, redis-py wraps them in one more list."""
    return rows[0] if rows and isinstance(rows[0], list) else rows


def _piece(id_: bytes, fields: dict[bytes, bytes]) -> LivePiece:
    lease, _, number = id_.decode().partition("-")
    body = fields.get(BODY)
    began = fields.get(BEGAN, b"").decode()
    return LivePiece(int(lease), int(number) - 1, None if body is None else body.decode(), began)


def _is_refusal(answer: object) -> bool:
    """Whether Redis refused an id because a later one is there. Any other error is a failure of Redis."""
    if not isinstance(answer, Exception):
        return False
    if "equal or smaller" in str(answer):
        return True
    raise answer


def _told(problem: Exception) -> str:
    return str(problem).rstrip(".") or type(problem).__name__
