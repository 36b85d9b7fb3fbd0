"""Database URLs: checked, completed, and shown without their password."""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem

POOLERS = {"transaction": True, "session": False, "none": False}
"""What a URL may say with ``?pooler=``, and whether connections are then shared between transactions."""


def parse(url: str) -> sa.URL:
    """A database URL, checked, with the driver filled in; DatabaseProblem says what is wrong with it."""
    parsed = _checked(url)
    mode = parsed.query.get("pooler")
    if mode is not None and (parsed.get_backend_name() != "postgresql" or mode not in POOLERS):
        raise DatabaseProblem(f"pooler={mode} is not possible here: a PostgreSQL URL takes {', '.join(POOLERS)}.")
    return parsed


def split_pooler(url: sa.URL) -> tuple[sa.URL, bool | None]:
    """The URL as the driver takes it, and whether it says that a pooler shares connections; None when it does not say."""
    return url.difference_update_query(["pooler"]), POOLERS.get(str(url.query.get("pooler")))


def _checked(url: str) -> sa.URL:
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DatabaseProblem(
            "The database URL is malformed. Use sqlite:///relative.db, sqlite:////absolute.db or postgresql://user@host/name."
        ) from None
    backend = parsed.get_backend_name()
    if backend == "sqlite":
        if parsed.host:
            raise DatabaseProblem(
                f"A SQLite URL has three slashes before a relative path: sqlite:///{parsed.host}/{parsed.database or ''}"
            )
        return parsed.set(drivername="sqlite")
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    raise DatabaseProblem(
        f"Fanfold keeps its state in SQLite or PostgreSQL, not in {backend}. Use sqlite:///… or postgresql://…"
    )


def shown(url: sa.URL) -> str:
    """The URL for people, without its password."""
    return url.render_as_string(hide_password=True)


def is_in_memory(url: sa.URL) -> bool:
    """Whether it is a SQLite without a file."""
    return url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:")
