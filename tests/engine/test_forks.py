"""A handler that forks, or leaves processes behind, has one result and affects nothing else."""

import gc
import os
import threading
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest

import fanfold as ff
from fanfold.engine.worker.processes.children import Children
from fanfold.settings import Settings
from tests.engine import forking
from tests.engine.live import Live
from tests.engine.test_isolation import has_ended, running_child
from tests.waiting import eventually

pytestmark = pytest.mark.one_database

PLACES = pytest.mark.parametrize("where", [forking.CHILD, forking.WORKER], ids=["child", "worker"])


def results(live: Live, pipeline: ff.Pipeline, *inputs: Any) -> list[Any]:
    """The outputs of one task after the other, all from the same child where there is one."""
    found = []
    live.know(pipeline)
    with live.working():
        for one in inputs:
            task = live.client.submit(pipeline, items=[one])
            live.until(task, "completed", 90)
            [item] = live.client.items(task.id)
            assert (item.attempts, item.failures, item.crashes) == (1, 0, 0)
            found += live.client.result(task.id)
    return found


@PLACES
@pytest.mark.parametrize("kind", [0, 1], ids=["plain", "async"])
def test_a_forked_copy_ends_with_its_handler_and_never_answers(live: Live, where: Any, kind: int) -> None:
    first, second, third, *rest = results(
        live, where[kind], ["return"], ["raise"], ["exit"], ["plain"], ["plain"], ["plain"]
    )
    assert [first, second, third] == [["parent", 0], ["parent", 1], ["parent", 5]]
    assert [said for said, _ in rest] == ["plain"] * 3


@PLACES
@pytest.mark.parametrize("kind", [2, 3], ids=["plain", "async"])
def test_a_copy_forked_in_a_split_adds_no_items(live: Live, where: Any, kind: int) -> None:
    task = live.client.submit(live.know(where[kind]))
    with live.working():
        live.until(task, "completed", 90)
    assert live.client.result(task.id) == [1, "parent", 3]


@pytest.mark.parametrize("kind", ["each", "split"])
def test_a_forked_copy_keeps_nothing(sqlite_live: Live, kind: str) -> None:
    live = sqlite_live
    if kind == "each":
        task = live.client.submit(live.know(forking.CHILD[0]), items=[["large"]])
    else:
        task = live.client.submit(live.know(forking.large_splits))
    with live.working():
        live.until(task, "completed", 90)
    assert live.client.result(task.id) in ([["parent", 0]], ["parent"])
    assert live.blobs() == []


def test_a_forked_pool_works_in_an_isolated_handler(sqlite_live: Live) -> None:
    live = sqlite_live
    assert results(live, forking.CHILD[0], ["multiprocessing"], ["plain"])[0] == ["parent", [1, 2]]


def test_a_copy_has_connections_of_its_own(live: Live, tmp_path: Path) -> None:
    note = tmp_path / "note"
    task = live.client.submit(live.know(forking.speak), str(note))
    with live.working():
        live.until(task, "completed", 90)
    assert live.client.result(task.id) == [0, {}]
    assert note.read_text() == "1 left"


def test_connections_that_a_copy_leaves_are_not_closed(live: Live) -> None:
    with live.store.read() as tx:
        first: Any = tx.connection.connection.dbapi_connection
    live.store.leave_connections()
    with live.store.read() as tx:
        assert tx.connection.connection.dbapi_connection is not first
    assert first.execute("SELECT 1").fetchone()[0] == 1
    first.close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # Others were left open as well, on purpose.
        gc.collect()


def test_only_the_child_itself_holds_its_pipe() -> None:
    children = Children(Settings())
    here, copy, program = children.take().run(forking.sockets, (), {})
    children.close()
    assert (copy, program) == (here - 1, here - 1)


@pytest.mark.parametrize("how", ["stay", "inherit", "session", "orphan"])
def test_what_an_isolated_handler_leaves_running_ends_with_its_item(
    sqlite_live: Live, tmp_path: Path, how: str
) -> None:
    live = sqlite_live
    note = tmp_path / "pid"
    pipeline = live.know(forking.CHILD[0])
    with live.working():
        task = live.client.submit(pipeline, items=[[how, str(note)]])
        live.until(task, "completed", 90)
        pid = int(note.read_text())
        eventually(lambda: not psutil.pid_exists(pid) or has_ended(psutil.Process(pid)))
        after = live.client.submit(pipeline, items=[["plain"]])
        live.until(after, "completed", 90)
    [item] = live.client.items(task.id)
    assert (live.client.result(task.id), item.attempts, item.crashes) == (["parent"], 1, 0)


def test_what_left_the_group_ends_when_a_child_is_killed(tmp_path: Path) -> None:
    children, note = Children(Settings()), tmp_path / "pid"
    child = children.take()
    assert child.run(forking.run, ("plain",), {})[0] == "plain"

    def ask() -> None:
        with pytest.raises(ff.ChildDied):
            child.run(forking.wait_for_session, (str(note),), {})

    asking = threading.Thread(target=ask)
    asking.start()
    started = running_child(note)
    children.discard(child)
    asking.join(60)
    eventually(lambda: has_ended(started))
    children.close()


def test_a_child_that_left_nothing_is_used_again() -> None:
    children = Children(Settings())
    pids = set()
    for _ in range(3):
        child = children.take()
        pids.add(child.run(forking.run, ("plain",), {})[1])
        children.give_back(child)
    children.close()
    assert len(pids) == 1
    assert os.getpid() not in pids
