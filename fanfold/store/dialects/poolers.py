"""Poolers that give each transaction another server connection (PgBouncer in transaction mode), and what they forbid.

Nothing may then outlive a transaction: prepared statements, session settings and LISTEN belong to a server connection that the
next transaction may not get.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger("fanfold.store")
DIRECT = "FANFOLD_DIRECT_DATABASE"
POOLERS = {"transaction": True, "session": False, "none": False}
"""What a URL may say with ``?pooler=``, and whether connections are then shared between transactions."""


def split_pooler(url: sa.URL) -> tuple[sa.URL, bool | None]:
    """The URL as the driver takes it, and whether it says that a pooler shares connections; None when it does not say."""
    return url.difference_update_query(["pooler"]), POOLERS.get(str(url.query.get("pooler")))


class Pooler:
    """Whether connections are shared between transactions: as the URL says, or as the first connection shows."""

    def __init__(self, told: bool | None, direct: bool) -> None:
        self.told = told
        self.direct = direct
        self.found = told
        """None until the first connection is made, unless the URL says it."""
        self._logged = False

    def stands_before(self, connection: Any) -> bool:
        """Whether this new connection of psycopg is shared.

        A pooler greets its clients with process ids of its own, which the server does not know. In session mode it looks the
        same: then the URL may say ``pooler=session``.
        """
        if self.told is None:
            server = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
            connection.commit()
            self.found = server != connection.info.backend_pid
        if self.found and not self._logged:
            self._logged = True
            hints = (
                "through the direct URL"
                if self.direct
                else f"by polling only; {DIRECT} can name a URL without the pooler"
            )
            log.info("PostgreSQL is behind a pooler: no prepared statements or session settings; news come %s", hints)
        return bool(self.found)
