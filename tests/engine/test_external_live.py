"""An external job is started once when commands, shutdowns and ticks come between the call and its id."""

import asyncio
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.store.store import Store
from tests.engine import isolated
from tests.engine.jobs import JobService
from tests.engine.live import Live, Switch
from tests.waiting import eventually

HOWS = ("pause", "cancel", "stop", "stop twice")


def photo(service: JobService, switch: Switch | None, *, colour: str = "def", find: bool = True) -> ff.Pipeline:
    """One external job; the call that starts it stays in the service until the switch is turned."""
    made = ff.Pipeline("photo")

    def start(key: str) -> str:
        job = service.start(key)
        if switch is not None:
            switch.wait()
        return job

    async def start_in_loop(key: str) -> str:
        job = service.start(key)
        assert switch is not None
        switch.entered.set()
        while not switch.free.is_set():
            await asyncio.sleep(0.01)
        return job

    @made.step(retry=ff.Retry(limit=3, first=0.05), timeout=60)
    async def render(task: ff.TaskWork) -> Any:
        return await task.external(
            start=start if colour == "def" else start_in_loop,
            look=service.look,
            find=service.find if find else None,
            cancel=service.cancel,
        )

    return made


def interrupt(live: Live, task: ff.Task, worker: ff.Worker, how: str) -> None:
    if how in ("pause", "cancel"):
        getattr(live.client, how)(task.id)
    for _ in range({"stop": 1, "stop twice": 2}.get(how, 0)):
        worker.stop()


def is_kept(live: Live, task: ff.Task) -> bool:
    return [job.state for job in live.client.external_jobs(task.id)] == ["started"]


@pytest.mark.parametrize("colour", ["def", "async def"])
@pytest.mark.parametrize("how", HOWS)
def test_an_id_is_kept_when_the_attempt_is_stopped_during_the_call(live: Live, how: str, colour: str) -> None:
    service, switch = JobService(), Switch()
    task = live.client.submit(live.know(photo(service, switch, colour=colour, find=False)))
    with live.working() as worker:
        switch.check()
        interrupt(live, task, worker, how)
        time.sleep(0.3)
        switch.free.set()
        eventually(lambda: is_kept(live, task), 60)
        if how == "cancel":
            eventually(lambda: service.cancelled == ["job-1"], 60)
            return
    if how == "pause":
        live.client.resume(task.id)
    with live.working():
        live.until(task, "completed")
    assert service.doubles == {}


@pytest.mark.parametrize("how", ["pause", "stop twice"])
def test_a_call_that_does_not_come_back_leaves_the_outcome_unknown(live: Live, how: str) -> None:
    """Longer than any grace time: nobody starts the job again, and its answer is stored when it arrives."""
    service, switch = JobService(), Switch()
    task = live.client.submit(live.know(photo(service, switch, find=False)))
    with live.working() as worker:
        switch.check()
        interrupt(live, task, worker, how)
        if how == "pause":
            eventually(lambda: live.states(task) == "pending", 60)
            live.client.resume(task.id)
            eventually(lambda: live.states(task) == "waiting", 60)
            assert live.client.get(task.id).held == 0
            switch.free.set()
            live.until(task, "completed")
    switch.free.set()
    if how != "pause":
        with live.working():
            eventually(lambda: live.client.get(task.id).held == 1, 60)
    assert sum(service.starts.values()) == 1


@pytest.mark.parametrize("find", [True, False], ids=["find", "no_find"])
@pytest.mark.parametrize("seconds", [0.5, 300.0], ids=["within the grace", "beyond the grace"])
def test_a_tick_that_runs_out_of_time_during_the_call_starts_no_second_job(
    live: Live, seconds: float, find: bool
) -> None:
    service, switch = JobService(), Switch()
    task = live.client.submit(live.know(photo(service, switch, find=find)))
    timer = threading.Timer(1.0 + seconds, switch.free.set)
    timer.start()
    while not switch.entered.is_set():  # On a busy machine the time of a tick can be over before the call begins.
        report = tick(live.store, live.pipelines, seconds=1.2)
        assert report.seconds < 100
    timer.cancel()
    switch.free.set()
    if seconds > 10 and not find:
        eventually(lambda: ticked(live, task).held == 1, 60)
    else:
        eventually(lambda: ticked(live, task).state == "completed", 60)
    assert sum(service.starts.values()) == 1


def ticked(live: Live, task: ff.Task) -> ff.Task:
    """The task after one more tick."""
    tick(live.store, live.pipelines, seconds=5.0)
    return live.client.get(task.id)


@pytest.mark.parametrize("find", [True, False], ids=["find", "no_find"])
def test_overlapping_ticks_start_no_job_twice(live: Live, find: bool) -> None:
    """Four loops of short ticks, each with connections of its own, on 12 jobs whose start takes a while."""
    service = JobService(looks=1)
    service.pause = 0.05
    chance = random.Random(7)
    pipeline = live.know(service.pipeline(find=find))
    service.trouble += [slow(chance.uniform(0.0, 0.25)) for _ in range(12)]
    task = live.client.submit(pipeline, items=range(12))
    over = threading.Event()
    # On a busy machine a tick may hardly run; hand-backs are not the subject here.
    settings = replace(live.settings, hand_back_limit=10_000)

    def loop(store: Store) -> None:
        seconds = 0.6
        while not over.is_set():
            tick(store, live.pipelines, seconds=seconds, concurrency=4)
            seconds += 0.1  # On a busy machine a short tick may end before it has begun anything.

    before = set(threading.enumerate())
    stores = [Store.open(settings) for _ in range(4)]
    threads = [threading.Thread(target=loop, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: is_over(live, task), 120)
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        # A start that a tick did not wait for says what became of its job, on the connections of its tick.
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
        for store in stores:
            store.close()
    assert service.doubles == {}
    assert len(service.starts) == 12


def slow(seconds: float) -> Callable[[], None]:
    return lambda: time.sleep(seconds)


def is_over(live: Live, task: ff.Task) -> bool:
    now = live.client.get(task.id)
    return now.finished or now.stalled


@pytest.mark.slow
@pytest.mark.one_database
@pytest.mark.parametrize("finds", [True, False])
def test_a_start_cut_off_with_its_child_is_not_waited_for(live: Live, tmp_path: Path, finds: bool) -> None:
    """The worker lives, but the process that was starting the job is gone: its outcome is unknown at once."""
    noted = tmp_path / "starts"
    pipeline = live.know(isolated.jobs)
    with live.working():
        task = live.client.submit(pipeline, options={"noted": str(noted), "finds": finds})
        eventually(lambda: noted.exists() and noted.read_text())
        live.client.pause(task.id)
        eventually(lambda: live.client.external_jobs(task.id)[0].state == "unknown")
        live.client.resume(task.id)
        if finds:
            eventually(lambda: live.client.get(task.id).state == "completed")
            assert live.client.result(task.id) == "made by job"
        else:
            eventually(lambda: live.client.get(task.id).held == 1)
    assert len(noted.read_text().split()) == 1
