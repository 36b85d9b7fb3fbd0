"""Statements that are built once return the same values as SQLAlchemy does, on every database."""

from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa

from fanfold.store.database import Database
from fanfold.store.schema.statements import changed_by, fetch, fetch_first, fetch_value, run
from fanfold.store.schema.tables import webhooks, workers

SINCE = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ROW = {
    "id": "w-1", "host": "here", "pid": 7, "serves": "[]", "concurrency": 8, "running": 0, "stopping": True, "done": 0,
    "failed": 0, "busy_seconds": 0.5, "started_at": SINCE, "seen_at": SINCE,
}  # fmt: skip
ALL = sa.select(workers).order_by(workers.c.id)
ONE = ALL.where(workers.c.id == sa.bindparam("wanted"))
RENAME = sa.update(workers).where(workers.c.id == sa.bindparam("wanted")).values(host=sa.bindparam("new_host"))


@pytest.fixture
def database(database_url: str) -> Any:
    opened = Database(database_url)
    with opened.write() as connection:
        connection.execute(sa.insert(workers), [ROW, ROW | {"id": "w-2", "stopping": False}])
    yield opened
    opened.close()


def test_values_have_the_types_of_their_columns(database: Database) -> None:
    with database.read() as connection:
        wanted = [tuple(row) for row in connection.execute(ALL)]
        assert fetch(connection, ALL) == wanted
        assert [type(value) for value in fetch(connection, ALL)[0]] == [type(value) for value in wanted[0]]
        assert fetch_first(connection, ONE, {"wanted": "w-2"}) == wanted[1]
        found = dict(zip((column.name for column in workers.c), wanted[0], strict=True))
    assert found["started_at"] == SINCE
    assert found["stopping"] is True


def test_a_calculated_fraction_is_a_float(database: Database) -> None:
    age = sa.select(database.clock.seconds_between(workers.c.started_at, workers.c.seen_at))
    with database.read() as connection:
        found = fetch_value(connection, age.limit(1))
    assert found == 0.0
    assert type(found) is float


def test_nothing_found_is_none(database: Database) -> None:
    with database.read() as connection:
        assert fetch(connection, sa.select(webhooks)) == []
        assert fetch_first(connection, ONE, {"wanted": "w-3"}) is None
        assert fetch_value(connection, ONE, {"wanted": "w-3"}) is None


def test_changed_rows_are_counted_and_a_statement_without_rows_returns_none(database: Database) -> None:
    with database.write() as connection:
        assert changed_by(connection, RENAME, {"wanted": "w-1", "new_host": "there"}) == 1
        assert changed_by(connection, RENAME, {"wanted": "w-3", "new_host": "there"}) == 0
        assert run(connection, RENAME, {"wanted": "w-2", "new_host": "there"}) == []
        assert {row[1] for row in fetch(connection, ALL)} == {"there"}


def test_listeners_see_these_statements_and_errors_are_sqlalchemys(database: Database) -> None:
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        seen.append(statement)

    sa.event.listen(database.engine, "before_cursor_execute", note)
    with database.engine.connect() as connection:
        run(connection, ALL, {})
        with pytest.raises(sa.exc.DBAPIError):
            run(connection, sa.select(sa.table("nothing", sa.column("here"))), {})
    assert [statement.startswith("SELECT") for statement in seen][-2:] == [True, True]


def test_other_statements_still_return_results_of_sqlalchemy(database: Database) -> None:
    with database.read() as connection:
        run(connection, ALL, {})
        assert connection.execute(ALL).mappings().first()["id"] == "w-1"  # type: ignore[index]
        assert connection.exec_driver_sql("SELECT 1 AS one").scalar_one() == 1
