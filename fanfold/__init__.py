"""Fanfold: a durable engine for work of the shape one task → N items → merge, kept in SQLite or PostgreSQL.

    import fanfold as ff

    book = ff.Pipeline("novel")

The public surface is listed in ``__init__.pyi``. A name is loaded when it is first used, so that importing Fanfold is cheap.
"""

from __future__ import annotations

import gc
import importlib
import re
from typing import Any

__version__ = "0.2.0"


def _homes() -> dict[str, str]:
    """The module of every public name, as the type stub beside this file has it."""
    with open(f"{__file__.removesuffix('.py')}.pyi", encoding="utf-8") as stub:
        found = re.findall(r"^from (\S+) import (\w+) as \2$", stub.read(), re.MULTILINE)
    return {name: module for module, name in found}


_HOMES = _homes()
__all__ = sorted(_HOMES)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fanfold' has no attribute {name!r}")
    collecting = gc.isenabled()
    gc.disable()  # Modules stay: collecting while they load takes a tenth of the time, and finds nothing.
    try:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    finally:
        if collecting:
            gc.enable()
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
