"""Real workers behind a real PgBouncer in transaction mode, with three connections to the server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from tests.acceptance.fleet import Fleet, fleet
from tests.chaos.findings import FULL, Finding, note
from tests.chaos.handlers import steady
from tests.chaos.whole import Load
from tests.conftest import one_at_a_time
from tests.databases import PostgresDatabases
from tests.poolers import pooled
from tests.servers import PostgresServer
from tests.store.test_poolers import end_servers

COUNT = 6_000 if FULL else 2_000


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    """A migrated, empty database on the server that all tests share."""
    source = PostgresDatabases(postgres)
    with one_at_a_time("template"):
        source.make_template()
    with source.fresh() as made:
        yield made


def test_workers_share_three_connections_through_pgbouncer(url: str, postgres: PostgresServer, tmp_path: Path) -> None:
    """Every item done once, none failed, no worker ended: also when connections are ended and the pooler restarts."""
    with (
        pooled(postgres, size=3) as pooler,
        fleet(pooler.url(url), tmp_path) as ours,
        postgres.connect() as administrator,
    ):
        load = Load(ours, [{}, {}, {"FANFOLD_DIRECT_DATABASE": url}], count=COUNT)
        other = paused_and_resumed(ours, load)
        ended = 0
        for _ in range(3):
            ended += end_servers(administrator, str(sa.make_url(url).database))
            load.all_at_work(*load.workers)
        pooler.stop()
        pooler.start()
        ours.store.close()
        load.all_at_work(*load.workers)
        load.finish()
        found = ours.until(other, seconds=100)
        assert (found.total, found.done, found.failed) == (200, 200, 0)
        assert ended >= 3
        assert [worker.poll() for worker in load.workers] == [None] * 3, ours.said()
        assert "database refused" not in ours.said()
        promised = "every item is done once, none fails, no worker ends"
        what = f"{COUNT} items by 3 workers over 3 connections, {ended} of them ended, PgBouncer restarted once"
        note(Finding("behind PgBouncer in transaction mode", "PostgreSQL", promised, what))


def paused_and_resumed(ours: Fleet, load: Load) -> str:
    """Another task, which was paused while it ran, and continues."""
    options = {"count": 200, "log": str(ours.folder / "other.log"), "seconds": 0.1, "hurry": str(load.hurry)}
    other = ours.client.submit(steady, options=options).id
    ours.client.pause(other)
    load.all_at_work(*load.workers)
    ours.client.resume(other)
    return other
