"""A handler that damages its child process, or ends oddly in it, affects only itself."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.processes.children import Children
from fanfold.settings import Settings
from tests.engine import unruly
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.engine.test_isolation import has_ended, running_child
from tests.waiting import eventually

pytestmark = pytest.mark.one_database
KEPT = ("print", "threads", "folder", "signals")
"""After these the child is put right; after the others it is replaced."""


@pytest.mark.parametrize("how", [*KEPT, "streams", "limits"])
def test_the_next_handler_finds_its_child_as_the_first_one_did(sqlite_live: Live, how: str) -> None:
    live = sqlite_live
    live.know(unruly.unruly)
    found = []
    with live.working():
        for what in ("look", how, "look"):
            task = live.client.submit(unruly.unruly, items=[what])
            live.until(task, "completed", 90)
            found += live.client.result(task.id)
    before, said, after = found
    assert said == how
    assert (before.pop("pid") == after.pop("pid")) == (how in KEPT)
    assert after == before


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("interrupt", "KeyboardInterrupt"),
        ("leave", "SystemExit"),
        ("stop", "StopIteration"),
        ("generator", "GeneratorExit"),
        ("surrogates", "ValueError"),
        ("large", None),
    ],
)
def test_an_odd_end_of_an_isolated_handler_fails_its_item_alone(live: Live, how: str, code: str | None) -> None:
    live.know(unruly.cursed)
    task = live.client.submit(unruly.cursed, items=[how, "none", "megabytes"])
    with live.working():
        live.until(task, "partial", 90)
    assert live.states(task) == "failed done done"
    item = live.client.items(task.id)[0]
    assert (item.crashes, item.attempts) == (0, 1)
    assert code is None or item.error_code == code


def test_a_task_of_the_loop_that_ends_it_fails_its_item_alone(live: Live) -> None:
    task = live.client.submit(live.know(unruly.interrupted_inside))
    with live.working():
        live.until(task, "failed", 90)
    [item] = live.client.items(task.id)
    assert (item.error_code, item.crashes) == ("KeyboardInterrupt", 0)


@pytest.mark.parametrize("how", ["interrupt", "leave", "stop", "stop later", "generator"])
def test_an_error_that_ends_processes_does_not_leave_the_child(sqlite_live: Live, how: str) -> None:
    live = sqlite_live

    async def handler(item: Any) -> Any:
        try:
            return await item.in_child(unruly.end, how)
        except Exception as error:
            return str(error)

    task = live.client.submit(live.know(batch(handler=handler)), items=[1])
    with live.working():
        live.until(task, "completed", 90)
    assert "odd" in live.client.result(task.id)[0]


def test_arguments_that_cannot_be_read_in_the_child_fail_their_item_at_once(sqlite_live: Live) -> None:
    live = sqlite_live

    async def handler(item: Any) -> Any:
        value = {"unreadable": unruly.Unreadable(), "unpicklable": unruly.numbers()}.get(item.input, 5)
        return (await item.in_child(unruly.take, value))[0]

    pipeline = live.know(batch(handler=handler, retry=ff.Retry(limit=0)))
    task = live.client.submit(pipeline, items=["unreadable", "unpicklable", "fine"])
    with live.working(children=1):
        live.until(task, "partial", 90)
    assert live.states(task) == "failed failed done"
    unreadable, unpicklable, _ = live.client.items(task.id)
    assert (unreadable.error_code, unreadable.attempts) == ("not_isolated", 1)
    assert "AttributeError: this class is not known here" in str(unreadable.error_message)
    assert "generator" in str(unpicklable.error_message)


def test_a_child_survives_what_cannot_travel() -> None:
    children = Children(Settings())
    child = children.take()
    _, pid = child.run(unruly.take, (1,), {})
    for function, arguments in (
        (unruly.take, (unruly.numbers(),)),
        (unruly.take, (unruly.Unreadable(),)),
        (unruly.give_unreadable, ()),
    ):
        with pytest.raises(Exception, match=r"generator|not known here"):
            child.run(function, arguments, {})
    assert child.run(unruly.take, (1,), {}) == ["int", pid]
    children.close()


PARENT = """
import sys, threading
from fanfold.engine.worker.processes.children import Children
from fanfold.settings import Settings
from tests.engine import forking, unruly

if __name__ == "__main__":
    children = Children(Settings())
    idle, busy, family = children.take(), children.take(), children.take()
    _, pid = idle.run(unruly.take, (1,), {})
    open(sys.argv[1], "w").write(str(pid))
    threading.Thread(target=busy.run, args=(unruly.note_and_wait, (sys.argv[2],), {})).start()
    family.run(forking.wait_for_session, (sys.argv[3],), {})
"""


def test_children_end_by_themselves_when_their_parent_is_killed(tmp_path: Path) -> None:
    script, notes = tmp_path / "parent.py", [tmp_path / name for name in ("idle", "busy", "session")]
    script.write_text(PARENT)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    parent = subprocess.Popen([sys.executable, str(script), *map(str, notes)], env=environment)
    family = [running_child(note) for note in notes]
    assert {one.ppid() for one in family[:2]} == {parent.pid}
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    eventually(lambda: all(map(has_ended, family)))


def test_a_child_without_files_costs_only_its_item(sqlite_live: Live) -> None:
    live = sqlite_live
    live.know(unruly.cursed)
    task = live.client.submit(unruly.cursed, items=["files", "none", "none"])
    with live.working():
        live.until(task, "partial", 90)
    assert live.states(task) == "failed done done"
