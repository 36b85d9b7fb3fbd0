"""All other work continues while a split writes far too many items."""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from fanfold.store.schema.tables import attempts, items, tasks
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.chaos import trouble
from tests.chaos.findings import FULL, Finding, note
from tests.chaos.test_flood import times_of_small_tasks, worker_of

HUGE = 1_500_000 if FULL else 60_000
PAGES = 200 if FULL else 20
LEASE = {"FANFOLD_LEASE_SECONDS": "15"} if FULL else {}
"""At full length that of the settings; else the long one of all tests, which a busy machine cannot make a worker lose."""
MOST = 5.0


@pytest.mark.timeout(3_000 if FULL else 300)
def test_a_huge_split_takes_no_lease_and_holds_up_no_small_task(tmp_path: Path) -> None:
    """One process splits and serves small tasks, another works on small items: nothing runs twice, nothing waits for long."""
    url = f"sqlite:///{tmp_path / 'fanfold.db'}"
    with fleet(url, tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL", **LEASE) as ours:
        worker_of(ours, "flood")
        worker_of(ours, "noting")
        patiently(lambda: len(ours.client.workers()) == 2, 60, ours.said)
        alone = times_of_small_tasks(ours, 5, 0.02)
        huge, began = ours.client.submit(trouble.flood, options={"count": HUGE, "seconds": 0.02}).id, time.monotonic()
        patiently(lambda: leases(ours, [huge]) == {1}, 60, ours.said)
        beside, noted = beside_the_split(ours, huge)
        took = time.monotonic() - began
        found = ours.client.get(huge)
        assert (found.stage, found.total, found.failed) == ("drop", HUGE, 0)
        ours.client.cancel(huge)
        for task in noted:
            ours.until(task)
        assert leases(ours, noted) == {1}
        assert leases(ours, [huge], "pour") == {1}
        ran = [len(calls) for calls in ours.calls().values()]
        assert (sum(ran), {len(ours.rows(task, "jot")) for task in noted}) == (PAGES * len(noted), {PAGES})
        with ours.store.read() as tx:
            assert tx.connection.execute(sa.select(sa.func.count()).select_from(attempts)).scalar_one() == 0
        middle = statistics.median(beside) / statistics.median(alone)
        seen = (
            f"{HUGE:,} items in {took:.0f} s; meanwhile {PAGES * len(noted):,} items of another process each ran once, and "
            f"{len(beside)} small tasks of the same worker took {statistics.median(beside) * 1000:.0f} ms (worst "
            f"{max(beside) * 1000:.0f}), before {statistics.median(alone) * 1000:.0f} ms: {middle:.1f} times"
        )
        print(seen)
        assert middle <= MOST, seen
    promised = f"No lease is lost, nothing runs twice, and a small task takes at most {MOST:g} times as long as alone."
    note(Finding("a huge split beside small tasks", "SQLite", promised, seen))


def beside_the_split(ours: Fleet, huge: str) -> tuple[list[float], list[str]]:
    """Small tasks of both workers until the split is over: how long those of its own worker took, and those of the other."""
    times: list[float] = []
    noted: list[str] = []
    options = {"log": str(ours.log)}
    while stage_of(ours, huge) == "pour":
        noted.append(ours.client.submit(trouble.noting, items=range(PAGES), options=options).id)
        times += times_of_small_tasks(ours, 1, 0.02)
    assert times, "the split was over before anything could run beside it"
    return times, noted


def stage_of(ours: Fleet, task: str) -> str:
    """Where a task stands."""
    with ours.store.read() as tx:
        return str(tx.connection.execute(sa.select(tasks.c.stage).where(tasks.c.id == task)).scalar_one())


def leases(ours: Fleet, of: list[str], stage: str | None = None) -> set[int]:
    """How often items of these tasks were claimed."""
    mine = sa.select(items.c.lease).join(tasks, tasks.c.number == items.c.task).where(tasks.c.id.in_(of))
    mine = mine.where(items.c.stage == (tasks.c.stage if stage is None else stage))
    with ours.store.read() as tx:
        return set(tx.connection.execute(mine.distinct()).scalars())
