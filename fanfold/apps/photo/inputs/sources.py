"""Reads the bytes of an input picture: a file of the task, a URL, a data URI, or a key in object storage.

What cannot be read is a failure with a reason, never an empty list.
"""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path
from typing import Any

import fanfold as ff
from fanfold.apps.photo.configuration import PhotoSettings
from fanfold.apps.photo.output.places import PRIVATE, opened
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.outside.addresses import Allowed
from fanfold.outside.download import Limits, download
from fanfold.settings import load

DATA = re.compile(r"data:image/([a-z0-9.+-]+);base64,", re.IGNORECASE)
SHOWN = 120


def read(value: Any, folder: Path, settings: PhotoSettings) -> tuple[str, bytes]:
    """The name and the bytes of an input picture; ff.Permanent says why it cannot be used."""
    if isinstance(value, ff.File):
        if value.size > settings.input_bytes:
            raise _too_large(value.name, settings)
        content = value.read_bytes()
        named = content[:30].lower().startswith(b"data:image/")
        return (
            (value.name, content) if not named else (value.name, _decoded(content.decode("ascii", "replace"), settings))
        )
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if not isinstance(value, str) or not value.strip():
        raise ff.Permanent(say_of_photo("bad_input", value=repr(value)[:SHOWN]), code="bad_input")
    text = value.strip()
    if text[:5].lower() == "data:":
        return "data", _decoded(text, settings)
    if text.startswith(("http://", "https://")):
        return _downloaded(text, folder, settings)
    return text.rpartition("/")[2] or "picture", _stored(text, settings)


def _downloaded(url: str, folder: Path, settings: PhotoSettings) -> tuple[str, bytes]:
    allowed = Allowed.parsed(load().private_addresses)
    limits = Limits(settings.input_bytes, settings.input_seconds, allowed)
    try:
        path = download(url, folder / "download", limits)
    except ff.BadInput as problem:
        kind: type[ff.HandlerError] = ff.Permanent if problem.code == "bad_url" else ff.Temporary
        raise kind(say_of_photo("no_download", why=str(problem)), code=problem.code) from None
    return path.name, path.read_bytes()


def _decoded(text: str, settings: PhotoSettings) -> bytes:
    head = DATA.match(text)
    if head is None:
        raise ff.Permanent(say_of_photo("bad_data_uri", value=text[:40]), code="bad_input")
    if len(text) > settings.input_bytes * 4 / 3 + 100:
        raise _too_large("data", settings)
    try:
        return base64.b64decode(text[head.end() :], validate=True)
    except (binascii.Error, ValueError):
        raise ff.Permanent(say_of_photo("bad_data_uri", value=text[:40]), code="bad_input") from None


def _stored(key: str, settings: PhotoSettings) -> bytes:
    """An object of the configured folder or bucket."""
    if not settings.output:
        raise ff.Permanent(say_of_photo("no_storage", key=key[:SHOWN]), code="bad_input")
    if key.split("/", maxsplit=1)[0] == PRIVATE:
        raise ff.Permanent(say_of_photo("private_key", key=key[:SHOWN]), code="bad_input")
    content = opened(settings.output).get(key)
    if content is None:
        raise ff.Permanent(say_of_photo("no_such_key", key=key[:SHOWN]), code="bad_input")
    if len(content) > settings.input_bytes:
        raise _too_large(key, settings)
    return content


def _too_large(name: str, settings: PhotoSettings) -> ff.Permanent:
    return ff.Permanent(say_of_photo("input_large", name=name[:SHOWN], most=settings.input_bytes), code="bad_input")
