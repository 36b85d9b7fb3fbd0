"""Parses database URLs, and prints them without their password."""

from __future__ import annotations

import sqlalchemy as sa

from fanfold.errors import DatabaseProblem
from fanfold.store.dialects.known import MALFORMED, of_url


def parse(url: str) -> sa.URL:
    """Parse and check a database URL, and fill in the driver; DatabaseProblem says what is wrong with it."""
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise DatabaseProblem(MALFORMED) from None
    return of_url(parsed).checked(parsed)


def shown(url: sa.URL) -> str:
    """The URL for people, without its password."""
    return url.render_as_string(hide_password=True)
