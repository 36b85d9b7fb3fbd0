"""Reads the address of a bucket: ``s3://bucket/prefix?endpoint=…&region=…``. Credentials do not belong in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

KNOWN = ("endpoint", "region", "virtual_host")
SECRET = re.compile(r"key|secret|token|password|credential|signature", re.IGNORECASE)
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")


@dataclass(frozen=True)
class S3Address:
    """The address of a bucket, or of a prefix in one. It never holds credentials."""

    bucket: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    virtual_host: bool = False

    def __str__(self) -> str:
        told = {"endpoint": self.endpoint, "region": self.region, "virtual_host": "true" if self.virtual_host else ""}
        query = "&".join(f"{name}={quote(value, safe=':/')}" for name, value in told.items() if value)
        return f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "") + (f"?{query}" if query else "")

    @property
    def place(self) -> str:
        """Bucket and prefix only."""
        return f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")


def parse(text: str) -> S3Address:
    """Parse an address; BadInput says what is wrong with it, and never quotes it, because it may hold a secret."""
    parts = _split(text)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    endpoint = query.get("endpoint", "").rstrip("/")
    if parts.username is not None or any(SECRET.search(name) for name in query) or _has_secrets(endpoint):
        raise BadInput(say("files_with_secret"), code="files_address")
    if parts.scheme != "s3" or not BUCKET.fullmatch(parts.netloc) or parts.fragment:
        raise BadInput(say("files_malformed"), code="files_address")
    if unknown := sorted(set(query) - set(KNOWN)):
        names = [name[:40] for name in unknown]
        raise BadInput(say("files_unknown_part", names=names, known=list(KNOWN)), code="files_address")
    if endpoint and not re.fullmatch(r"https?://[^/?#]+(/[^?#]*)?", endpoint):
        raise BadInput(say("files_endpoint"), code="files_address")
    virtual = query.get("virtual_host", "").lower() in ("1", "true", "yes")
    return S3Address(parts.netloc, parts.path.strip("/"), endpoint, query.get("region", ""), virtual)


def _split(text: str) -> SplitResult:
    try:
        return urlsplit(text.strip())
    except ValueError:
        raise BadInput(say("files_malformed"), code="files_address") from None


def _has_secrets(endpoint: str) -> bool:
    """Whether an endpoint carries a user, a password or a query."""
    return "@" in endpoint or "?" in endpoint
