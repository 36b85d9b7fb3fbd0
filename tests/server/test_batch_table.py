"""Batches of questions at services are on the page about workers."""

from datetime import UTC, datetime

import sqlalchemy as sa

from fanfold.store.schema.money.batch_tables import batch_members
from tests.installation import Installation
from tests.server.asking import Asker


def begin(installation: Installation) -> None:
    """A batch of two questions that is being sent."""
    one = {"task": 1, "lease": 1, "provider": "fake", "model": "large", "state": "collected", "bytes": 9, "tokens": 2}
    with installation.store.write() as tx:
        rows = [{**one, "item": number, "key": f"k{number}", "at": datetime.now(UTC)} for number in (1, 2)]
        tx.connection.execute(sa.insert(batch_members), rows)
    with installation.store.write() as tx:
        [group] = tx.batched.groups()
        assert tx.batches.begin("b-1", group, tx.batched.waiting(group, 10), "w", 60.0) is not None


def test_batches_are_on_the_page_about_workers_in_both_languages(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    page = {"accept": "text/html"}
    assert 'id="batch-' not in sqlite_asker.ask("GET", "//workers", headers=page).text
    begin(sqlite_installation)
    shown = sqlite_asker.ask("GET", "//workers", headers=page).text
    assert 'id="batch-b-1"' in shown
    assert "fake:large" in shown
    assert "being sent" in shown
    chinese = sqlite_asker.ask("GET", "//workers", headers={**page, "accept-language": "zh"}).text
    assert "发送中" in chinese
    assert "being sent" not in chinese
