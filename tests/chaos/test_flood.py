"""Overload: a huge task beside small ones, ten thousand failures at once, endless polls and refusals."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa

from fanfold.store.schema.tables import attempts, events, items, tasks
from tests.acceptance.fleet import Fleet, check_events, fleet, patiently
from tests.acceptance.work import quick
from tests.chaos import trouble
from tests.chaos.findings import FULL, Finding, kind_of, note, one_database_is_enough
from tests.chaos.meter import Meter
from tests.chaos.whole import Process

HUGE = 1_000_000 if FULL else 60_000
SMALL = 1_000 if FULL else 32
ROUNDS = 2 if FULL else 4
"""Alone and beside the flood in turns, so that a moment in which the machine is slow counts for both."""
PACES = ((0.02, 2.0), (0.0, 3.0)) if FULL else ((0.02, 3.0),)
"""(seconds of a handler, the largest ratio allowed): at a pace of the handlers, and as fast as the machine can."""
AT_ONCE = 10_000 if FULL else 1_000
SOONER = 15
"""How many times sooner than planned the items come back, once it is known when that would be."""
FEW_LINES = 60


def worker_of(ours: Fleet, pipeline: str, concurrency: int = 4) -> Process:
    """A worker for one pipeline of `trouble`."""
    words = ("-m", "fanfold.cli", "worker", f"{trouble.__name__}:{pipeline}", "--concurrency", str(concurrency))
    return ours.run(*words)


def count(ours: Fleet, table: sa.Table, task: str, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows of a task a table has."""
    wanted = sa.select(sa.func.count()).select_from(table).where(table.c.task == ours.number(task), *conditions)
    with ours.store.read() as tx:
        return int(tx.connection.execute(wanted).scalar_one())


@pytest.mark.timeout(3_000 if FULL else 300)
@pytest.mark.parametrize(("seconds", "most"), PACES)
def test_small_tasks_do_not_wait_for_a_huge_one(database_url: str, tmp_path: Path, seconds: float, most: float) -> None:
    """A small task beside a huge one takes at most about twice the time that it takes alone on the same workers."""
    one_database_is_enough(database_url)
    with fleet(database_url, tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL") as ours:
        for _ in range(2):
            worker_of(ours, "flood")
        options = {"count": HUGE, "seconds": seconds}
        huge = ours.client.submit(trouble.flood, options=options).id
        meter = Meter(ours, huge)
        patiently(lambda: meter.done() > 0, 600, ours.said)
        alone: list[float] = []
        beside: list[float] = []
        for _ in range(ROUNDS):
            ours.client.pause(huge)
            alone += times_of_small_tasks(ours, SMALL // ROUNDS, seconds)
            ours.client.resume(huge)
            before = meter.done()
            patiently(lambda: meter.done() > before, 60)  # noqa: B023
            beside += times_of_small_tasks(ours, SMALL // ROUNDS, seconds)
            assert meter.done() > before + 5, "the huge one was not served"
        middle, slowest = (at(beside, share) / at(alone, share) for share in (0.5, 0.9))
        found = ours.client.get(huge)
        assert (found.state, found.total, found.failed) == ("active", HUGE, 0)
        ours.client.cancel(huge)
        check_events(ours.client, huge)
        seen = (
            f"{SMALL} tasks of 5 items, alone {statistics.median(alone) * 1000:.0f} ms (worst {max(alone) * 1000:.0f}), beside "
            f"{HUGE:,} items {statistics.median(beside) * 1000:.0f} ms (worst {max(beside) * 1000:.0f}): {middle:.1f} times"
        )
        print(seen)
        assert middle <= most, seen
        assert slowest <= 3 * most, seen
    pace = f"handlers of {seconds * 1000:.0f} ms" if seconds else "handlers that do nothing"
    note(
        Finding(
            f"a huge task beside small ones ({pace})",
            kind_of(database_url),
            f"A small task takes at most {most:g} times as long as alone.",
            seen,
        )
    )


def at(times: Sequence[float], share: float) -> float:
    """The time within which this share of them is over."""
    return sorted(times)[int(share * (len(times) - 1))]


def times_of_small_tasks(ours: Fleet, number: int, seconds: float) -> list[float]:
    """Submit small tasks one after the other, and tell how long each took from its submission to its end."""
    made = []
    for _ in range(number):
        made.append(ours.client.submit(trouble.flood, options={"count": 5, "seconds": seconds}).id)
        time.sleep(0.05)
    mine = tasks.c.id.in_(made)

    def all_over() -> bool:
        with ours.store.read() as tx:
            left = sa.select(sa.func.count()).select_from(tasks).where(mine, tasks.c.finished_at.is_(None))
            return tx.connection.execute(left).scalar_one() == 0

    patiently(all_over, 300, ours.said)
    with ours.store.read() as tx:
        rows = tx.connection.execute(
            sa.select(tasks.c.state, tasks.c.created_at, tasks.c.finished_at).where(mine)
        ).all()
    assert {row.state for row in rows} == {"completed"}
    assert ours.client.result(made[-1]) == {"count": 5, "different": 5}
    return [(row.finished_at - row.created_at).total_seconds() for row in rows]


@pytest.mark.timeout(600)
def test_many_failures_at_once_are_no_storm(tmp_path: Path) -> None:
    """Items that fail together come back spread out, leave a bounded history, and are a handful of lines in the log."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL") as ours:
        worker = worker_of(ours, "failing", 64)
        process = psutil.Process(worker.pid)
        patiently(ours.client.workers, 60)
        task = ours.client.submit(trouble.failing, items=range(AT_ONCE)).id
        patiently(lambda: count(ours, attempts, task) == AT_ONCE, 120, ours.said)
        share = largest_share(ours, task)
        hasten(ours, task)
        used, waited_at = sum(process.cpu_times()[:2]), time.monotonic()
        found = ours.until(task, seconds=200)
        busy = (sum(process.cpu_times()[:2]) - used) / (time.monotonic() - waited_at)
        assert (found.done, found.failed) == (AT_ONCE, 0)
        # Not the lease: an item that was claimed ahead and handed back, unbegun, has had one more.
        assert {(row.state, row.failures, row.attempts) for row in ours.rows(task, "fail_first")} == {("done", 1, 2)}
        kept = count(ours, attempts, task) / AT_ONCE
        told = count(ours, events, task, events.c.item.is_not(None)) / AT_ONCE
        lines = len(re.findall(r"Failed fail_first", (tmp_path / "process-1.log").read_text()))
        assert (kept, told) == (1, 1), "more than one row for a failure"
        assert share < 0.2, f"{share:.0%} of the retries fall due within a twentieth of the back-off"
        assert 1 <= lines <= FEW_LINES, f"{lines} lines in the log"
        check_events(ours.client, task)
    note(
        Finding(
            "many failures at once",
            "SQLite",
            "Retries are spread over half of the back-off, one attempt and one event are kept for each, the log says it once.",
            f"{AT_ONCE:,} items failed: at most {share:.0%} due within a twentieth of the back-off, {lines} lines in the log, "
            f"{busy:.0%} of a core while they came back",
        )
    )


def largest_share(ours: Fleet, task: str) -> float:
    """The largest share of the back-offs that ends within any twentieth of the longest one."""
    waits = sa.select(items.c.available_at, attempts.c.ended_at).join(attempts, attempts.c.item == items.c.id)
    with ours.store.read() as tx:
        rows = tx.connection.execute(waits.where(items.c.task == ours.number(task), items.c.state == "retrying")).all()
    given = sorted((row.available_at - row.ended_at).total_seconds() for row in rows)
    window = trouble.BACK_OFF / 20
    return max(within(given, start, window) for start in given[:: max(1, len(given) // 200)]) / len(given)


def hasten(ours: Fleet, task: str) -> None:
    """Let the items come back in the same order, but sooner."""
    with ours.store.write() as tx:
        wait = sa.select(items.c.id, items.c.available_at).where(items.c.task == ours.number(task))
        now = tx.connection.execute(sa.select(tx.clock.now)).scalar_one()
        for row in tx.connection.execute(wait).all():
            sooner = now + (row.available_at - now) / SOONER
            tx.connection.execute(sa.update(items).where(items.c.id == row.id).values(available_at=sooner))


def within(given: Sequence[float], start: float, window: float) -> int:
    """How many lie in a window."""
    return sum(start <= one < start + window for one in given)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("pipeline", "option"), [("polling", "polls"), ("limited", "refusals")])
def test_looks_and_refusals_without_end_leave_a_bounded_history(tmp_path: Path, pipeline: str, option: str) -> None:
    """An external job that is looked at for days, or a rate limit that lasts as long, does not fill the database or the log."""
    times = 3_000 if FULL else 300
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL") as ours:
        worker_of(ours, pipeline)
        task = ours.client.submit(getattr(trouble, pipeline), items=range(4), options={option: times}).id
        found = ours.until(task, seconds=500)
        assert (found.done, found.failed) == (4, 0)
        [one, *_] = ours.rows(task, getattr(trouble, pipeline).all_stages()[0].name)
        assert (one.lease, one.failures) == (times + 1, 0)
        kept, told = count(ours, attempts, task) / 4, count(ours, events, task, events.c.item.is_not(None)) / 4
        lines = len((tmp_path / "process-1.log").read_text().splitlines())
        assert max(kept, told) <= 40, f"{kept:g} attempts and {told:g} events are kept for each item"
        assert lines <= FEW_LINES, f"{lines} lines in the log"
        check_events(ours.client, task)
    note(
        Finding(
            f"endless {option}",
            "SQLite",
            "The history of an item stays bounded, and so does the log.",
            f"{times:,} {option} of each of 4 items: {kept:g} attempts and {told:g} events kept for each, log lines: {lines}",
        )
    )


@pytest.mark.timeout(600)
def test_a_task_commanded_thousands_of_times_is_read_as_fast_as_any(tmp_path: Path) -> None:
    """Each command of a person is an event, kept for good; reading the last of them, or the task, takes no longer for it."""
    times = 5_000 if FULL else 300
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, FANFOLD_SQLITE_SYNCHRONOUS="NORMAL") as ours:
        calm, busy = (ours.client.submit(quick, items=range(10)).id for _ in range(2))
        number = ours.number(busy)
        for _ in range(times):
            ours.client.commands.pause(number)
            ours.client.commands.resume(number)
        assert count(ours, events, busy) == 2 * times + 1
        taken = {task: reading_seconds(ours, task) for task in (calm, busy)}
        check_events(ours.client, busy)
        assert taken[busy] < 10 * taken[calm] + 0.05, taken
    note(
        Finding(
            "a task paused and resumed constantly",
            "SQLite",
            "Every command is kept; the task and its latest events are read as fast as those of any other.",
            f"{2 * times:,} commands: read in {taken[busy] * 1000:.1f} ms, a calm task in {taken[calm] * 1000:.1f} ms",
        )
    )


def reading_seconds(ours: Fleet, task: str) -> float:
    """How long it takes to read a task, a page of a list and the latest events, at best."""
    number, best = ours.number(task), 1e9
    for _ in range(5):
        started = time.perf_counter()
        ours.client.get(task)
        ours.client.list(limit=10)
        with ours.store.read() as tx:
            assert tx.events.latest_of(number, limit=100)
        best = min(best, time.perf_counter() - started)
    return best
