"""What is particular to PostgreSQL: how connections are made, and which of them the server still knows."""

from __future__ import annotations

import importlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from fanfold.errors import DatabaseProblem
from fanfold.store.database_errors import drop_spoiled
from fanfold.store.dialects.connections import Connections, client_options, server_options
from fanfold.store.dialects.poolers import Pooler

ACTIVE_SERVERS = sa.text(
    """
    SELECT pid FROM pg_stat_activity
    WHERE pid = ANY(:pids)
      AND (state IS NULL OR state NOT LIKE 'idle%' OR state_change > statement_timestamp() - make_interval(secs => :quiet))
    """
)
"""Which of these server processes are at work, or were a moment ago."""


def postgres_engine(
    url: sa.URL, patience: float, connections: Connections, pooler: Pooler, pool: dict[str, int]
) -> sa.Engine:
    """A pool of connections, each prepared for a peer that may vanish, or for a pooler in between."""
    try:
        importlib.import_module("psycopg")
    except ImportError:
        raise DatabaseProblem("PostgreSQL needs its driver: pip install 'fanfold[postgres]'") from None
    arguments = {"prepare_threshold": 3, **postgres_options(url, patience)}
    engine = sa.create_engine(url, connect_args=arguments, **pool)

    options = [part for option in server_options(patience).items() for part in option]
    preparing = "SELECT " + ", ".join(["set_config(%s, %s, false)"] * (len(options) // 2))

    def prepare(connection: Any) -> None:
        if pooler.stands_before(connection):
            connection.prepare_threshold = None
            return
        connection.execute(preparing, options)
        connection.commit()

    event.listen(engine, "handle_error", drop_spoiled)
    connections.watch(engine, prepare)
    return engine


def postgres_options(url: sa.URL, patience: float, name: str = "fanfold") -> dict[str, Any]:
    """How a connection to PostgreSQL is made, as far as the URL does not say otherwise."""
    wanted = {"application_name": name, **client_options(patience)}
    return {option: value for option, value in wanted.items() if option not in url.query}
