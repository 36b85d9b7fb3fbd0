"""Hides values whose names mark them as secret. Tasks store none, unless somebody put one there."""

from __future__ import annotations

import re
from typing import Any

from fanfold.model.values.secrets import is_secret

HIDDEN = "••••••"
SECRET_TEXT = re.compile(r"\s*(-----BEGIN [A-Z ]*PRIVATE KEY|bearer\s+\S{8})", re.IGNORECASE)


def without_secrets(value: Any, name: str = "") -> Any:
    """The value without secrets: drops values under secret names and keeps the rest of objects and lists."""
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(name):
        return HIDDEN
    if isinstance(value, dict):
        return {inner: without_secrets(kept, str(inner)) for inner, kept in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(kept) for kept in value]
    return HIDDEN if isinstance(value, str) and SECRET_TEXT.match(value) else value
