"""Sends files as downloads, with ranges: from this machine, from a bucket through this server, or by a link to the bucket."""

from __future__ import annotations

import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, MalformedRangeHeader, RangeNotSatisfiable, RedirectResponse
from starlette.types import Receive, Scope, Send

from fanfold.engine.make_form import FormFile
from fanfold.errors import NotFound
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File, content_type
from fanfold.server.requests.conditional import ASKED_METHOD

SANDBOX = {"content-security-policy": "sandbox; default-src 'none'"}
"""Keeps a browser from running anything in a file it opens."""


def sent(file: File) -> FileResponse:
    """A file sent as a download and never displayed, because it may contain anything. Supports ranges."""
    path = file.local
    if path is None:
        return FromBucket(file)
    if not path.is_file():
        raise NotFound(say("named_file_gone", file=file.name), code="file_gone")
    file.open().close()  # Half of a file is an error, and not a shorter file.
    kind = content_type(path.name)
    return Sent(path, media_type=kind, filename=file.name, headers=SANDBOX, stat_result=path.stat())


def formed(made: FormFile) -> Formed:
    """A form of a result, deleted after it is sent."""
    kind = made.form.media_type + ("; charset=utf-8" if made.form.media_type.startswith("text/") else "")
    return Formed(made, made.path, media_type=kind, filename=made.name, headers=SANDBOX, stat_result=made.path.stat())


class Sent(FileResponse):
    """A file response that reports bad ranges like every other error."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a range that is malformed or outside the file; otherwise send it."""
        asked = Headers(scope=scope)
        said, only_if = asked.get("range"), asked.get("if-range")
        if said is not None and (only_if is None or self._should_use_range(only_if)):
            self.check(said)
        await super().__call__(scope, receive, send)

    def check(self, said: str) -> None:
        """Check that the file has this range."""
        assert self.stat_result is not None
        size = self.stat_result.st_size
        try:
            self._parse_range_header(said, size)
        except (MalformedRangeHeader, RangeNotSatisfiable):
            fact = f"The file has {size} bytes; the range asked for is {said[:100]!r}."
            way = "Write ranges like bytes=0-499, within the file; without a range, the whole file is sent."
            raise HTTPException(416, f"{fact} {way}", {"content-range": f"bytes */{size}"}) from None


class Formed(Sent):
    """A form of a result; deleted after it was sent or could not be sent."""

    def __init__(self, made: FormFile, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.made = made

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, whole or in part, and delete it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.made.close()


class FromBucket(Sent):
    """A file in a bucket: streamed through this server, or a redirect to the bucket if the settings allow it.

    It is opened before the first header is sent, so that a missing file or a silent bucket is an error and not half an answer.
    """

    chunk_size = 256 * 1024

    def __init__(self, file: File) -> None:
        self.link = file.link
        self.source = None if self.link else file.open()
        size = os.stat_result((0o600, 0, 0, 1, 0, 0, file.size, 0, 0, 0))
        headers = SANDBOX | {"etag": f'"{hashlib.sha256(file.key.encode()).hexdigest()[:32]}"'}
        kind = content_type(file.key)
        super().__init__(file.name, media_type=kind, filename=file.name, headers=headers, stat_result=size)
        del self.headers["last-modified"]
        self.file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Redirect, or send it whole or in part. A link is signed for GET only, so HEAD is answered here."""
        if self.link and scope.get(ASKED_METHOD) != "HEAD":
            redirect = RedirectResponse(self.link, 307, {"cache-control": "no-store"})
            await redirect(scope, receive, send)
            return
        try:
            await super().__call__(scope, receive, send)
        finally:
            if self.source is not None:
                self.source.close()

    def _should_use_range(self, http_if_range: str) -> bool:
        return http_if_range == self.headers["etag"]

    @asynccontextmanager
    async def _open_file(self) -> AsyncIterator[anyio.AsyncFile[bytes]]:
        if self.source is None:
            self.source = await anyio.to_thread.run_sync(self.file.open)
        yield anyio.wrap_file(self.source)
