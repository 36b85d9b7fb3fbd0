"""A handler that ignores cancel is ended in a child process; elsewhere people are told that it runs on."""

import os
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.worker.attempt import attempts, unstopped
from tests.engine import isolated
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.waiting import eventually


@pytest.fixture(autouse=True)
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler counts as deaf soon."""
    monkeypatch.setattr(unstopped, "DEAF_SECONDS", 0.3)
    monkeypatch.setattr(attempts, "DEAF_SECONDS", 0.3)


def said_of(live: Live, task: ff.Task) -> str:
    return str(live.client.get(task.id).still_running or "")


def told(live: Live, task: ff.Task, worker: ff.Worker) -> None:
    """Wait until it is said, then check the sentence."""
    eventually(lambda: said_of(live, task))
    assert said_of(live, task) == f"1 handler is still running in {worker.id} and cannot be stopped"
    assert live.client.get(task.id).state == "cancelled"


def test_a_thread_that_runs_on_is_shown_until_it_ends(live: Live) -> None:
    switch = Switch()
    task = live.client.submit(live.know(batch(handler=lambda item: switch.wait())), items=["a"])
    with live.working() as worker:
        switch.check()
        live.client.cancel(task.id)
        told(live, task, worker)
        switch.free.set()
        eventually(lambda: not said_of(live, task))


@pytest.mark.one_database
def test_a_coroutine_that_runs_on_is_shown_until_it_ends(live: Live) -> None:
    switch = Switch()

    async def handler(item: Any) -> None:
        await switch.wait_deaf()

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working() as worker:
        switch.check()
        live.client.cancel(task.id)
        told(live, task, worker)
        switch.free.set()
        eventually(lambda: not said_of(live, task))


@pytest.mark.one_database
def test_a_handler_that_blocks_the_event_loop_is_shown_too(live: Live) -> None:
    switch = Switch()

    async def handler(item: Any) -> None:
        switch.wait()

    task = live.client.submit(live.know(batch(handler=handler)), items=["a"])
    with live.working() as worker:
        switch.check()
        live.client.cancel(task.id)
        told(live, task, worker)
        switch.free.set()
        eventually(lambda: not said_of(live, task))


@pytest.mark.one_database
def test_nothing_is_said_of_a_handler_whose_worker_is_gone(live: Live) -> None:
    switch = Switch()
    task = live.client.submit(live.know(batch(handler=lambda item: switch.wait())), items=["a"])
    with live.working() as worker:
        switch.check()
        live.client.cancel(task.id)
        told(live, task, worker)
        live.sql("DELETE FROM workers")
        assert said_of(live, task) == ""
        switch.free.set()


def test_a_function_that_ignores_cancel_is_ended_where_the_setting_moves_it_to_a_child(
    database_url: str, tmp_path: Path
) -> None:
    live = Live(database_url, tmp_path / "data", isolate="functions")
    try:
        mark = tmp_path / "pid"
        task = live.client.submit(live.know(isolated.stubborn), items=[str(mark)])
        with live.working():
            eventually(lambda: mark.exists() and mark.read_text())
            pid = int(mark.read_text())
            assert pid != os.getpid()
            live.client.cancel(task.id)
            eventually(lambda: not Path(f"/proc/{pid}").exists())
            assert said_of(live, task) == ""
    finally:
        live.store.close()


def test_an_unknown_value_of_the_setting_is_refused() -> None:
    from fanfold.settings import load

    with pytest.raises(ff.BadInput, match="Setting isolate is 'all'; use functions, or leave it empty"):
        load({"FANFOLD_ISOLATE": "all"})
