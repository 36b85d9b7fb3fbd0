"""Workers are killed, frozen and woken, and handlers ignore cancellation: real processes, real signals."""

from __future__ import annotations

import random
import signal
import time
from functools import partial
from pathlib import Path

import psutil

import fanfold as ff
from fanfold.store.dialects import write_lock
from fanfold.store.dialects.write_lock import WriteLock
from tests.acceptance.fleet import BRIEF_LEASE, Fleet, fleet, patiently
from tests.chaos.findings import FULL, Finding, kind_of, note, one_database_is_enough
from tests.chaos.handlers import deaf
from tests.chaos.whole import WINDOW, Load, Process, check_share

ITEMS = 3_000 if FULL else 700
MOST_KILLS = 15 if FULL else 3
KILLING_SECONDS = 60


def test_a_killed_worker_is_missed_by_nobody(database_url: str, tmp_path: Path) -> None:
    """Its items run again at once on the same machine, the other worker continues, and a new one replaces it."""
    one_database_is_enough(database_url)
    with fleet(database_url, tmp_path, FANFOLD_LEASE_SECONDS="300") as ours:
        load = Load(ours)
        victim, before = load.workers[0], load.meter.rate(WINDOW)
        done, known = load.meter.done(), names_of(ours, victim)
        held = freeze_at_work(ours, victim)
        victim.kill()
        killed_at = time.monotonic()
        victim.wait(60)
        went_on = load.meter.next_done(done, 60)
        patiently(lambda: not is_holding(ours, known), 60, ours.said)
        again = time.monotonic() - killed_at
        load.all_at_work(load.start())
        share = check_share(load.meter.rate, before)
        assert again < 60, "they have waited for the lease, though everybody could see that their process is gone"
        load.finish()
        crashed = {row.key: row.crashes for row in ours.rows(load.task, "work") if row.crashes}
        assert set(crashed) <= begun_in(ours, victim)
        assert set(crashed.values()) == {1}
        promised = "its items run again at once on the same machine; the others continue"
        seen = f"{len(crashed)} items of {len(held)} in flight were free for others after {again:.1f} s (lease: 300 s)"
        note(Finding("kill -9", kind_of(database_url), promised, seen, round(went_on, 1), share))


def freeze_at_work(ours: Fleet, process: Process) -> set[str]:
    """Stop a process at a moment at which handlers run in it. Returns the keys that it has begun and not ended."""
    held: set[str] = set()

    def is_caught() -> bool:
        process.send_signal(signal.SIGSTOP)
        patiently(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED, 60)
        held.update(running_in(ours, process))
        if not held:
            process.send_signal(signal.SIGCONT)
        return bool(held)

    patiently(is_caught, 60, ours.said)
    return held


def running_in(ours: Fleet, process: Process) -> set[str]:
    """The keys that a process has begun and not ended."""
    ended = {key for key, calls in ours.calls("end").items() if any(pid == process.pid for *_, pid in calls)}
    return begun_in(ours, process) - ended


def begun_in(ours: Fleet, process: Process) -> set[str]:
    """The keys that a process has begun; what has ended there may still have been lost before it was settled."""
    return {key for key, calls in ours.calls("start").items() if any(pid == process.pid for *_, pid in calls)}


def is_holding(ours: Fleet, names: set[str]) -> bool:
    """Whether the database thinks that workers of these ids hold items."""
    with ours.store.read() as tx:
        return any(tx.workers.held(name) for name in names)


def test_workers_killed_every_second_lose_nothing(database_url: str, tmp_path: Path) -> None:
    """However often workers die, every item is done and merged exactly once."""
    one_database_is_enough(database_url)
    # An innocent item may be running on a killed worker three times by chance, which is what a poison item looks like;
    # here the killer is us, so the limit is out of reach.
    with fleet(database_url, tmp_path, FANFOLD_CRASH_LIMIT="1000") as ours:
        load = Load(ours, [{}] * (4 if FULL else 2), count=ITEMS)
        killed = kill_one_every_second(load)
        assert killed >= 3, ours.said()
        load.finish()
        again = sum(row.crashes for row in ours.rows(load.task, "work"))
        promised = "nothing is lost, nothing is merged twice"
        seen = f"{killed} workers killed, {again} attempts lost and made again, {ITEMS} of {ITEMS} items done once"
        note(Finding("a worker killed each second", kind_of(database_url), promised, seen))


def kill_one_every_second(load: Load) -> int:
    """Kill a random worker that is at work each second and start a new one; after the last the rest may work in peace."""
    dice, ours, workers = random.Random(20), load.ours, load.workers
    killed, next_at, end = 0, time.monotonic() + 1, time.monotonic() + KILLING_SECONDS
    while killed < MOST_KILLS and time.monotonic() < end:
        patiently(partial(is_past, next_at), 2)
        next_at = time.monotonic() + 1
        known = {worker.pid for worker in ours.client.workers()}
        at_work = [place for place, worker in enumerate(workers) if worker.pid in known]
        if at_work:
            place = dice.choice(at_work)
            workers[place].kill()
            workers[place].wait(60)
            workers[place] = load.start()
            killed += 1
    return killed


def is_past(moment: float) -> bool:
    """Whether that moment is over."""
    return time.monotonic() >= moment


def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_wakes(database_url: str, tmp_path: Path) -> None:
    """What it held is free for others, what it still writes is refused, and it continues under a new id."""
    with fleet(database_url, tmp_path, **BRIEF_LEASE) as ours:
        load = Load(ours)
        sleeper, before = load.workers[0], load.meter.rate(WINDOW)
        known = names_of(ours, sleeper)
        held = stop_with_work(ours, sleeper)
        stopped_at = time.monotonic()
        patiently(lambda: not is_holding(ours, known), 60, ours.said)
        freed = time.monotonic() - stopped_at
        sleeper.send_signal(signal.SIGCONT)
        woken_at = time.monotonic()
        patiently(lambda: names_of(ours, sleeper) - known, 60, ours.said)
        back = time.monotonic() - woken_at
        patiently(lambda: not names_of(ours, sleeper) & known, 60, ours.said)
        load.all_at_work(sleeper)
        share = check_share(load.meter.rate, before)
        load.finish()
        settled = {row.key: row for row in ours.rows(load.task, "work") if row.crashes}
        assert set(settled) >= held
        assert all(ours.output(row)["attempt"] > row.crashes for row in settled.values())
        promised = "its items are done by others; what it still writes is refused; it continues under a new id"
        seen = f"{len(settled)} items were free for others after {freed:.1f} s (lease: 3 s), "
        seen += "none has the result of its first attempt"
        note(Finding("SIGSTOP past the lease", kind_of(database_url), promised, seen, round(back, 1), share))


def stop_with_work(ours: Fleet, process: Process) -> set[str]:
    """Stop a process in the middle of items, but not of a write, which would hold up everybody; returns their keys."""
    while True:
        process.send_signal(signal.SIGSTOP)
        patiently(partial(is_stopped, process.pid), 60, ours.said)
        if (held := running_in(ours, process)) and others_can_write(ours):
            return held
        process.send_signal(signal.SIGCONT)


def is_stopped(pid: int) -> bool:
    """Whether every thread of a process stands still: a signal takes effect some time after it was sent."""
    states = [
        (thread / "stat").read_text().rpartition(")")[2].split()[0] for thread in Path(f"/proc/{pid}/task").iterdir()
    ]
    return set(states) == {"T"}


def others_can_write(ours: Fleet) -> bool:
    """Whether SQLite's write lock comes free within two seconds; on PostgreSQL there is none."""
    lock = WriteLock(ours.client.store.database)
    end = time.monotonic() + 2
    while time.monotonic() < end:
        lock.probe()
        if not lock.held_seconds:
            lock.close()
            return True
        time.sleep(write_lock.PROBE_SECONDS + 0.05)
    lock.close()
    return False


def names_of(ours: Fleet, process: Process) -> set[str]:
    """The ids under which a process is known as a worker."""
    return {worker.id for worker in ours.client.workers() if worker.pid == process.pid}


def test_a_coroutine_that_does_not_end_keeps_no_place(tmp_path: Path) -> None:
    """A coroutine that swallows its cancellation is abandoned: its slot is free again, and the worker can stop."""
    url = f"sqlite:///{tmp_path / 'fanfold.db'}"
    with fleet(url, tmp_path) as ours:
        options = {"log": str(ours.log)}
        items = [ff.NewItem(key="deaf"), *(ff.NewItem(key=f"k{number}") for number in range(4))]
        task = ours.client.submit(deaf, items=items, options=options).id
        worker = ours.run("-m", "fanfold.cli", "worker", "tests.chaos.handlers:deaf", "--concurrency", "1")
        patiently(lambda: ours.calls("start"), 60, ours.said)
        ours.client.pause(task)
        patiently(lambda: ours.calls("deaf"), 60, ours.said)
        told_at = time.monotonic()
        ours.client.resume(task)
        ours.until(task, seconds=60)
        free = time.monotonic() - told_at
        rows = ours.rows(task, "ignore")
        assert [(row.state, row.failures, row.crashes) for row in rows] == [("done", 0, 0)] * len(rows)
        assert [attempt for attempt, *_ in ours.calls("start")["deaf"]] == [1, 2]
        assert all(len(calls) == 1 for key, calls in ours.calls("start").items() if key != "deaf")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0, ours.said()
        promised = "it is abandoned: its slot is free for others, what it still returns is refused, the worker can stop"
        seen = (
            f"1 of 1 slots was free again and {len(rows)} items were done {free:.1f} s later; it stopped when told to"
        )
        note(Finding("a coroutine that cannot be cancelled", kind_of(url), promised, seen, round(free, 1)))
