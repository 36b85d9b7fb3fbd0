"""Where pictures are published: a folder or a bucket, each with a private and a public part."""

from __future__ import annotations

import os
import re
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, urlsplit

import fanfold as ff
from fanfold.apps.photo.sentences import say_of_photo

PRIVATE, PUBLIC = "private", "public"
PART = re.compile(r"[^/\\\x00-\x1f]{1,200}")
TYPES = {".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp", ".avif": "image/avif"}
KNOWN = ("endpoint", "region")


class Place(Protocol):
    """A folder or a bucket. Writing the same content under the same key again changes nothing."""

    def put(self, key: str, content: bytes) -> None:
        """Write an object; nobody sees half of one."""
        ...

    def get(self, key: str) -> bytes | None:
        """The content of an object, or None."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object, if it is there."""
        ...

    def where(self, key: str) -> str:
        """Where it is, for people."""
        ...


@lru_cache(maxsize=8)
def opened(address: str) -> Place:
    """The place of an address; ff.Permanent says what is wrong with it."""
    return Bucket(address) if address.startswith("s3://") else Folder(Path(address).expanduser())


def checked_key(key: str) -> str:
    """A key without `..` and other ways out of its place."""
    parts = key.split("/")
    if not key or any(part in ("", ".", "..") or not PART.fullmatch(part) for part in parts):
        raise ff.Permanent(say_of_photo("bad_key", key=key[:120]), code="bad_input")
    return key


class Folder:
    """A folder on this machine or a network drive."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)

    def put(self, key: str, content: bytes) -> None:
        """Write beside the target and rename."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700 if key.startswith(f"{PRIVATE}/") else 0o755)
        if key.startswith(f"{PRIVATE}/"):
            (self.root / PRIVATE).chmod(0o700)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".part-")
        try:
            with os.fdopen(descriptor, "wb") as sink:
                sink.write(content)
                sink.flush()
                os.fsync(sink.fileno())
            if key.startswith(f"{PUBLIC}/"):
                Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def get(self, key: str) -> bytes | None:
        """Read it."""
        path = self._path(key)
        return path.read_bytes() if path.is_file() else None

    def delete(self, key: str) -> None:
        """Remove it."""
        self._path(key).unlink(missing_ok=True)

    def where(self, key: str) -> str:
        """Its path."""
        return str(self._path(key))


class Bucket:
    """A bucket of any service with the S3 protocol. Credentials come from the usual AWS_… variables."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        given = dict(parse_qsl(parts.query))
        if not parts.netloc or set(given) - set(KNOWN):
            raise ff.Permanent(say_of_photo("bad_output"), code="bad_output")
        self.name, self.prefix = parts.netloc, parts.path.strip("/")
        self._store = _bucket(self.name, self.prefix, given)

    def put(self, key: str, content: bytes) -> None:
        """Write it with its type."""
        import obstore

        kind = TYPES.get(Path(key).suffix, "application/octet-stream")
        obstore.put(self._store, checked_key(key), content, attributes={"Content-Type": kind})

    def get(self, key: str) -> bytes | None:
        """Read it."""
        import obstore

        try:
            return bytes(obstore.get(self._store, checked_key(key)).bytes())
        except FileNotFoundError:
            return None

    def delete(self, key: str) -> None:
        """Remove it."""
        import obstore

        try:
            obstore.delete(self._store, checked_key(key))
        except FileNotFoundError:
            return

    def where(self, key: str) -> str:
        """Its address."""
        return "/".join(part for part in (f"s3://{self.name}", self.prefix, key) if part)


def _bucket(name: str, prefix: str, given: dict[str, str]) -> Any:
    try:
        from obstore.store import S3Store
    except ImportError:
        raise ff.Permanent(say_of_photo("no_obstore"), code="bad_output") from None
    rules: dict[str, Any] = {"prefix": prefix or None}
    if region := given.get("region"):
        rules["region"] = region
    if endpoint := given.get("endpoint"):
        rules |= {"endpoint": endpoint, "virtual_hosted_style_request": False}
        if endpoint.startswith("http://"):
            rules["client_options"] = {"allow_http": True}
    return S3Store(name, **rules)
