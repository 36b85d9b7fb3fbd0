"""Carriers: processes of other engines that do Fanfold's work. They deliver hints; what counts is in the database."""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a carrier at its first use: each needs a package that may not be installed."""
    if name in ("celery", "ray"):
        return importlib.import_module(f"fanfold.carriers.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
