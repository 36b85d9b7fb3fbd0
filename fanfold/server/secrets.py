"""May this be shown? Values whose names say that they are secret are hidden; tasks keep none, unless somebody put one there."""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "••••••"
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+")
"""Where one word of a name ends and the next begins: openaiApiKey, OPENAI_API_KEY, x-api-key."""
SECRET = re.compile(
    r"passw(or)?d|passphrase|pwd(_|$)|credential|authorization|(^|_)bearer(_|$)|secrets?(_|$)"
    r"|(private|secret|access|api|auth)_?keys?(_|$)|(api|auth|access|refresh|bearer)_?tokens?$|(^|_)token(_value)?$|._keys?$"
)
HARMLESS = re.compile(
    r"_(env|file|path|url|uri|name|count|limit|length)$"
    r"|(^|_)(sort|primary|foreign|public|cache|idempotency|item|group|row|partition|unique|object)_keys?$"
)
"""Names that only look so: where a secret is to be found, what it is called, how many there are."""
SECRET_TEXT = re.compile(r"\s*(-----BEGIN [A-Z ]*PRIVATE KEY|bearer\s+\S{8})", re.IGNORECASE)


def without_secrets(value: Any, name: str = "") -> Any:
    """The value as it may be shown: under a secret name nothing, of objects and lists everything else."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(name):
        return HIDDEN
    if isinstance(value, dict):
        return {inner: without_secrets(kept, str(inner)) for inner, kept in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(kept) for kept in value]
    return HIDDEN if isinstance(value, str) and SECRET_TEXT.match(value) else value


def is_secret(name: str) -> bool:
    """Whether a name says that its value is nobody's business; `key` and `max_tokens` do not."""
    words = "_".join(word.lower() for word in HUMP.split(name) if word)
    return SECRET.search(words) is not None and HARMLESS.search(words) is None
