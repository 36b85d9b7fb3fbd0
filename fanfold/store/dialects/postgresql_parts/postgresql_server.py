"""Access to a PostgreSQL server: connections, silent ones included, poolers, notifications and the locks of an upgrade."""

from __future__ import annotations

import importlib
import random
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import BadInput, DatabaseProblem
from fanfold.store.database_errors import drop_spoiled, is_locked_out
from fanfold.store.dialects.access import DatabaseAccess, Listener, Reading, Use, Wishes
from fanfold.store.dialects.poolers import POOLERS, Pooler, split_pooler
from fanfold.store.dialects.postgresql_parts.connections import Connections, client_options, server_options
from fanfold.store.urls import shown

CHANNEL = "fanfold"
UPGRADE_LOCK = 0x66616E66
"""Advisory lock that admits one upgrade at a time."""
LOCK_STEP_SECONDS = 0.1
ACTIVE_SERVERS = sa.text(
    """
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(:pids)
      AND (state IS NULL OR state NOT LIKE 'idle%' OR state_change > statement_timestamp() - make_interval(secs => :quiet))
    """
)
"""Which of these server processes are, or just were, busy."""
OLDEST_TRANSACTION = sa.text(
    "SELECT pid, coalesce(nullif(application_name, ''), 'a program without a name') AS program, state, "
    "extract(epoch FROM now() - xact_start) AS seconds FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL ORDER BY xact_start LIMIT 1"
)


def checked(url: sa.URL) -> sa.URL:
    """The URL with its driver; it may name a pooler."""
    mode = url.query.get("pooler")
    if mode is not None and mode not in POOLERS:
        raise DatabaseProblem(f"pooler={mode} is not possible. A PostgreSQL URL takes {', '.join(POOLERS)}.")
    return url.set(drivername="postgresql+psycopg")


class PostgresqlServer(DatabaseAccess):
    """Access to one database of a server."""

    read_options: Mapping[str, Any] = {"isolation_level": "AUTOCOMMIT"}
    """No explicit transaction: each statement sees what was committed before it anyway, and BEGIN and COMMIT would add two
    messages to every read."""

    def __init__(self, url: sa.URL, wishes: Wishes) -> None:
        self.url, told_pooler = split_pooler(url)
        self.direct = None if wishes.direct is None else split_pooler(wishes.direct)[0]
        self.pooler = Pooler(told_pooler, direct=self.direct is not None)
        self.patience = wishes.patience
        self.connections = Connections()

    def new_engine(self, **pool: int) -> sa.Engine:
        """A pool of connections, configured for a peer that may vanish or for a pooler."""
        try:
            importlib.import_module("psycopg")
        except ImportError:
            raise DatabaseProblem("PostgreSQL needs its driver: pip install 'fanfold[postgres]'") from None
        arguments = {"prepare_threshold": 3, **_options(self.url, self.patience)}
        engine = sa.create_engine(self.url, connect_args=arguments, **pool)

        options = [part for option in server_options(self.patience).items() for part in option]
        preparing = "SELECT " + ", ".join(["set_config(%s, %s, false)"] * (len(options) // 2))

        def prepare(connection: Any) -> None:
            if self.pooler.stands_before(connection):
                connection.prepare_threshold = None
                return
            connection.execute(preparing, options)
            connection.commit()

        event.listen(engine, "handle_error", drop_spoiled)
        self.connections.watch(engine, prepare)
        return engine

    def listener(self, read: Reading) -> Listener:
        """A listener for notifications."""
        return Notifications(self, read)

    def is_pooled(self, read: Reading) -> bool:
        """According to the URL, or else to the first connection."""
        if self.pooler.found is None:
            with read():
                pass
        return bool(self.pooler.found)

    def end_silent(self, read: Reading) -> int:
        """Ask the server, through another connection, which processes it does not know or which have long been idle.

        So a statement that takes an hour is left alone. Behind a pooler, which has its own process ids, this is not possible.
        """
        waiting = self.connections.waiting(self.patience)
        if not waiting or self.is_pooled(read):
            return 0
        with read() as connection:
            active = set(connection.execute(ACTIVE_SERVERS, {"pids": list(waiting), "quiet": self.patience}).scalars())
        silent = [use for pid, use in waiting.items() if pid not in active]
        return self.connections.end(silent.__contains__)

    def end(self, unwanted: Callable[[Use], bool]) -> int:
        """End these connections; returns how many."""
        return self.connections.end(unwanted)

    def backup_command(self, target: str) -> str:
        """The command for pg_dump, which makes better backups than a copy."""
        return f"pg_dump --format=custom --file={target} '{shown(self.url.set(drivername='postgresql'))}'"

    def source_of_copy(self, target: Path) -> Path:
        """There is no file to copy."""
        raise BadInput(f"This is for SQLite. For PostgreSQL: {self.backup_command(str(target))}", code="not_sqlite")

    def copy(self, target: Path) -> None:
        """See ``source_of_copy``."""
        self.source_of_copy(target)

    def refuse_read_only(self) -> None:
        """Nothing to check: the server enforces permissions."""

    def begin_upgrade(self, connection: sa.Connection, seconds: float) -> None:
        """Take an advisory lock until the transaction ends."""
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": UPGRADE_LOCK})
        connection.execute(sa.text(f"SET LOCAL lock_timeout = {round(seconds * 1000)}"))

    def lock_tables(self, connection: sa.Connection, busiest: str, seconds: float) -> None:
        """Locking tables one by one could deadlock with a worker's transaction, and PostgreSQL might abort the worker's.

        So wait only for the busiest table, then lock the others with NOWAIT; if that fails, release all and try again.
        """
        others = [name for name in sorted(sa.inspect(connection).get_table_names()) if name != busiest]
        listed = ", ".join(f'"{name}"' for name in others)
        end = time.monotonic() + seconds
        while True:
            try:
                with connection.begin_nested():
                    connection.execute(sa.text(f"LOCK TABLE {busiest} IN ACCESS EXCLUSIVE MODE"))
                    connection.execute(sa.text(f"LOCK TABLE {listed} IN ACCESS EXCLUSIVE MODE NOWAIT"))
                return
            except sa.exc.OperationalError as error:
                if not is_locked_out(error) or time.monotonic() >= end:
                    raise
            time.sleep(random.uniform(0.01, LOCK_STEP_SECONDS))

    def who_blocks(self, connection: sa.Connection) -> str:
        """Describe the oldest other transaction."""
        found = connection.execute(OLDEST_TRANSACTION).first()
        if found is None:
            return "the session that held them has just ended"
        since = f"has been in a transaction for {found.seconds:.0f} s"
        return f"server process {found.pid} ({found.program}, {found.state}) {since}"


class Notifications(Listener):
    """Listens on a dedicated connection, which a pooler would not provide."""

    tells_all = False

    def __init__(self, server: PostgresqlServer, read: Reading) -> None:
        self.server = server
        self.read = read
        self._connection: Any = None
        self._heard_at = 0.0

    @property
    def possible(self) -> bool:
        """Not behind a pooler, unless a direct URL is set."""
        return self.server.direct is not None or not self.server.is_pooled(self.read)

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """True when something was announced, and on the first call, since earlier announcements were missed."""
        if self._connection is None:
            self._connect()
            return True
        if time.monotonic() - self._heard_at > self.server.patience:
            # A dead connection is silent too, so test it.
            self._say("SELECT 1")
        heard = any(True for _ in self._connection.notifies(timeout=seconds, stop_after=1))
        if heard:
            self._heard_at = time.monotonic()
        return heard

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> None:
        import psycopg

        url = self.server.direct or self.server.url
        arguments = url.get_dialect()().create_connect_args(url)[1]
        options = _options(url, self.server.patience, "fanfold-hints")
        self._connection = psycopg.connect(**{**arguments, **options}, autocommit=True)
        self._say(f"LISTEN {CHANNEL}")

    def _say(self, statement: str) -> None:
        with self.server.connections.using(self._connection):
            self._connection.execute(statement)
        self._heard_at = time.monotonic()


def _options(url: sa.URL, patience: float, name: str = "fanfold") -> dict[str, Any]:
    """Connection options, unless the URL overrides them."""
    wanted = {"application_name": name, **client_options(patience)}
    return {option: value for option, value in wanted.items() if option not in url.query}
