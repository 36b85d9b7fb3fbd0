"""Times every query about tasks beside a million of them, and checks that none reads the whole table."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

import fanfold as ff
from benchmarks.scale.workload import counting
from fanfold.model.task import TaskOrder
from fanfold.store.rows.tasks import Filter
from fanfold.store.store import Store, Transaction

ROUNDS = 15
PAGE = 50
BY_TEXT = "with a text in the title"
"""A query without an index of its own: it reads the newest tasks first, until a page is full."""
COUNTED = "counted by state"
"""Counts all tasks, so it reads all of an index."""
OWNERS = 1_000
MANY = """
    WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < :many)
    INSERT INTO tasks (id, pipeline, title, state, stage, plan, owner, priority, created_at, updated_at, finished_at)
    SELECT 't-' || more.n, CASE WHEN more.n % 10 = 0 THEN 'rare' ELSE pipeline END, 'Report ' || more.n,
        CASE WHEN more.n % 50 = 0 THEN 'failed' ELSE 'completed' END, stage, plan, 'owner-' || (more.n % :owners), 0,
        created_at, updated_at, updated_at
    FROM more, tasks WHERE tasks.number = 1"""
TAGS = "INSERT INTO task_tags (task, tag) SELECT number, 'tag-' || (number % 500) FROM tasks WHERE number % 5 = 0"
SOME = {"limit": PAGE}
QUERIES: dict[str, Callable[[Transaction], Any]] = {
    "newest": lambda tx: tx.tasks.find(Filter(**SOME)),
    "last changed": lambda tx: tx.tasks.find(Filter(order=TaskOrder.UPDATED, **SOME)),
    "a page in the middle": lambda tx: tx.tasks.find(Filter(after=500_000, **SOME)),
    "by id": lambda tx: tx.tasks.by_ids(["t-77777"]),
    "by key": lambda tx: tx.tasks.by_key("owner-7", "none"),
    "failed": lambda tx: tx.tasks.find(Filter(states=("failed",), **SOME)),
    "active": lambda tx: tx.tasks.find(Filter(states=("active",), **SOME)),
    "of an owner": lambda tx: tx.tasks.find(Filter(owner="owner-7", **SOME)),
    "failed of an owner": lambda tx: tx.tasks.find(Filter(owner="owner-50", states=("failed",), **SOME)),
    "of a type": lambda tx: tx.tasks.find(Filter(pipeline="rare", **SOME)),
    "of an unknown type": lambda tx: tx.tasks.find(Filter(pipeline="none", **SOME)),
    "with a tag": lambda tx: tx.tasks.find(Filter(tag="tag-5", **SOME)),
    "failed of a type, with a tag": lambda tx: tx.tasks.find(
        Filter(pipeline="rare", tag="tag-50", states=("failed",), **SOME)
    ),
    "recent failures": lambda tx: tx.tasks.find(Filter(states=("failed",), order=TaskOrder.UPDATED, **SOME)),
    "oldest": lambda tx: tx.tasks.find(Filter(order=TaskOrder.OLDEST, **SOME)),
    "that need you": lambda tx: tx.tasks.find(Filter(needs_you=True, **SOME)),
    "subtasks of a task": lambda tx: tx.tasks.find(Filter(parent=77, **SOME)),
    COUNTED: lambda tx: tx.tasks.count_by_state(),
    "counted by state, of an owner": lambda tx: tx.tasks.count_by_state("owner-7"),
    "counted, that need you": lambda tx: tx.tasks.count_needing(),
    BY_TEXT: lambda tx: tx.tasks.find(Filter(text="port 99", **SOME)),
    "finished long ago": lambda tx: tx.tasks.finished_before(30, PAGE),
    "starting later": lambda tx: tx.schedules.starting(10),
    "subtasks out of step": lambda tx: tx.subtasks.out_of_step(10),
}


def fill(store: Store, many: int) -> None:
    """Write a million finished tasks directly, in slices, and let the database count them."""
    ff.Client(store=store, pipelines=[counting]).submit(counting, items=[1])
    with store.database.write() as connection:
        connection.execute(sa.text(MANY), {"many": many, "owners": OWNERS})
        connection.execute(sa.text(TAGS))
    with store.database.write() as connection:
        connection.execute(sa.text("ANALYZE"))


def timed(store: Store) -> dict[str, tuple[float, float]]:
    """Median and slowest milliseconds of each query; RuntimeError if one reads all tasks."""
    found = {}
    for name, act in QUERIES.items():
        if name not in (BY_TEXT, COUNTED):
            _check_plan(store, name, act)
        taken = []
        for _ in range(ROUNDS):
            began = time.perf_counter()
            with store.read() as tx:
                act(tx)
            taken.append((time.perf_counter() - began) * 1e3)
        found[name] = (statistics.median(taken), max(taken))
    return found


def _check_plan(store: Store, name: str, act: Callable[[Transaction], Any]) -> None:
    """Explain each statement of a query."""
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        sent.append((statement, parameters))

    engine = store.database.engine
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    sa.event.listen(engine, "before_cursor_execute", note)
    try:
        with store.read() as tx:
            act(tx)
    finally:
        sa.event.remove(engine, "before_cursor_execute", note)
    with store.read() as tx:
        for statement, parameters in (one for one in sent if one[0].startswith(("SELECT", "WITH"))):
            rows = tx.connection.exec_driver_sql(explain + statement, parameters)
            plan = "\n".join(" ".join(str(part) for part in row) for row in rows)
            if re.search(r"Seq Scan on tasks\b", plan) or re.search(r"SCAN tasks(?! USING)", plan.split("LIMIT")[0]):
                if "ORDER BY tasks.number" in statement and engine.dialect.name == "sqlite":
                    continue  # SQLite's table is in this order, and a page ends the scan.
                raise RuntimeError(f"{name} reads all tasks:\n{plan}")
