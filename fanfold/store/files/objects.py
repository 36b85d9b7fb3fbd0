"""The requests to a bucket: each either succeeds completely or raises a problem that people understand."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from typing import Any

from fanfold.errors import BadInput, DatabaseProblem
from fanfold.model.text.sentences import say
from fanfold.store.files.address import S3Address
from fanfold.store.files.bucket_errors import NameTaken, asked, truncated, written
from fanfold.store.files.bucket_reader import FIRST_BYTES

PAGE = 1_000
READ_TRIES = 4
CLIENT: Any = {"connect_timeout": timedelta(seconds=5), "timeout": timedelta(seconds=60)}
RETRY: Any = {
    "max_retries": 4,
    "retry_timeout": timedelta(seconds=60),
    "backoff": {"init_backoff": timedelta(seconds=0.2), "max_backoff": timedelta(seconds=5), "base": 2},
}

Attributes = Any


class Objects:
    """The objects of one bucket, below a prefix."""

    def __init__(self, address: S3Address) -> None:
        self.s3 = address

    @cached_property
    def _made(self) -> tuple[Any, int]:
        """The client, and the process that it belongs to."""
        require_client()
        from obstore.store import S3Store

        said = {"endpoint": self.s3.endpoint, "region": self.s3.region}
        config: Any = {name: value for name, value in said.items() if value}
        config["virtual_hosted_style_request"] = self.s3.virtual_host
        options: Any = CLIENT | {"allow_http": self.s3.endpoint.startswith("http://")}
        made = S3Store(
            self.s3.bucket, prefix=self.s3.prefix or None, config=config, client_options=options, retry_config=RETRY
        )
        return made, os.getpid()

    @property
    def _client(self) -> Any:
        client, process = self._made
        if process != os.getpid():
            raise BadInput(say("files_after_fork"), code="files_after_fork")
        return client

    def is_created(self, path: str, content: bytes, attributes: Attributes | None = None) -> bool:
        """Create an object only if its path is free (``If-None-Match: *``); returns whether it was."""
        import obstore

        try:
            written(self.s3, lambda: obstore.put(self._client, path, content, mode="create", attributes=attributes))
        except NameTaken:
            return False
        return True

    def replace(self, path: str, content: Any, attributes: Attributes | None, **how: Any) -> None:
        """Write an object, whatever is there."""
        import obstore

        written(
            self.s3,
            lambda: obstore.put(self._client, path, content, mode="overwrite", attributes=attributes, **how),
        )

    def first(self, path: str, expected: int | None = None) -> tuple[bytes, int]:
        """The beginning of an object, and its size, in one request unless it is empty.

        If it does not have the expected size, it is read again: an answer may be cut off with headers that agree.
        """
        import obstore

        def get() -> tuple[int, bytes]:
            found = obstore.get(self._client, path, options={"range": (0, FIRST_BYTES)})
            return found.meta["size"], bytes(found.bytes())

        for attempt in range(READ_TRIES):
            is_last = attempt == READ_TRIES - 1
            try:
                size, content = asked(self.s3, get)
                if len(content) == min(size, FIRST_BYTES) and (is_last or expected in (None, size)):
                    return content, size
            except DatabaseProblem:
                if not expected and self.size(path) == 0:  # A range of nothing is refused.
                    return b"", 0
                if is_last:
                    raise
        raise truncated(self.s3)

    def range(self, path: str, start: int, length: int) -> bytes:
        """Exactly this part of an object, however often the connection breaks in between."""
        import obstore

        for attempt in range(READ_TRIES):
            try:
                content = asked(
                    self.s3, lambda: bytes(obstore.get_range(self._client, path, start=start, length=length))
                )
                if len(content) == length:
                    return content
            except DatabaseProblem:
                if attempt == READ_TRIES - 1:
                    raise
        raise truncated(self.s3)

    def content(self, path: str) -> bytes:
        """All of a small object."""
        first, size = self.first(path)
        return first if len(first) == size else first + self.range(path, len(first), size - len(first))

    def size(self, path: str) -> int | None:
        found = self.head(path)
        return None if found is None else int(found["size"])

    def head(self, path: str) -> Any:
        import obstore

        try:
            return asked(self.s3, lambda: obstore.head(self._client, path))
        except FileNotFoundError:
            return None

    def sign(self, path: str, seconds: float) -> str:
        """A presigned URL for a download."""
        import obstore

        signed = asked(self.s3, lambda: obstore.sign(self._client, "GET", path, timedelta(seconds=seconds)))
        return str(signed)

    def delete(self, paths: Sequence[str]) -> None:
        """Remove objects in one request; missing ones are ignored."""
        import obstore

        asked(self.s3, lambda: obstore.delete(self._client, list(paths)))

    def listed(self, prefix: str, after: str = "") -> Iterator[Any]:
        """All objects below a prefix in order, page by page."""
        import obstore

        pages = asked(self.s3, lambda: iter(obstore.list(self._client, prefix, offset=after or None, chunk_size=PAGE)))
        while (page := asked(self.s3, lambda: next(pages, None))) is not None:
            yield from page


def require_client() -> None:
    """BadInput if the package that speaks S3 is not installed."""
    from importlib.util import find_spec

    if find_spec("obstore") is None:
        raise BadInput(say("files_need_package"), code="files_need_package")
