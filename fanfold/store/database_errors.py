"""Classifies database errors by how to handle them. Each dialect knows the errors of its own driver.

`refused`     this value cannot be stored. Only this error may fail an item.
`misfit`      the statement does not fit the tables: another version of Fanfold, or missing permissions. Retrying is useless.
`damaged`     the database file is corrupt.
`unreachable` everything else. The write is retried, and the result is kept in memory meanwhile.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.dialects.known import NAMES, named, of_error

REFUSED, MISFIT, DAMAGED, UNREACHABLE = "refused", "misfit", "damaged", "unreachable"
WAYS_OUT = {"Too many open files": say("more_files")}
"""Error text from the operating system, with any database → what a person can do."""
PUBLIC = {
    REFUSED: say("database_refused"),
    MISFIT: say("database_misfit"),
    DAMAGED: say("database_damaged"),
    UNREACHABLE: say("database_unreachable"),
}
"""Sentences for people who should not learn the address of the database."""


def told(error: Exception, where: str) -> DatabaseProblem | None:
    """Convert an error from SQLAlchemy or a driver, for the database ``where``; None for any other error."""
    if not isinstance(error, sa.exc.DBAPIError | sa.exc.TimeoutError) and not is_driver_error(error):
        return None
    code, why = code_of(error), first_line(error)
    sentence = {
        REFUSED: say("database_error_refused", why=why),
        MISFIT: say("database_error_misfit", where=where, why=why),
        DAMAGED: say("database_error_damaged", where=where, why=why),
        UNREACHABLE: _with_way_out(say("database_error_unreachable", where=where, why=why), error, why),
    }[code]
    return DatabaseProblem(sentence, code=code, public=_with_way_out(PUBLIC[code], error, why))


def code_of(error: Exception) -> str:
    """Classify an error from SQLAlchemy or a driver: one of the four codes."""
    driver = _raised(error)
    dialect = of_error(driver)
    return UNREACHABLE if dialect is None else dialect.errors.meaning(driver)


def is_conflict(error: BaseException | None) -> bool:
    """Whether the server rolled the transaction back in favour of another one, so that a retry may succeed."""
    driver, dialect = _cause(error)
    return dialect is not None and dialect.errors.is_conflict(driver)


def is_locked_out(error: BaseException | None) -> bool:
    """Whether waiting for a lock timed out."""
    driver, dialect = _cause(error)
    return dialect is not None and dialect.errors.is_locked_out(driver)


def may_pass(problem: DatabaseProblem) -> bool:
    """Whether waiting may help: the server does not answer or is not ready. Not for refused logins or missing databases.

    Failed connections have no error code, so the text decides.
    """
    found = str(getattr(problem.__cause__, "orig", None) or problem).lower()
    signs = (words for name in NAMES for words in named(name).errors.passing)
    return problem.code == UNREACHABLE and any(words in found for words in signs)


def drop_spoiled(context: sa.engine.ExceptionContext) -> None:
    """Handler for SQLAlchemy's ``handle_error``: close a connection whose state is unknown instead of reusing it."""
    error = context.original_exception
    dialect = of_error(error)
    connection: Any = context.connection and context.connection.connection.dbapi_connection
    if dialect is not None and (spoiled := dialect.errors.spoils(error, connection)).connection:
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = spoiled.pool


def is_driver_error(error: Exception) -> bool:
    """Whether a driver raised the error, outside SQLAlchemy."""
    return of_error(error) is not None


def first_line(error: Exception) -> str:
    """The database's message, without the statement and the details."""
    text = str(_raised(error)).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def _raised(error: BaseException) -> BaseException:
    """The driver's error, unwrapped from SQLAlchemy's."""
    return getattr(error, "orig", None) or error


def _cause(error: BaseException | None) -> tuple[BaseException, Any]:
    """The driver error that caused this one, and its dialect; the dialect is None if no driver raised it."""
    last = error or Exception()
    while error is not None:
        last = _raised(error)
        if (dialect := of_error(last)) is not None:
            return last, dialect
        error = error.__cause__
    return last, None


def _with_way_out(sentence: Sentence, error: Exception, why: str) -> Sentence:
    dialect = of_error(_raised(error))
    ways = WAYS_OUT if dialect is None else {**dialect.errors.ways_out, **WAYS_OUT}
    found = (say("database_way_out", what=sentence, way=way) for sign, way in ways.items() if sign in why)
    return next(found, sentence)
