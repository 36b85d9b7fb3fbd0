"""Serves scripts, styles and images from memory, without waiting for a thread, the disk or the database."""

from __future__ import annotations

import gzip
import mimetypes
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fanfold.server.requests.conditional import COMPRESSED, takes_gzip

STATIC = Path(__file__).parents[1] / "static"
FOREVER = "public, max-age=31536000, immutable"


@dataclass(frozen=True)
class KeptFile:
    """A file: its bytes, plain and compressed, its media type and a content hash."""

    body: bytes
    small: bytes
    kind: str
    mark: str


class KeptFiles:
    """The files of a folder; browsers may cache those whose URL contains the content hash."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: kept(path) for path in folder.iterdir() if path.is_file()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with one of the files."""
        if scope["method"] != "GET":  # HEAD arrives here as GET, see `CachedResponses`.
            raise HTTPException(405, headers={"allow": "GET, HEAD"})
        name = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        if name not in self.files:
            raise HTTPException(404)
        await self.answer(self.files[name], Headers(scope=scope), scope["query_string"])(scope, receive, send)

    def answer(self, file: KeptFile, asked: Headers, mark: bytes) -> Response:
        """Send a file. One imported by its bare name has no hash in its URL, so the browser revalidates it."""
        headers = {"cache-control": FOREVER if mark else "no-cache", "etag": f'W/"{file.mark}"'}
        if file.small:
            headers["vary"] = "Accept-Encoding"
        if file.small and takes_gzip(asked):
            return Response(file.small, media_type=file.kind, headers=headers | {"content-encoding": "gzip"})
        return Response(file.body, media_type=file.kind, headers=headers)


@cache
def kept(path: Path) -> KeptFile:
    """A file, read once."""
    body = path.read_bytes()
    kind = (
        "text/javascript" if path.suffix == ".js" else mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    )
    small = gzip.compress(body, 9, mtime=0) if kind in COMPRESSED else b""
    return KeptFile(body, small, kind, sha256(body).hexdigest()[:10])


def static(name: str) -> str:
    """URL of a static file with its content hash, so that it can be cached forever."""
    return f"/static/{name}?{kept(STATIC / name).mark}"
