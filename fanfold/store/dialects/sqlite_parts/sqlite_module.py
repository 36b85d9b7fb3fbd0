"""Chooses the SQLite module: the bundled one, or Python's own."""

from __future__ import annotations

import importlib
from typing import Any

SAFE_SQLITE = (3, 51, 3)
"""First version without the bug in which resetting the WAL can corrupt the file."""

STATEMENTS_KEPT = 1_000
"""Compiled statements that a connection keeps. A task uses more than the driver's default of 100, so without this they would
be compiled again and again."""


def sqlite_module() -> Any:
    """The bundled, safe SQLite where a wheel exists, Python's own otherwise."""
    try:
        return importlib.import_module("pysqlite3")
    except ImportError:
        return importlib.import_module("sqlite3")


def sqlite_version() -> tuple[int, ...]:
    """The version of SQLite in use."""
    return tuple(int(part) for part in sqlite_module().sqlite_version.split("."))
