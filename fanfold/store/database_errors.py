"""Sorts the errors of both databases by what they mean for the work: the one place that reads SQLSTATEs.

`refused`     about the data: this value cannot be stored. Only this may fail an item.
`misfit`      the statement does not fit the tables: another version of Fanfold, or missing rights. Trying again is no use.
`damaged`     the database file is broken.
`unreachable` everything else: tried again, with the result kept in hand.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem

REFUSED, MISFIT, DAMAGED, UNREACHABLE = "refused", "misfit", "damaged", "unreachable"
DATA_CLASSES = ("22", "23")
TOO_LARGE = "54000"
"""PostgreSQL's answer to a value that exceeds a limit of the server, such as a key too long for an index."""
MISFIT_CLASS = "42"
NO_SUCH_STATEMENT, STATEMENT_EXISTS = "26000", "42P05"
"""Behind a pooler, a prepared statement may be missing, or exist already: neither is about the tables."""
READ_ONLY_SERVER = "25006"
CONFLICTS = ("40001", "40P01")
"""Serialization failure and deadlock: the server has rolled the transaction back so that others could go on."""
SPOILED = (NO_SUCH_STATEMENT, STATEMENT_EXISTS, READ_ONLY_SERVER, "0A000", "25P01", "25P02", "25P03", "25P04", "34000")
"""The connection must not be used again: its prepared statements or its transaction are not what the driver believes, or its
server has become a standby (a new connection finds the new primary). 0A000 is a cached plan that an upgrade made invalid."""

SQLITE_CODES = {
    REFUSED: (18, 19, 20, 25),  # too big, constraint, mismatch, range
    DAMAGED: (11, 26),  # corrupt, not a database
}
SQLITE_ERROR = 1
SQLITE_MISFITS = ("no such ", "has no column", "syntax error", "already exists", "values for")
READ_ONLY_FILE = "readonly database"
WAYS_OUT = {
    "disk is full": "Free some space on its disk; the work then goes on by itself",
    READ_ONLY_FILE: "Make the file and its folder writable for this account; the work then goes on by itself",
    "disk I/O error": "Its disk is full, read-only or broken: look at the system's log",
    "unable to open database file": "Its file or folder is gone, or this process has too many open files (ulimit -n)",
    "no error details": "This process may have too many open files (ulimit -n)",
    "Too many open files": "Raise the limit of open files (ulimit -n), or lower the concurrency",
    "is locked": "Another process holds its write lock; see who has the file open",
    "read-only transaction": "The server takes no writes, as after a failover; the work goes on by itself when it does again",
    "No space left on device": "Free some space on the server's disk; the work then goes on by itself",
    "too many clients": "Raise max_connections, or use a pooler",
    "too many connections": "Raise the limit of connections, or use a pooler",
    "remaining connection slots": "Raise max_connections, or use a pooler",
}
"""What the database says → what a person can do."""
PUBLIC = {
    REFUSED: "The database refused this value.",
    MISFIT: "The database does not fit this version of Fanfold.",
    DAMAGED: "The database is damaged.",
    UNREACHABLE: "The database cannot be used right now; the server goes on trying.",
}
"""What people are told who need not know where the database is."""
PASSING = (
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
"""What is said when a server, or the pooler before it, is not there yet or has no connection left."""


def told(error: Exception, where: str) -> DatabaseProblem | None:
    """An error of SQLAlchemy or a driver as ours, for the database ``where``; None for anything else."""
    if not isinstance(error, sa.exc.DBAPIError | sa.exc.TimeoutError) and not is_driver_error(error):
        return None
    code, why = code_of(error), first_line(error)
    sentence = {
        REFUSED: f"The database refused: {why}.",
        MISFIT: f"A statement does not fit the tables of the database {where}: {why}. To see what is wrong: fanfold doctor",
        DAMAGED: f"The database {where} is damaged: {why}.",
        UNREACHABLE: f"Cannot use the database {where}: {why}.{_way_out(why)}",
    }[code]
    return DatabaseProblem(sentence, code=code, public=PUBLIC[code] + _way_out(why))


def code_of(error: Exception) -> str:
    """What an error of SQLAlchemy or a driver means: one of the four codes."""
    driver = getattr(error, "orig", None) or error
    if (state := getattr(driver, "sqlstate", None)) is not None:
        return _by_state(state)
    kind, number = type(driver).__name__, getattr(driver, "sqlite_errorcode", None)
    if number is not None:
        return _by_number(number & 0xFF, str(driver))
    if kind in ("DataError", "IntegrityError") or "binding parameter" in str(driver):
        # psycopg refuses a NUL, SQLite a text of over a gigabyte, before anything is sent: there is no code then.
        return REFUSED
    return UNREACHABLE


def _by_state(state: str) -> str:
    if state[:2] in DATA_CLASSES or state == TOO_LARGE:
        return REFUSED
    if state[:2] == MISFIT_CLASS and state != STATEMENT_EXISTS:
        return MISFIT
    return UNREACHABLE


def _by_number(number: int, text: str) -> str:
    if number == SQLITE_ERROR and any(sign in text for sign in SQLITE_MISFITS):
        return MISFIT
    return next((code for code, numbers in SQLITE_CODES.items() if number in numbers), UNREACHABLE)


def sqlstate(error: BaseException | None) -> str | None:
    """PostgreSQL's code for this error or for what caused it; None when there is none."""
    while error is not None:
        state = getattr(getattr(error, "orig", None) or error, "sqlstate", None)
        if state is not None:
            return str(state)
        error = error.__cause__
    return None


def is_conflict(error: BaseException) -> bool:
    """Whether the server ended the transaction only so that another could go on: the same again may well succeed."""
    return sqlstate(error) in CONFLICTS


def may_pass(problem: DatabaseProblem) -> bool:
    """Whether waiting may help: nobody answers, or the server says that it is not ready; not a refusal of who asks for what.

    PostgreSQL gives no code for a connection that was not made, only a text.
    """
    found = str(getattr(problem.__cause__, "orig", None) or problem).lower()
    return problem.code == UNREACHABLE and any(words in found for words in PASSING)


def drop_spoiled(context: sa.engine.ExceptionContext) -> None:
    """For SQLAlchemy's ``handle_error``: a connection in a state that nobody knows is closed and not given to the next."""
    error = context.original_exception
    state = getattr(error, "sqlstate", None)
    connection: Any = context.connection and context.connection.connection.dbapi_connection
    closed = state is not None and bool(getattr(connection, "closed", False))
    if state in SPOILED or closed or READ_ONLY_FILE in str(error):
        context.is_disconnect = True
        # All connections are read-only then, and stay so; the rest is the trouble of this connection alone.
        context.invalidate_pool_on_disconnect = state in (READ_ONLY_SERVER, None)


def is_driver_error(error: Exception) -> bool:
    """Whether a driver raised it, outside of SQLAlchemy; drivers share no base class."""
    return type(error).__module__.split(".")[0] in ("psycopg", "pysqlite3", "sqlite3")


def first_line(error: Exception) -> str:
    """What the database says, without the statement and the details."""
    text = str(getattr(error, "orig", None) or error).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def _way_out(why: str) -> str:
    return next((f" {advice}." for sign, advice in WAYS_OUT.items() if sign in why), "")
