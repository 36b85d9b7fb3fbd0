"""A child process that uses too much memory, or must end, is ended at once and affects nothing else."""

import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

import fanfold as ff
from fanfold.engine.worker.processes import memory_use
from fanfold.engine.worker.processes.children import Child, Children
from fanfold.settings import Settings
from tests.engine import glutton
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.engine.test_isolation import has_ended
from tests.waiting import eventually

LITTLE = 250 * glutton.MEGABYTE


def little(database_url: str, tmp_path: Path) -> Live:
    return Live(database_url, tmp_path / "data", child_memory_bytes=LITTLE)


@pytest.mark.one_database
def test_an_item_that_takes_too_much_memory_fails_alone_and_at_once(database_url: str, tmp_path: Path) -> None:
    live = little(database_url, tmp_path)
    task = live.client.submit(live.know(glutton.gluttons), items=[1, 1_000, 2])
    with live.working(concurrency=2):
        live.until(task, "partial", 90)
    assert live.states(task) == "done failed done"
    item = live.client.items(task.id)[1]
    assert (item.error_code, item.attempts, item.crashes) == ("memory", 1, 0)
    assert "250 MB" in str(item.error_message)
    assert "FANFOLD_CHILD_MEMORY_BYTES=" in str(item.error_message)
    live.store.close()


@pytest.mark.one_database
def test_a_part_of_a_handler_that_takes_too_much_memory_fails_its_item_alone(database_url: str, tmp_path: Path) -> None:
    live = little(database_url, tmp_path)

    async def handler(item: Any) -> Any:
        return await item.in_child(glutton.take, item.input)

    task = live.client.submit(live.know(batch(handler=handler, retry=ff.Retry(limit=3))), items=[1, 1_000, 2, 3])
    with live.working(children=2):
        live.until(task, "partial", 90)
    assert live.states(task) == "done failed done done"
    assert (live.client.items(task.id)[1].error_code, live.client.items(task.id)[1].attempts) == ("memory", 1)
    live.store.close()


@pytest.mark.one_database
def test_a_handler_may_catch_the_end_of_a_child_for_want_of_memory(database_url: str, tmp_path: Path) -> None:
    live = little(database_url, tmp_path)

    async def handler(item: Any) -> Any:
        try:
            return await item.in_child(glutton.take, 1_000)
        except ff.ChildDied as death:
            return death.code

    task = live.client.submit(live.know(batch(handler=handler)), items=[1])
    with live.working():
        live.until(task, "completed", 90)
    assert live.client.result(task.id) == ["memory"]
    live.store.close()


def family(note: Path) -> list[psutil.Process]:
    said = eventually(lambda: note.exists() and len(note.read_text().split()) == 2 and note.read_text())
    return [psutil.Process(int(pid)) for pid in str(said).split()]


@pytest.mark.one_database
@pytest.mark.parametrize("how", ["cancel", "delete", "time limit", "stop"])
def test_a_child_ends_at_once_with_what_it_has_started(
    live: Live, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "time limit":
        quick = replace(glutton.families.stages["start"], timeout=5.0)
        monkeypatch.setitem(glutton.families.stages, "start", quick)
    note = tmp_path / "pids"
    task = live.client.submit(live.know(glutton.families), items=[str(note)])
    with live.working() as worker:
        both = family(note)
        if how == "cancel":
            live.client.cancel(task.id)
        elif how == "delete":
            live.client.cancel(task.id)
            live.client.delete(task.id)
        elif how == "stop":
            worker.stop()
            worker.stop()
        eventually(lambda: all(map(has_ended, both)), 30)


def death_of(child: Child, kill: Callable[[Child], None]) -> BaseException:
    """What the thread that waits for a child's answer is told when somebody kills it; that thread also closes the pipe."""
    begun, problems, closers = threading.Event(), [], []
    pipe: Any = child._pipe
    close = pipe.close

    def noted_close() -> None:
        closers.append(threading.current_thread())
        close()

    pipe.close = noted_close

    def ask() -> None:
        try:
            child.run(time.sleep, (3_600,), {}, begun.set)
        except BaseException as problem:
            problems.append(problem)

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(60)
    kill(child)
    asking.join(30)
    [problem] = problems
    assert closers == [asking]
    return problem


def test_a_killed_child_is_told_of_by_whoever_waits_for_it() -> None:
    children = Children(Settings())
    for _ in range(5):
        problem = death_of(children.take(), children.discard)
        assert isinstance(problem, ff.ChildDied), repr(problem)
        assert "SIGKILL" in str(problem)
    children.close()


def test_a_killed_child_that_waits_for_work_refuses_it() -> None:
    children = Children(Settings())
    child = children.take()
    child.kill()
    with pytest.raises(ff.ChildDied):
        child.run(glutton.take, (1,), {})
    children.give_back(child)
    assert children.take() is not child
    children.close()


def test_the_death_of_a_child_is_noticed_though_others_hold_its_pipe(tmp_path: Path) -> None:
    children, note = Children(Settings()), tmp_path / "pid"
    with pytest.raises(ff.ChildDied, match="exit code 3"):
        children.take().run(glutton.leave_the_pipe_open, (str(note),), {})
    os.kill(int(note.read_text()), signal.SIGKILL)
    children.close()


def test_the_memory_of_a_machine_is_that_of_its_control_group(tmp_path: Path) -> None:
    v1, v2, groups = tmp_path / "v1", tmp_path / "v2", tmp_path / "cgroup"
    (v2 / "a" / "b").mkdir(parents=True)
    (v1 / "c").mkdir(parents=True)
    (v2 / "a" / "memory.max").write_text("5000\n")
    (v2 / "a" / "b" / "memory.max").write_text("max\n")
    (v1 / "c" / "memory.limit_in_bytes").write_text("3000\n")
    (v1 / "memory.limit_in_bytes").write_text("9000\n")
    groups.write_text("4:memory:/c\n3:cpu:/c\n0::/a/b\n")
    assert sorted(memory_use.group_limits(groups, v2, v1)) == [3000, 5000, 9000]
    groups.write_text("4:memory:/not/here\n")
    assert memory_use.group_limits(groups, v2, v1) == [9000]
    assert memory_use.group_limits(tmp_path / "none", v2, v1) == []


@pytest.mark.parametrize(
    ("each", "machine", "limit"),
    [(0, 24_000_000_000, 6_000_000_000), (0, 2_000_000_000, 1_000_000_000), (0, 500_000_000, 500_000_000), (7, 10, 7)],
)
def test_a_child_may_take_a_quarter_of_the_memory_or_what_was_set(each: int, machine: int, limit: int) -> None:
    assert memory_use.Allowance(each, machine).each == limit


def test_the_largest_child_ends_when_all_together_take_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {1: 300, 2: 400, 3: 100}
    monkeypatch.setattr(memory_use, "resident_bytes", taken.__getitem__)
    allowance = memory_use.Allowance(500, 1_000)
    assert [allowance.note(pid) for pid in (1, 3)] == [None, None]
    said = allowance.note(2)
    assert "together" in str(said)
    assert allowance.note(1) is None
    allowance.forget(2)
    assert allowance.note(1) is None
