"""What is lost when processes die, stop or are told to go? Nothing: real workers, real signals."""

import random
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

import fanfold as ff
from fanfold.engine.calling import SUSPECT_CRASHES
from tests.acceptance.fleet import Fleet, check_events, fleet, patiently
from tests.acceptance.work import crowd, poisoned, stubborn
from tests.servers import PostgresServer, Shutdown

ITEMS = 5_000
MOST_KILLS = 20
KILLING_SECONDS = 60


@pytest.mark.timeout(240)
def test_workers_killed_every_second_lose_nothing(database_url: str, tmp_path: Path) -> None:
    # An innocent item may be running on a killed worker three times by chance, which is what a poison item looks like;
    # here the killer is us, so the limit is out of reach.
    with fleet(database_url, tmp_path, FANFOLD_CRASH_LIMIT="1000") as ours:
        task = ours.client.submit(crowd, options={"count": ITEMS, "log": str(ours.log), "seconds": 0.05}).id
        workers = [ours.worker("crowd") for _ in range(4)]
        killed = kill_one_every_second(ours, workers, task)
        print(f"{killed} workers killed")
        assert killed >= 3
        check_crowd(ours, task, ITEMS)


def kill_one_every_second(ours: Fleet, workers: list["subprocess.Popen[bytes]"], task: str) -> int:
    """Kill a random worker that is at work each second and start a new one; after twenty the rest may work in peace."""
    dice = random.Random(20)
    patiently(ours.calls, 30)
    killed, next_at, end = 0, time.monotonic() + 1, time.monotonic() + KILLING_SECONDS
    number = ours.number(task)
    while ours.state(number) == "active" and killed < MOST_KILLS and time.monotonic() < end:
        patiently(partial(is_past, next_at), 2)
        next_at = time.monotonic() + 1
        known = {worker.pid for worker in ours.client.workers()}
        at_work = [place for place, worker in enumerate(workers) if worker.pid in known]
        if at_work:
            place = dice.choice(at_work)
            workers[place].kill()
            workers[place].wait(10)
            workers[place] = ours.worker("crowd")
            killed += 1
    return killed


def is_past(moment: float) -> bool:
    """Whether that moment is over."""
    return time.monotonic() >= moment


def check_crowd(ours: Fleet, task: str, count: int) -> None:
    """Every item done, by the attempt that holds its lease; merged once from all of them; one chain of events."""
    found = ours.until(task, seconds=100)
    assert (found.total, found.done, found.failed) == (count, count, 0)
    starts, ends = ours.calls("start"), ours.calls("end")
    for row in ours.rows(task, "work"):
        output = ours.output(row)
        assert (row.state, row.failures, row.lease) == ("done", 0, output["attempt"]), row
        assert row.crashes < row.lease
        mine = (output["attempt"], output["token"], output["pid"])
        assert mine in starts[row.key], f"{row}: nobody started that attempt"
        assert mine in ends[row.key], f"{row}: nobody ended that attempt"
        assert len(starts[row.key]) <= row.lease, f"{row}: started more often than claimed"
    (merged,) = ours.rows(task, "bind")
    assert ours.output(merged) == {"count": count, "different": count, "attempt": merged.lease}
    assert len(ours.calls("merge")["-"]) <= merged.lease
    moves = [event for event in ours.client.events(task, limit=100_000) if event.item is None]
    assert [move.stage for move in moves] == ["cut", "work", "bind", "bind"]
    check_events(ours.client, task)


def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_wakes(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path) as ours:
        task = ours.client.submit(crowd, options={"count": 24, "log": str(ours.log), "seconds": 0.6}).id
        sleeper = ours.worker("crowd", 4)
        patiently(lambda: ours.calls("start"), 30)
        sleeper.send_signal(signal.SIGSTOP)
        held = {key for key, calls in ours.calls("start").items() if key not in ours.calls("end")}
        known = names_of(ours, sleeper)
        ours.worker("crowd", 8)
        ours.until(task)
        settled = ours.rows(task, "work")
        assert held
        assert {row.key for row in settled if row.crashes == 1} >= held
        sleeper.send_signal(signal.SIGCONT)
        patiently(lambda: names_of(ours, sleeper) - known, 20)
        patiently(lambda: not names_of(ours, sleeper) & known, 20)
        assert ours.rows(task, "work") == settled
        assert all(ours.output(row)["pid"] != sleeper.pid for row in settled if row.key in held)
        check_crowd(ours, task, 24)
        check_it_works_on(ours, sleeper)


def names_of(ours: Fleet, process: "subprocess.Popen[bytes]") -> set[str]:
    """The ids under which a process is known as a worker."""
    return {worker.id for worker in ours.client.workers() if worker.pid == process.pid}


def check_it_works_on(ours: Fleet, sleeper: "subprocess.Popen[bytes]") -> None:
    """The worker that was thought dead does a task of its own, under its new name."""
    for process in ours.processes:
        if process is not sleeper:
            process.kill()
            process.wait(10)
    task = ours.client.submit(crowd, options={"count": 4, "log": str(ours.log), "seconds": 0.0}).id
    ours.until(task)
    assert {ours.output(row)["pid"] for row in ours.rows(task, "work")} == {sleeper.pid}


def has_ended(ours: Fleet, count: int) -> bool:
    """Whether so many items were worked on to their end."""
    return len(ours.calls("end")) >= count


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_workers_go_on_when_postgresql_restarts(own_postgres: PostgresServer, tmp_path: Path, mode: Shutdown) -> None:
    with fleet(own_postgres.create_database("fanfold"), tmp_path) as ours:
        task = ours.client.submit(crowd, options={"count": 400, "log": str(ours.log), "seconds": 0.05}).id
        workers = [ours.worker("crowd", 4) for _ in range(2)]
        patiently(lambda: len(ours.client.workers()) == len(workers), 30)  # One that only starts may say no and end.
        for share in (40, 150):
            patiently(partial(has_ended, ours, share), 30)
            own_postgres.restart(mode)
        patiently(partial(has_ended, ours, 400), 60)
        ours.store.close()
        check_crowd(ours, task, 400)
        assert [worker.poll() for worker in workers] == [None, None], ours.said()


def test_a_worker_told_to_stop_hands_its_work_back(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="0.5") as ours:
        options = {"log": str(ours.log), "seconds": 60}
        task = ours.client.submit(stubborn, items=range(6), options=options).id
        worker = ours.worker("stubborn", 3)
        patiently(lambda: len(ours.calls()) == 3, 30)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(15) == 0, ours.said()
        for row in ours.rows(task, "hold"):
            assert (row.state, row.worker, row.failures, row.crashes) == ("pending", None, 0, 0), row
        assert ours.client.get(task).state == "active"
        assert not ours.client.workers()


def test_a_second_signal_stops_a_worker_at_once(database_url: str, tmp_path: Path) -> None:
    with fleet(database_url, tmp_path, FANFOLD_GRACE_SECONDS="60") as ours:
        task = ours.client.submit(stubborn, items=range(2), options={"log": str(ours.log), "seconds": 60}).id
        worker = ours.worker("stubborn", 2)
        patiently(lambda: len(ours.calls()) == 2, 30)
        worker.send_signal(signal.SIGTERM)
        patiently(lambda: [one for one in ours.client.workers() if one.stopping], 10)
        assert worker.poll() is None
        told_at = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        worker.wait(15)
        assert time.monotonic() - told_at < 5, ours.said()
        assert {(row.state, row.failures, row.crashes) for row in ours.rows(task, "hold")} == {("pending", 0, 0)}


def test_an_item_that_kills_its_process_fails_alone(database_url: str, tmp_path: Path) -> None:
    """It takes down as many workers as make it suspect; after that it runs in a child, and only the child dies."""
    with fleet(database_url, tmp_path) as ours:
        items = [ff.NewItem(key="bad" if number == 20 else f"k{number}") for number in range(60)]
        task = ours.client.submit(poisoned, items=items, options={"log": str(ours.log)}).id
        workers, number = [ours.worker("poisoned", 4)], ours.number(task)

        def over() -> bool:
            if workers[-1].poll() is not None:
                workers.append(ours.worker("poisoned", 4))
            return ours.state(number) != "active"

        patiently(over, 60)
        found = ours.client.get(task)
        assert (found.state, found.done, found.failed) == ("partial", 59, 1), ours.said()
        assert [worker.poll() for worker in workers] == [3] * SUSPECT_CRASHES + [None], ours.said()
        bad = next(row for row in ours.rows(task, "swallow") if row.key == "bad")
        assert (bad.crashes, bad.failures, bad.lease) == (3, 0, 3), bad
        assert "died" in str(bad.error_message), bad
        pids = [pid for _, _, pid in ours.calls()["bad"]]
        assert len(set(pids)) == 3
        assert pids[:SUSPECT_CRASHES] == [worker.pid for worker in workers[:-1]]
        assert workers[-1].pid not in pids


def test_a_killed_run_goes_on_within_seconds(tmp_path: Path) -> None:
    """On the machine where a process died nobody waits for its lease: with the settings as they are when nobody set them."""
    url = f"sqlite:///{tmp_path / 'fanfold.db'}"
    ours = Fleet(url, tmp_path, {})
    try:
        words = ("-m", "tests.acceptance.running", str(ours.log))
        first = ours.run(*words)
        patiently(lambda: len(ours.calls("end")) >= 30, 30)
        first.kill()
        first.wait(10)
        (task,) = [found.id for found in ours.client.list()]
        done = {row.key: row for row in ours.rows(task, "work") if row.state == "done"}
        before = sum(len(calls) for calls in ours.calls("start").values())
        again_at = time.monotonic()
        second = ours.run(*words)
        patiently(lambda: sum(len(calls) for calls in ours.calls("start").values()) > before, 15)
        print(f"went on after {time.monotonic() - again_at:.1f} s")
        assert time.monotonic() - again_at < 5
        assert second.wait(60) == 0, ours.said()
        assert time.monotonic() - again_at < 15, "it has waited for the lease of a dead process"
        check_crowd(ours, task, 100)
        now = {row.key: row for row in ours.rows(task, "work")}
        assert all(now[key] == row for key, row in done.items())
        assert all(len(ours.calls("start")[key]) == 1 for key in done)
        assert len(ours.client.list()) == 1
    finally:
        ours.close()
