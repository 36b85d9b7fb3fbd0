"""Chooses the SQLite module: the bundled one, or Python's own."""

from __future__ import annotations

import importlib
from typing import Any

SAFE_SQLITE = (3, 51, 3)
"""First version without the bug in which resetting the WAL can corrupt the file."""


def sqlite_module() -> Any:
    """The bundled, safe SQLite where a wheel exists, Python's own otherwise."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return importlib.import_module("sqlite3")


def sqlite_version() -> tuple[int, ...]:
    """The version of SQLite in use."""
    return tuple(int(part) for part in sqlite_module().sqlite_version.split("."))
