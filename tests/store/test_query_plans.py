"""Frequent queries use the index made for them, even when there is a lot to skip."""

import contextlib
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import TaskOrder
from fanfold.store.items.find_work import TOP, Ready, Served
from fanfold.store.rows.tasks import Filter
from fanfold.store.store import Transaction
from tests.databases import Databases
from tests.installation import BEGINNING, HandClock, Installation

ITEMS = 20_000


def work(_work: object, *_more: object) -> None:
    """A handler."""


@pytest.fixture(scope="module")
def crowd(databases: Databases, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """A task of 20 000 items of which 9 in 10 are done, beside paused ones as large and thousands of finished ones."""
    with databases.fresh() as url:
        installation = Installation(url, tmp_path_factory.mktemp("data"), HandClock())
        book = Pipeline("book")
        book.each(name="pages")(work)
        book.merge(name="bind")(work)
        installation.know(book)
        tasks = [installation.client.submit(book, items=range(ITEMS)) for _ in range(4)]
        for task in tasks[1:]:
            installation.client.pause(task.id)
        installation.sql(MANY_FINISHED)
        # Along the table of moves: nine in ten are claimed and finished, one in a thousand backs off.
        installation.sql("UPDATE items SET state = 'running', worker = 'w', lease = 1 WHERE seq % 10 <> 0")
        installation.sql(f"UPDATE items SET state = 'done', worker = NULL, finished_at = {NOW} WHERE seq % 10 <> 0")
        installation.sql("UPDATE items SET state = 'running', worker = 'w', lease = 1 WHERE seq % 1000 = 0")
        installation.sql(
            f"UPDATE items SET state = 'retrying', worker = NULL, available_at = {NOW} WHERE seq % 1000 = 0"
        )
        driver = installation.store.database.engine.raw_connection()
        if installation.store.database.dialect.name == "postgresql":
            driver.rollback()
            driver.driver_connection.autocommit = True  # type: ignore[union-attr]
            driver.cursor().execute("VACUUM ANALYZE")
            driver.driver_connection.autocommit = False  # type: ignore[union-attr]
        driver.close()
        yield installation
        installation.store.close()


NOW = "(SELECT created_at FROM tasks WHERE number = 1)"
MANY_FINISHED = (
    "INSERT INTO tasks (id, pipeline, title, state, stage, plan, owner, priority, created_at, updated_at, finished_at)"
    f" SELECT 'old-' || seq, 'book', '', 'completed', 'bind', '{{}}', '', 0, {NOW}, {NOW}, {NOW}"
    " FROM items WHERE task = 1 AND seq <= 5000"
)


class Undone(Exception):
    """Ends a transaction without a trace."""


def plan(crowd: Installation, act: Callable[[Transaction], Any]) -> str:
    """How the database would answer every statement that ``act`` sends, as one text; nothing is changed."""
    texts: list[str] = []
    sent: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_rest: Any) -> None:
        sent.append((statement, parameters))

    engine = crowd.store.database.engine
    explain = "EXPLAIN QUERY PLAN " if engine.dialect.name == "sqlite" else "EXPLAIN "
    sa.event.listen(engine, "before_cursor_execute", note)
    with contextlib.suppress(Undone), crowd.store.write() as tx:
        act(tx)
        sa.event.remove(engine, "before_cursor_execute", note)
        for statement, parameters in sent:
            if not statement.startswith("BEGIN"):
                rows = tx.connection.exec_driver_sql(explain + statement, parameters)
                texts += [" ".join(str(part) for part in row) for row in rows]
        raise Undone
    return "\n".join(texts)


LARGE = Ready(1, "book", "pages", 0)
SERVED = Served([("book", "pages"), ("book", "bind")])
EVERYWHERE = dict.fromkeys(SERVED.pairs, TOP)


def no_full_scan(text: str) -> bool:
    """Whether all items are never read from one end to the other; a partial index may be."""
    partial = "items_running|items_timed|items_open"
    return not re.search(rf"Seq Scan on items|SCAN (items|candidate)(?! USING (COVERING )?INDEX ({partial}))", text)


# SQLite's items_progress ends with the row's id, so it serves a claim as well.
@pytest.mark.parametrize(
    ("act", "sqlite", "postgresql"),
    [
        (lambda tx: tx.claiming.claim(LARGE, "w", 10), "items_progress", "items_open"),
        (lambda tx: tx.claiming.claim(LARGE, "w", 10, cursor=15_000), "items_progress", "items_open"),
        (lambda tx: tx.claiming.claim(LARGE, "w", 10, timed=True), "items_(timed|progress)", "items_timed"),
        (lambda tx: tx.claiming.claim(LARGE, "w", 10, suspects=False), "items_progress", "items_open"),
        (lambda tx: tx.claiming.claim(LARGE, "w", 10, suspects=True), "items_progress", "items_open"),
        (lambda tx: tx.tasks.find(Filter(text="t-")), "SEARCH task_tags USING INDEX task_tags_task", "task_tags"),
        (lambda tx: tx.items.is_open(1, "pages"), "items_progress", "items_open"),
        (lambda tx: tx.looking.walk(SERVED, EVERYWHERE, 200), "items_progress", "items_open"),
        (lambda tx: tx.looking.walk(SERVED, EVERYWHERE, 200), "COVERING INDEX tasks_serving", "tasks_serving"),
        (lambda tx: tx.looking.due(SERVED, 1_000), "items_timed", "items_timed"),
        (lambda tx: tx.looking.news(SERVED, 100, [1, 2], 200), "PRIMARY KEY", "pk_tasks"),
        (lambda tx: tx.looking.seconds_to_next(), "items_timed", "items_timed"),
        (lambda tx: tx.counting.counts([1]), "COVERING INDEX items_progress", "Index Only Scan using items_order"),
        (lambda tx: tx.reading.results(1, "pages", 10_000), "items_order", "items_order"),
        (lambda tx: tx.recovery.reclaim_dead(15, 3), "items_running", "items_running"),
        (lambda tx: tx.recovery.reclaim_hung(15, 3), "items_running", "items_running"),
        (lambda tx: tx.recovery.release_idle(15), "items_running", "items_running"),
        (lambda tx: tx.recovery.unclosed(500), "items_progress", "items_open"),
        (lambda tx: tx.workers.held("w"), "items_running", "items_running"),
        (lambda tx: tx.reading.ids(1, "pages", ["a"]), "items_", "items_"),
    ],
    ids=[
        "claim", "claim behind a cursor", "claim of timed items", "claim of others", "claim of suspects", "text",
        "probe", "walk", "walk by task", "due", "news", "next due",
        "progress", "results", "dead", "hung", "idle", "unclosed", "held", "ids",
    ],
)  # fmt: skip
def test_a_hot_question_uses_its_index(
    crowd: Installation, act: Callable[[Transaction], Any], sqlite: str, postgresql: str
) -> None:
    found = plan(crowd, act)
    assert re.search({"sqlite": sqlite, "postgresql": postgresql}[crowd.store.database.dialect.name], found), found
    assert no_full_scan(found), found


def test_settling_finds_its_rows_by_their_ids(crowd: Installation) -> None:
    def settle(tx: Transaction) -> None:
        tx.settling.finish([{"id": 10, "lease": 1}, {"id": 20, "lease": 1}])

    found = plan(crowd, settle)
    assert no_full_scan(found), found


def find(wanted: Filter, tx: Transaction) -> None:
    """List tasks."""
    tx.tasks.find(wanted)


@pytest.mark.parametrize(
    ("order", "sqlite", "postgresql"),
    [
        (TaskOrder.NEWEST, "(INTEGER )?PRIMARY KEY|SCAN tasks$", "pk_tasks"),
        (TaskOrder.OLDEST, "(INTEGER )?PRIMARY KEY|SCAN tasks$", "pk_tasks"),
        (TaskOrder.UPDATED, "tasks_updated", "tasks_updated"),
    ],
)
def test_each_order_of_the_list_is_read_from_an_index(
    crowd: Installation, order: TaskOrder, sqlite: str, postgresql: str
) -> None:
    for number, updated_at in ((None, None), (2_000, BEGINNING)):
        # Of no rows: those of this crowd have no plan that could be read.
        wanted = Filter(after=number, after_updated_at=updated_at, order=order, limit=0)
        found = plan(crowd, partial(find, wanted))
        uses = {"sqlite": sqlite, "postgresql": postgresql}[crowd.store.database.dialect.name]
        assert re.search(uses, found, re.MULTILINE), found
        # Only the few tags of the page are sorted.
        assert not re.search("Sort Key: (?!tag)", found), found
        assert "TEMP B-TREE" not in found.split("task_tags")[0], found


def test_recent_failures_are_read_in_order_and_no_other_list_takes_their_index(crowd: Installation) -> None:
    """Without statistics, SQLite would take the new index for any query by state, and sort all tasks of that state."""
    recent = plan(crowd, partial(find, RECENT))
    assert "tasks_state_updated" in recent, recent
    assert "TEMP B-TREE" not in recent.split("task_tags")[0], recent
    assert not re.search("Sort Key: (?!tag)", recent), recent
    for order in (TaskOrder.NEWEST, TaskOrder.OLDEST):
        found = plan(crowd, partial(find, Filter(states=("failed",), order=order, limit=0)))
        assert "tasks_state_updated" not in found, found
        assert "TEMP B-TREE" not in found.split("task_tags")[0], found


@pytest.mark.parametrize("order", list(TaskOrder))
def test_a_list_of_several_states_reads_a_page_of_each(crowd: Installation, order: TaskOrder) -> None:
    found = plan(crowd, partial(find, Filter(states=("failed", "completed"), order=order, limit=0)))
    index = "tasks_state_updated" if order is TaskOrder.UPDATED else "tasks_state|pk_tasks"
    assert len(re.findall(index, found)) >= 2, found
    # Only the page is sorted.
    assert "TEMP B-TREE" not in found.partition("COMPOUND QUERY")[2].split("USE TEMP")[0], found


RECENT = Filter(states=("failed",), order=TaskOrder.UPDATED, limit=0)
QUERIES: tuple[tuple[str, Callable[[Transaction], Any]], ...] = (
    ("by id", lambda tx: tx.tasks.by_ids(["t-none"])),
    ("by key", lambda tx: tx.tasks.by_key("nobody", "none")),
    ("by state, the running ones", lambda tx: tx.tasks.find(Filter(states=("active",), limit=0))),
    ("recent failures", lambda tx: tx.tasks.find(Filter(states=("failed",), limit=0))),
    ("failures in the order of their change", lambda tx: tx.tasks.find(RECENT)),
    ("in two states", lambda tx: tx.tasks.find(Filter(states=("failed", "partial"), limit=0))),
    ("by owner", lambda tx: tx.tasks.find(Filter(owner="nobody", limit=0))),
    ("by type", lambda tx: tx.tasks.find(Filter(pipeline="none", limit=0))),
    ("by tag", lambda tx: tx.tasks.find(Filter(tag="none", limit=0))),
    ("by parent", lambda tx: tx.tasks.find(Filter(parent=7, limit=0))),
    ("a page further on", lambda tx: tx.tasks.find(Filter(after=2_000, limit=0))),
    ("finished long ago", lambda tx: tx.tasks.finished_before(30, 0)),
    ("starting later", lambda tx: tx.schedules.starting(10)),
    ("subtasks out of step", lambda tx: tx.subtasks.out_of_step(10)),
    ("subtasks of a task", lambda tx: tx.subtasks.children(7, 10)),
    ("the end of a subtask", lambda tx: tx.subtasks.ended(7, 1)),
)


def test_no_query_about_tasks_reads_the_whole_table(crowd: Installation) -> None:
    """Every field that people search by has an index; only text is searched row by row, page by page."""
    for name, act in QUERIES:
        found = plan(crowd, act)
        whole = re.search(r"Seq Scan on tasks\b|^.*SCAN tasks(?! USING)(?!.*PRIMARY KEY)", found, re.MULTILINE)
        assert whole is None, f"{name}:\n{found}"
        assert no_full_scan(found), f"{name}:\n{found}"
