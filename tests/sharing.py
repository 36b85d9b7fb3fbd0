"""Shares compiled SQLAlchemy statements between databases of one kind, so that none is compiled twice in a test process.

A program has one database, and compiles each statement once. Thousands of tests have a database each, and would spend half of
their time compiling the same statements again.
"""

from functools import lru_cache
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.util import LRUCache

from fanfold.store.dialects.known import NAMES, named

COMPILED: dict[type, LRUCache[Any, Any]] = {}
"""By the class of the dialect."""


def share_statements() -> None:
    """From now on dialects of one class are equal, their engines have one cache, and clocks that read the same are one."""
    make = Engine.__init__

    def make_sharing(engine: Engine, *arguments: Any, **named: Any) -> None:
        make(engine, *arguments, **named)
        engine._compiled_cache = COMPILED.setdefault(type(engine.dialect), LRUCache(2_000))

    setattr(Engine, "__init__", make_sharing)  # noqa: B010
    setattr(DefaultDialect, "__eq__", lambda one, other: type(one) is type(other))  # noqa: B010
    setattr(DefaultDialect, "__hash__", lambda one: hash(type(one)))  # noqa: B010
    for dialect in map(named, NAMES):
        setattr(type(dialect), "clock", lru_cache(maxsize=64)(type(dialect).clock))  # noqa: B010
