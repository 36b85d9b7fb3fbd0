"""An isolated handler can crash, hang and end without affecting anything else."""

import multiprocessing
import os
import sys
import threading
import time
import types
from pathlib import Path
from typing import Any

import psutil
import pytest

import fanfold as ff
from fanfold.engine.worker.beside.heartbeat import Heartbeat
from fanfold.settings import Settings
from tests.engine import isolated
from tests.engine.live import Live
from tests.waiting import eventually

pytestmark = pytest.mark.one_database


def test_an_isolated_handler_runs_elsewhere_and_can_do_what_others_can(live: Live) -> None:
    task = live.client.submit(live.know(isolated.crashing), items=["a", "b"])
    with live.working():
        live.until(task, "completed", 60)
    first, second = live.client.result(task.id)
    assert os.getpid() not in (first["pid"], second["pid"])
    assert first["file"].read_text() == "from a child"
    [item, _] = live.client.items(task.id)
    assert (item.model, item.usage) == ("child", {"tokens": 3})


class ForeignKey(bytes):
    """A key of a process that cannot be pickled."""

    def __reduce__(self) -> Any:
        raise TypeError("Pickling a ForeignKey object is disallowed for security reasons")


def test_a_process_of_a_pool_may_isolate_handlers(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Celery's prefork pool are daemonic, and multiprocessing forbids such processes to have children.

    They also have a key of a class that only Celery's own variant of multiprocessing can send to a child.
    """
    config = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    monkeypatch.setitem(config, "daemon", True)
    monkeypatch.setitem(config, "authkey", ForeignKey(config["authkey"]))
    task = live.client.submit(live.know(isolated.crashing), items=["a"])
    with live.working():
        live.until(task, "completed", 60)
    assert (config["daemon"], type(config["authkey"])) == (True, ForeignKey), "it stays what it was"


@pytest.mark.parametrize(("how", "reason"), [("exit", "exit code 7"), ("kill", "killed by signal SIGKILL")])
def test_a_handler_that_kills_its_process_fails_as_poison_after_three_times(live: Live, how: str, reason: str) -> None:
    task = live.client.submit(live.know(isolated.crashing), items=["a", how, "b"])
    with live.working(concurrency=2):
        live.until(task, "partial", 90)
    assert live.states(task) == "done failed done"
    item = live.client.items(task.id)[1]
    assert (item.crashes, item.failures) == (3, 0)
    assert item.error_message is not None
    assert reason in item.error_message
    assert len(live.sql("SELECT * FROM attempts WHERE outcome = 'lost'")) == 3


def test_a_handler_that_leaves_fails_like_any_other(live: Live) -> None:
    task = live.client.submit(live.know(isolated.crashing), items=["raise"])
    with live.working():
        live.until(task, "failed", 60)
    [item] = live.client.items(task.id)
    assert (item.error_code, item.error_message, item.crashes) == ("SystemExit", "leaving", 0)


def test_an_async_handler_and_a_function_can_be_isolated(live: Live) -> None:
    tasks = [
        live.client.submit(live.know(isolated.lost), items=["a"]),
        live.client.submit(live.know(isolated.isolated_sum), 1, 2),
    ]
    with live.working():
        for task in tasks:
            live.until(task, "completed", 60)
    assert [live.client.result(task.id) for task in tasks] == [["async a"], 3]


def running_child(note: Path) -> psutil.Process:
    return psutil.Process(int(eventually(lambda: note.exists() and note.read_text(), 60) or 0))


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_cancel_kills_the_process(live: Live, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    task = live.client.submit(live.know(isolated.slow), items=[str(note)])
    with live.working():
        child = running_child(note)
        live.client.cancel(task.id)
        eventually(lambda: has_ended(child))
        live.item_is(task, "pending")
    [item] = live.client.items(task.id)
    assert (item.failures, item.crashes) == (0, 0)


TRIES = 8
"""Timed cancels: on a busy machine most may be late, so the minimum shows what the code itself takes."""


def test_cancel_kills_a_process_within_a_second_with_the_default_settings(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cancel comes just after a poll of the worker, so it waits for the whole pause before the next one."""
    looked = threading.Event()
    look = Heartbeat._look

    def noted(pulse: Heartbeat) -> None:
        look(pulse)
        looked.set()

    monkeypatch.setattr(Heartbeat, "_look", noted)
    usual = Settings()
    paces = {name: getattr(usual, name) for name in ("poll_seconds", "look_seconds", "heartbeat_seconds")}
    live = Live(database_url, tmp_path / "data", **paces)
    live.know(isolated.slow)
    took: list[float] = []
    with live.working():
        while len(took) < TRIES and min(took, default=60.0) >= 1.0:
            took.append(_seconds_to_kill(live, tmp_path / f"pid-{len(took)}", looked))
    live.store.close()
    assert min(took) < 1.0, took


def _seconds_to_kill(live: Live, note: Path, looked: threading.Event) -> float:
    """How long the child of a new task lives after the cancel."""
    task = live.client.submit(isolated.slow, items=[str(note)])
    child = running_child(note)
    looked.clear()
    assert looked.wait(60)
    live.client.cancel(task.id)
    cancelled_at = time.monotonic()
    while not has_ended(child):
        assert time.monotonic() - cancelled_at < 60
        time.sleep(0.005)
    return time.monotonic() - cancelled_at


def test_a_stopped_worker_leaves_no_process_behind(live: Live, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    task = live.client.submit(live.know(isolated.slow), items=[str(note)])
    with live.working():
        child = running_child(note)
    eventually(lambda: has_ended(child))
    assert live.states(task) == "pending"


def test_a_timed_out_process_is_killed(live: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setitem(isolated.slow.stages, "wait", replace(isolated.slow.stages["wait"], timeout=8))
    note = tmp_path / "pid"
    task = live.client.submit(live.know(isolated.slow), items=[str(note)])
    with live.working():
        child = running_child(note)
        live.until(task, "failed")
        eventually(lambda: has_ended(child))
    assert live.client.items(task.id)[0].error_code == "timeout"


def test_a_handler_that_the_child_does_not_find_fails_with_that_reason(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("only_in_this_process")
    exec("def convert(item):\n    return 1\n", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    pipeline = ff.Pipeline("hidden")
    handler: Any = module.convert
    pipeline.each(isolate=True, retry=ff.Retry(limit=0))(handler)
    task = live.client.submit(live.know(pipeline), items=["a"])
    with live.working():
        live.until(task, "failed", 60)
    [item] = live.client.items(task.id)
    assert "only_in_this_process" in (item.error_message or "")
    assert item.crashes == 0
