"""Measures the cost of an item in small and huge tasks, in many tasks, and beside millions of finished items."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import psycopg
import sqlalchemy as sa

from benchmarks.engines import tally, workload
from benchmarks.engines.engine import demand, patiently
from benchmarks.engines.installation import FEWEST, Figure, Installation, Place, processor_seconds
from benchmarks.engines.measures.footprint import resident

SIZES, LONG_SIZE = (1_000, 10_000, 100_000), 1_000_000
TASKS, ITEMS_EACH = 1_000, 10
FINISHED, FINISHED_EACH = 5_000_000, 100_000
PROBE, DRAINED, REPEATS = 10_000, 100_000, 3
LOOKS = 9
OF_TASK = "items.task = (SELECT number FROM tasks WHERE id = :id) AND items.stage = 'count'"
MORE_ITEMS = f"""
    WITH RECURSIVE more(seq) AS (SELECT 2 UNION ALL SELECT seq + 1 FROM more WHERE seq < :many)
    INSERT INTO items (task, stage, seq, state, lease, attempts, failures, crashes, started_at, finished_at)
    SELECT task, stage, more.seq, state, lease, attempts, failures, crashes, started_at, finished_at
    FROM more, items WHERE {OF_TASK} AND items.seq = 1"""
MORE_DATA = f"INSERT INTO item_data (item, input, output) SELECT id, '1', '1' FROM items WHERE {OF_TASK} AND seq > 1"
DEAD = "SELECT coalesce(sum(n_dead_tup), 0), coalesce(sum(n_live_tup), 0) FROM pg_stat_user_tables"


def cost_per_item(place: Place) -> Iterator[Figure]:
    """Wall clock and processor per item in one task, with one worker process."""
    sizes = (*map(place.items, SIZES), *([LONG_SIZE] if place.long else []))
    with place.installation() as here, here.warm_workers(1) as running:
        for size in sizes:
            repeats = REPEATS if size <= PROBE else 1
            before, done, taken = processor_seconds(running), 0, []
            for _ in range(repeats):
                taken.append(here.merged(size).seconds / size)
                done += size
            used = (processor_seconds(running) - before) / done
            yield place.figure(f"cost per item, {size:,} in one task", statistics.median(taken) * 1e6, "µs")
            yield place.figure(f"worker's processor per item, {size:,} in one task", used * 1e6, "µs")
            yield place.figure(f"worker's resident memory after {size:,} in one task", resident(running), "MB")


def many_tasks(place: Place) -> Iterator[Figure]:
    """The same with 1 000 tasks that wait already: the first handler's start until the last task is merged."""
    tasks = place.items(TASKS)
    with place.installation() as here:
        began = time.monotonic()
        for _ in range(tasks):
            here.client.submit(workload.noop, items=range(ITEMS_EACH))
        submitted = time.monotonic() - began
        with here.workers(1):
            patiently(lambda: len(tally.fan_ins()) >= tasks, here.check)
        seconds = max(fan_in.at for fan_in in tally.fan_ins()) - tally.counted().first_at
        demand("items reached a merge", sum(one.seen for one in tally.fan_ins()), tasks * ITEMS_EACH)
    what = f"{tasks:,} tasks of {ITEMS_EACH} items"
    yield place.figure(f"submitting, {what}", submitted / tasks * 1e3, "ms per task")
    yield place.figure(f"cost per item, {what}", seconds / tasks / ITEMS_EACH * 1e6, "µs")


def beside_finished(place: Place) -> Iterator[Figure]:
    """The cost of an item in an empty database and beside 5 million that are done; only in a long run."""
    if not place.long:
        return
    with place.installation() as here, here.warm_workers(2):
        fresh = probe(here)
        for _ in range(FINISHED // FINISHED_EACH):
            finish_many(here, FINISHED_EACH)
        beside = probe(here)
    yield place.figure("cost per item, empty database, 2 processes", fresh * 1e6, "µs")
    yield place.figure(f"cost per item beside {FINISHED:,} finished, 2 processes", beside * 1e6, "µs")


def finish_many(here: Installation, many: int) -> None:
    """A finished task of this many items, written directly instead of processed, which takes a fraction of the time."""
    task = here.client.submit(workload.noop, items=range(1))
    here.client.wait(task.id, 30, poll=0.01)
    engine = sa.create_engine(here.url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in (MORE_ITEMS, MORE_DATA):
            connection.execute(sa.text(statement), {"id": task.id, "many": many})
    engine.dispose()


def progress_query(place: Place) -> Iterator[Figure]:
    """One look at a task of a million items, as a progress display takes it."""
    size = place.items(LONG_SIZE)
    with place.installation() as here:
        task = here.client.submit(workload.noop, items=range(size))
        taken = []
        for _ in range(LOOKS):
            began = time.monotonic()
            demand("items are in the task", here.client.get(task.id).total, size)
            taken.append(time.monotonic() - began)
    yield place.figure(f"progress of a task of {size:,} items", statistics.median(taken) * 1e3, "ms")


def after_a_drain(place: Place) -> Iterator[Figure]:
    """PostgreSQL: what a full drain leaves behind, and what it costs the next task before and after VACUUM."""
    if place.store != "PostgreSQL":
        return
    size, small = place.items(DRAINED), place.items(PROBE)
    with place.installation() as here, here.warm_workers(1):
        fresh = probe(here, small)
        here.merged(size)
        dead, live = rows(here.url)
        before = probe(here, small)
        with psycopg.connect(here.url, autocommit=True) as connection:
            connection.execute("VACUUM")
        after = probe(here, small)
    drained = size + REPEATS * small + FEWEST
    yield place.figure(f"dead rows after {drained:,} items", dead, "rows")
    yield place.figure(f"live rows after {drained:,} items", live, "rows")
    yield place.figure("cost per item, fresh", fresh * 1e6, "µs")
    yield place.figure("cost per item after a drain, no VACUUM", before * 1e6, "µs")
    yield place.figure("cost per item after VACUUM", after * 1e6, "µs")


def probe(here: Installation, size: int = PROBE) -> float:
    """Seconds per item of a task of 10 000 items, the median of three."""
    return statistics.median(here.merged(size).seconds / size for _ in range(REPEATS))


def rows(url: str) -> tuple[int, int]:
    """Dead and live rows of all tables, as PostgreSQL's statistics have them a moment later."""
    time.sleep(1.5)
    with psycopg.connect(url) as connection:
        row = connection.execute(DEAD).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)
