"""Interface of one database: its connections, change notifications, and operations on the whole database."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

Reading = Callable[[], AbstractContextManager[sa.Connection]]
"""Opens a read-only transaction."""


@dataclass(frozen=True)
class Use:
    """A connection in use."""

    connection: Any
    thread: int
    since: float


@dataclass(frozen=True)
class Wishes:
    """Settings of a database besides its URL; each dialect uses those that apply."""

    patience: float
    """Seconds of silence after which a connection is checked."""
    busy_seconds: float | None = None
    """How long a writer waits for the database-wide lock; None for the default."""
    synchronous: str = "FULL"
    direct: sa.URL | None = None
    """A URL that bypasses the pooler, for notifications."""


class Listener(ABC):
    """Waits for changes by other processes; used from one thread."""

    tells_all: bool
    """Whether it reports every commit, or only announced ones."""

    @property
    def possible(self) -> bool:
        """Whether notifications are available."""
        return True

    @abstractmethod
    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True as soon as something may have changed; False after ``seconds``."""

    def interrupt(self) -> None:
        """End a wait that is under way, if it does not notice ``stop`` by itself; from any thread."""
        return

    @abstractmethod
    def close(self) -> None:
        """Close the connection; the next wait opens another one."""


class DatabaseAccess(ABC):
    """Access to one database."""

    url: sa.URL
    """URL in the driver's form."""
    read_options: Mapping[str, Any] = {}
    """SQLAlchemy options for a read-only transaction."""
    has_one_connection: bool = False
    """Whether all threads share one connection."""

    @abstractmethod
    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool of connections."""

    def is_new(self) -> bool:
        """Whether the database must still be created. Raises DatabaseProblem if it existed and is gone."""
        return False

    def create(self) -> None:
        """Create an empty database if there is none. Connections never create one."""
        return

    @abstractmethod
    def listener(self, read: Reading) -> Listener:
        """A listener for changes."""

    def in_turn(self) -> AbstractContextManager[Any]:
        """Waits until this thread may begin a transaction; needed only if all threads share one connection."""
        return nullcontext()

    def writing_in_turn(self) -> AbstractContextManager[Any]:
        """Waits until this thread may begin a write transaction."""
        return nullcontext()

    def holding_lock(self) -> AbstractContextManager[None]:
        """Context held during a write transaction."""
        return nullcontext()

    def is_pooled(self, read: Reading) -> bool:
        """Whether a pooler may give each transaction a different server connection."""
        return False

    def end_silent(self, read: Reading) -> int:
        """End connections that wait for an answer that will never come; returns how many."""
        return 0

    def end(self, unwanted: Callable[[Use], bool]) -> int:
        """End these connections: threads waiting on them get an error at once. Returns how many."""
        return 0

    @abstractmethod
    def backup_command(self, target: str) -> str:
        """The shell command that makes a backup."""

    @abstractmethod
    def source_of_copy(self, target: Path) -> Path:
        """The file that ``copy`` copies; an error that says what to do instead if there is none."""

    @abstractmethod
    def copy(self, target: Path) -> None:
        """Write a complete, verified copy to a new file while others use the database."""

    @abstractmethod
    def refuse_read_only(self) -> None:
        """DatabaseProblem if this user may not write where the database must."""

    def begin_upgrade(self, connection: sa.Connection, seconds: float) -> None:
        """Block other upgrades until the transaction ends, and wait at most ``seconds`` for any lock."""
        return

    def lock_tables(self, connection: sa.Connection, busiest: str, seconds: float) -> None:
        """Lock every table for this transaction, without ever waiting for one while holding another."""
        return

    def who_blocks(self, connection: sa.Connection) -> str:
        """Describe the transaction that an upgrade waits for."""
        return "another process"
