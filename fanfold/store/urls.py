"""Database URLs: checked, completed, and shown without their password."""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.dialects.known import MALFORMED, of_url


def parse(url: str) -> sa.URL:
    """A database URL, checked, with the driver filled in; DatabaseProblem says what is wrong with it."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DatabaseProblem(MALFORMED) from None
    return of_url(parsed).checked(parsed)


def shown(url: sa.URL) -> str:
    """The URL for people, without its password."""
    return url.render_as_string(hide_password=True)
