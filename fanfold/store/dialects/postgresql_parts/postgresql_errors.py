"""Classifies PostgreSQL's errors; the only module that reads SQLSTATEs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fanfold.model.text.sentences import say
from fanfold.store.database_errors import MISFIT, REFUSED, UNREACHABLE
from fanfold.store.dialects.dialect import Errors, Spoiled

DATA_CLASSES = ("22", "23")
TOO_LARGE = "54000"
"""A value exceeds a limit of the server, such as a key too long for an index."""
MISFIT_CLASS = "42"
NO_SUCH_STATEMENT, STATEMENT_EXISTS = "26000", "42P05"
"""Behind a pooler, a prepared statement may be missing or already exist: neither concerns the tables."""
READ_ONLY_SERVER = "25006"
CONFLICTS = ("40001", "40P01")
"""Serialization failure and deadlock: the server rolled the transaction back in favour of others."""
LOCKED_OUT = ("55P03", "40P01")
"""Lock timeout, and a deadlock in which our transaction was the victim."""
SPOILED = (NO_SUCH_STATEMENT, STATEMENT_EXISTS, READ_ONLY_SERVER, "0A000", "25P01", "25P02", "25P03", "25P04", "34000")
"""The connection must not be reused: its prepared statements or transaction differ from the driver's state, or its server has
become a standby (a new connection finds the new primary). 0A000 is a cached plan that an upgrade made invalid."""


class PostgresqlErrors(Errors):
    """PostgreSQL's errors have a five-character code, except failed connections."""

    ways_out: Mapping[str, str] = {
        "read-only transaction": say("way_no_writes"),
        "No space left on device": say("way_server_disk"),
        "too many clients": say("way_max_connections"),
        "too many connections": say("way_connections"),
        "remaining connection slots": say("way_max_connections"),
    }
    passing = (
        "connection refused",
        "no such file or directory",
        "timeout expired",
        "no route to host",
        "network is unreachable",
        "temporary failure in name resolution",
        "connection reset",
        "closed the connection unexpectedly",
        "database system is starting up",
        "database system is shutting down",
        "database system is in recovery",
        "database system is not yet accepting",
        "too many clients",
        "too many connections",
        "connection slots are reserved",
        "remaining connection slots",
        "no more connections allowed",
        "server login has been failing",
        "query_wait_timeout",
    )

    def meaning(self, error: BaseException) -> str:
        """By the code. The driver refuses a NUL before sending anything, with an error that has no code."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            return REFUSED if type(error).__name__ in ("DataError", "IntegrityError") else UNREACHABLE
        if state[:2] in DATA_CLASSES or state == TOO_LARGE:
            return REFUSED
        if state[:2] == MISFIT_CLASS and state != STATEMENT_EXISTS:
            return MISFIT
        return UNREACHABLE

    def spoils(self, error: BaseException, connection: Any) -> Spoiled:
        """Whether the state of the connection is unknown, or the server has closed it."""
        state = getattr(error, "sqlstate", None)
        closed = state is not None and bool(getattr(connection, "closed", False))
        # On a standby all connections stay read-only; the other errors concern only this connection.
        return Spoiled(connection=state in SPOILED or closed, pool=state == READ_ONLY_SERVER)

    def is_conflict(self, error: BaseException) -> bool:
        """Whether the server rolled the transaction back in favour of another one."""
        return getattr(error, "sqlstate", None) in CONFLICTS

    def is_locked_out(self, error: BaseException) -> bool:
        """Whether waiting for a lock timed out."""
        return getattr(error, "sqlstate", None) in LOCKED_OUT
