"""Nothing is lost when processes die, freeze or are told to stop: real workers, real signals."""

import signal
import time
from pathlib import Path

import pytest

from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import stubborn
from tests.chaos.whole import check_crowd


def test_a_worker_told_to_stop_hands_its_work_back(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="0.5") as ours:
        options = {"log": str(ours.log), "seconds": 60}
        task = ours.client.submit(stubborn, items=range(6), options=options).id
        worker = ours.worker("stubborn", 3)
        patiently(lambda: len(ours.calls()) == 3, 60)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0, ours.said()
        for row in ours.rows(task, "hold"):
            assert (row.state, row.worker, row.failures, row.crashes) == ("pending", None, 0, 0), row
        assert ours.client.get(task).state == "active"
        assert not ours.client.workers()


@pytest.mark.one_database
def test_a_second_signal_stops_a_worker_at_once(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="300") as ours:
        task = ours.client.submit(stubborn, items=range(2), options={"log": str(ours.log), "seconds": 300}).id
        worker = ours.worker("stubborn", 2)
        patiently(lambda: len(ours.calls()) == 2, 60)
        worker.send_signal(signal.SIGTERM)
        patiently(lambda: [one for one in ours.client.workers() if one.stopping], 60)
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
        assert {(row.state, row.failures, row.crashes) for row in ours.rows(task, "hold")} == {("pending", 0, 0)}


def test_a_killed_run_goes_on_within_seconds(tmp_path: Path) -> None:
    """On the machine where a process died, its items do not wait for the lease: a long lease, and no other setting."""
    url = f"sqlite:///{tmp_path / 'fanfold.db'}"
    ours = Fleet(url, tmp_path, {"FANFOLD_LEASE_SECONDS": "600"})
    try:
        words = ("-m", "tests.acceptance.running", str(ours.log))
        first = ours.run(*words)
        patiently(lambda: len(ours.calls("end")) >= 30, 60)
        first.kill()
        first.wait(60)
        (task,) = [found.id for found in ours.client.list()]
        done = {row.key: row for row in ours.rows(task, "work") if row.state == "done"}
        before = sum(len(calls) for calls in ours.calls("start").values())
        again_at = time.monotonic()
        second = ours.run(*words)
        patiently(lambda: sum(len(calls) for calls in ours.calls("start").values()) > before, 60)
        print(f"went on after {time.monotonic() - again_at:.1f} s")
        assert second.wait(100) == 0, "it has waited for the lease of a dead process"
        check_crowd(ours, task, 100)
        now = {row.key: row for row in ours.rows(task, "work")}
        assert all(now[key] == row for key, row in done.items())
        assert all(len(ours.calls("start")[key]) == 1 for key in done)
        assert len(ours.client.list()) == 1
    finally:
        ours.close()
