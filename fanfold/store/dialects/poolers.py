"""Detects poolers that may give each transaction a different server connection (PgBouncer in transaction mode).

Behind one, nothing may outlive a transaction: prepared statements, session settings and LISTEN belong to a server connection
that the next transaction may not get.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import sqlalchemy as sa

log = logging.getLogger("fanfold.store")
DIRECT = "FANFOLD_DIRECT_DATABASE"
POOLERS = {"transaction": True, "session": False, "none": False}
"""Values of ``?pooler=`` in a URL → whether transactions share server connections."""


def split_pooler(url: sa.URL) -> tuple[sa.URL, bool | None]:
    """The URL in the driver's form, and whether it says that a pooler shares connections; None if it does not say."""
    return url.difference_update_query(["pooler"]), POOLERS.get(str(url.query.get("pooler")))


class Pooler:
    """Whether transactions share connections, according to the URL or else to the first connection."""

    def __init__(self, told: bool | None, direct: bool) -> None:
        self.told = told
        self.direct = direct
        self.found = told
        """None until the first connection, unless the URL says it."""
        self._logged = False

    def stands_before(self, connection: Any) -> bool:
        """Whether this new psycopg connection is shared.

        A pooler gives its clients process ids of its own, which the server does not know. Session mode looks the same, so the
        URL can say ``pooler=session``.
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
            log.info(
                "PostgreSQL is behind a pooler: no prepared statements or session settings; workers are notified %s",
                hints,
            )
        return bool(self.found)
