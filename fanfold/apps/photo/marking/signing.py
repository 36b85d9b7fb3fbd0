"""Signs finished pictures with Content Credentials (C2PA), if the installation has a certificate. Needs the extra `c2pa`."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fanfold as ff
from fanfold.apps.photo.marking.provenance import Label, source_type
from fanfold.apps.photo.sentences import say_of_photo

if TYPE_CHECKING:
    from fanfold.apps.photo.configuration import PhotoSettings

MEDIA_TYPES = {"jpeg": "image/jpeg", "png": "image/png", "webp": "image/webp", "avif": "image/avif"}
HOLDS = ("Valid", "Trusted")
"""What a reader says of a signature that fits its picture."""


def signed(content: bytes, kind: str, label: Label, settings: PhotoSettings) -> bytes:
    """The picture with a signed manifest which says that AI made it; the same bytes without a certificate."""
    if not settings.c2pa_certificate:
        return content
    try:
        import c2pa
    except ImportError:
        raise ff.Permanent(say_of_photo("no_c2pa"), code="not_signed") from None
    certificate, key = _read(settings.c2pa_certificate), _read(settings.c2pa_key)
    sink = BytesIO()
    try:
        info = c2pa.C2paSignerInfo(
            settings.c2pa_algorithm.encode(), certificate, key, settings.c2pa_timestamps.encode() or None
        )
        with c2pa.Signer.from_info(info) as signer, c2pa.Builder(_manifest(kind, label)) as builder:
            builder.sign(signer, MEDIA_TYPES[kind], BytesIO(content), sink)
        sink.seek(0)
        with c2pa.Reader(MEDIA_TYPES[kind], sink) as reader:
            state = json.loads(reader.json()).get("validation_state")
    except c2pa.C2paError as problem:
        raise ff.Permanent(say_of_photo("not_signed", why=str(problem)[:300]), code="not_signed") from problem
    if state not in HOLDS:
        raise ff.Permanent(say_of_photo("not_signed", why=str(state)), code="not_signed")
    return sink.getvalue()


def _manifest(kind: str, label: Label) -> str:
    action: dict[str, Any] = {"action": "c2pa.created", "digitalSourceType": source_type(label)}
    manifest = {
        "claim_generator_info": [{"name": "fanfold"}],
        "title": label.produce_id,
        "format": MEDIA_TYPES[kind],
        "assertions": [{"label": "c2pa.actions.v2", "data": {"actions": [action]}}],
    }
    return json.dumps(manifest)


def _read(path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as problem:
        why = f"{path or 'c2pa_key'}: {problem.strerror or problem}"
        raise ff.Permanent(say_of_photo("not_signed", why=why), code="not_signed") from None
