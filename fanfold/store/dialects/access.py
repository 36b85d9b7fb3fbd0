"""How is one database reached? Its connections, what others tell of it, and what is done to it as a whole."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

if TYPE_CHECKING:
    from fanfold.store.dialects.postgresql_parts.connections import Use

Reading = Callable[[], AbstractContextManager[sa.Connection]]
"""Opens a transaction that only reads."""


@dataclass(frozen=True)
class Wishes:
    """What is said of a database besides its URL; each takes what concerns it."""

    patience: float
    """How many seconds of silence a connection may have before it is looked into."""
    busy_seconds: float | None = None
    """How long a writer waits for the lock of all; None for the usual time."""
    synchronous: str = "FULL"
    direct: sa.URL | None = None
    """A URL that goes around a pooler, for notifications."""


class Listener(ABC):
    """Waits for changes that others make; used from one thread."""

    tells_all: bool
    """Whether it tells of every commit; else only of those that were announced."""

    @property
    def possible(self) -> bool:
        """Whether there is a way to be told."""
        return True

    @abstractmethod
    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True as soon as something may have changed; False when ``seconds`` are over."""

    @abstractmethod
    def close(self) -> None:
        """Let the connection go; the next wait makes another one."""


class DatabaseAccess(ABC):
    """The way to one database."""

    url: sa.URL
    """As the driver takes it."""
    read_options: Mapping[str, Any] = {}
    """SQLAlchemy's options for a transaction that only reads."""
    has_one_connection: bool = False
    """Whether everybody has to share one connection."""

    @abstractmethod
    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool of connections."""

    def is_new(self) -> bool:
        """Whether there is no database yet, where one can be made; DatabaseProblem when there was one that is gone."""
        return False

    def create(self) -> None:
        """Make an empty database where there is none yet. Nothing else does: a connection never makes one."""
        return

    @abstractmethod
    def listener(self, read: Reading) -> Listener:
        """Somebody who waits for changes."""

    def holding_lock(self) -> AbstractContextManager[None]:
        """What is so while a transaction that writes is under way."""
        return nullcontext()

    def is_pooled(self, read: Reading) -> bool:
        """Whether a pooler gives each transaction another connection of the server."""
        return False

    def end_silent(self, read: Reading) -> int:
        """End connections on which somebody waits for an answer that will not come; returns how many."""
        return 0

    def end(self, unwanted: Callable[[Use], bool]) -> int:
        """End these connections: who waits on one gets an error at once. Returns how many."""
        return 0

    @abstractmethod
    def backup_command(self, target: str) -> str:
        """What to type for a copy of it."""

    @abstractmethod
    def source_of_copy(self, target: Path) -> Path:
        """The file that ``copy`` is a copy of; an error with the way out when there is none."""

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Write a whole, checked copy to a new file, while others work on it."""

    @abstractmethod
    def refuse_read_only(self) -> None:
        """DatabaseProblem when this user may not write where the database has to."""

    def begin_upgrade(self, connection: sa.Connection, seconds: float) -> None:
        """Keep other upgrades out until the transaction ends, and wait for no lock longer than this."""
        return

    def lock_tables(self, connection: sa.Connection, busiest: str, seconds: float) -> None:
        """Lock every table for this transaction, without ever waiting for one while holding another."""
        return

    def who_blocks(self, connection: sa.Connection) -> str:
        """Whose transaction an upgrade waits for, for people."""
        return "another process"
