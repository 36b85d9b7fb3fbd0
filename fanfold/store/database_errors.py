"""Sorts the errors of databases by what they mean for the work; each dialect knows those of its own driver.

`refused`     about the data: this value cannot be stored. Only this may fail an item.
`misfit`      the statement does not fit the tables: another version of Fanfold, or missing rights. Trying again is no use.
`damaged`     the database file is broken.
`unreachable` everything else: tried again, with the result kept in hand.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import Sentence, say
from fanfold.store.dialects.known import NAMES, named, of_error

REFUSED, MISFIT, DAMAGED, UNREACHABLE = "refused", "misfit", "damaged", "unreachable"
WAYS_OUT = {"Too many open files": say("more_files")}
"""What the system says, whatever the database → what a person can do."""
PUBLIC = {
    REFUSED: say("database_refused"),
    MISFIT: say("database_misfit"),
    DAMAGED: say("database_damaged"),
    UNREACHABLE: say("database_unreachable"),
}
"""What people are told who need not know where the database is."""


def told(error: Exception, where: str) -> DatabaseProblem | None:
    """An error of SQLAlchemy or a driver as ours, for the database ``where``; None for anything else."""
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
    """What an error of SQLAlchemy or a driver means: one of the four codes."""
    driver = _raised(error)
    dialect = of_error(driver)
    return UNREACHABLE if dialect is None else dialect.errors.meaning(driver)


def is_conflict(error: BaseException | None) -> bool:
    """Whether the server ended the transaction only so that another could go on: the same again may well succeed."""
    driver, dialect = _cause(error)
    return dialect is not None and dialect.errors.is_conflict(driver)


def is_locked_out(error: BaseException | None) -> bool:
    """Whether a lock was not given in time."""
    driver, dialect = _cause(error)
    return dialect is not None and dialect.errors.is_locked_out(driver)


def may_pass(problem: DatabaseProblem) -> bool:
    """Whether waiting may help: nobody answers, or the server says that it is not ready; not a refusal of who asks for what.

    There is no code for a connection that was not made, only a text.
    """
    found = str(getattr(problem.__cause__, "orig", None) or problem).lower()
    signs = (words for name in NAMES for words in named(name).errors.passing)
    return problem.code == UNREACHABLE and any(words in found for words in signs)


def drop_spoiled(context: sa.engine.ExceptionContext) -> None:
    """For SQLAlchemy's ``handle_error``: a connection in a state that nobody knows is closed and not given to the next."""
    error = context.original_exception
    dialect = of_error(error)
    connection: Any = context.connection and context.connection.connection.dbapi_connection
    if dialect is not None and (spoiled := dialect.errors.spoils(error, connection)).connection:
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = spoiled.pool


def is_driver_error(error: Exception) -> bool:
    """Whether a driver raised it, outside of SQLAlchemy."""
    return of_error(error) is not None


def first_line(error: Exception) -> str:
    """What the database says, without the statement and the details."""
    text = str(_raised(error)).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(".")


def _raised(error: BaseException) -> BaseException:
    """What the driver has raised, where SQLAlchemy has wrapped it."""
    return getattr(error, "orig", None) or error


def _cause(error: BaseException | None) -> tuple[BaseException, Any]:
    """The error of a driver that this one comes from, and the driver's dialect; without one, the dialect is None."""
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
