"""Ray carries the work: actors keep their models between items, and die without losing anything."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from fanfold.engine.discovery import load
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import crowd
from tests.chaos.findings import Finding, kind_of, note, only_in_full
from tests.chaos.meter import Meter
from tests.chaos.whole import check_crowd

pytestmark = [pytest.mark.acceptance, only_in_full]
COUNT = 300
SLACK = {"FANFOLD_CRASH_LIMIT": "1000", "RAY_DISABLE_MEMORY_MONITOR": "1", "RAY_USAGE_STATS_ENABLED": "0"}


def dispatch(ours: Fleet, target: str) -> psutil.Process:
    """A dispatcher with a Ray of its own."""
    pytest.importorskip("ray")
    words = ("dispatch", "--carrier", "ray", "--hints", "2", "--seconds", "5", "--resend", "60", target)
    return psutil.Process(ours.run("-m", "fanfold.cli", *words).pid)


def end(process: psutil.Process) -> None:
    """End it with everything it has started: head node, raylet and actors."""
    try:
        family = [*process.children(recursive=True), process]
    except psutil.NoSuchProcess:
        return
    for one in family:
        try:
            one.kill()
        except psutil.NoSuchProcess:
            continue


def test_an_actor_keeps_its_model_between_hints(sqlite_url: str, tmp_path: Path) -> None:
    with fleet(sqlite_url, tmp_path, **SLACK) as ours:
        process = dispatch(ours, "examples.ray_models:describe")
        try:
            loaded: set[tuple[int, int]] = set()
            for names in (["cat", "dog"], ["bird"]):
                task = ours.client.submit(load("examples/ray_models.py:describe"), items=names).id
                ours.until(task, seconds=200)
                found = ours.client.result(task)
                assert [one["picture"] for one in found] == names
                assert all(one["model"] == one["process"] for one in found)
                loaded |= {(one["model"], one["process"]) for one in found}
            assert len(loaded) <= 2, "two actors at most, and none was replaced between the tasks"
        finally:
            end(process)


@pytest.mark.parametrize("victim", ["actor", "head node"])
def test_every_item_is_done_once_though_actors_and_the_head_node_die(
    database_url: str, tmp_path: Path, victim: str
) -> None:
    with fleet(database_url, tmp_path, **SLACK) as ours:
        process = dispatch(ours, "tests.acceptance.work:crowd")
        try:
            options = {"count": COUNT, "seconds": 0.5, "log": str(ours.log)}
            task = ours.client.submit(crowd, options=options).id
            meter = Meter(ours, task)
            patiently(lambda: meter.done() > 10, 300, ours.said)
            done = meter.done()
            if victim == "actor":
                os.kill(next(worker.pid for worker in ours.client.workers() if worker.running), 9)
                promised = "its items run again; another actor takes its place"
            else:
                end(process)
                patiently(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, 60)
                process = dispatch(ours, "tests.acceptance.work:crowd")
                promised = "everything continues with a new head node and a new dispatcher"
            recovered = meter.next_done(max(done, meter.done()), 200)
            ours.until(task, seconds=300)
            check_crowd(ours, task, COUNT)
            seen = f"{COUNT} of {COUNT} items done once and merged once"
            note(Finding(f"Ray: {victim} killed", kind_of(database_url), promised, seen, round(recovered, 1)))
        finally:
            end(process)
