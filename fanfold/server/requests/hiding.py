"""May this be shown? Values whose names say that they are secret are hidden; tasks keep none, unless somebody put one there."""

from __future__ import annotations

import re
from typing import Any

from fanfold.model.values.secrets import is_secret

HIDDEN = "••••••"
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
