"""Trouble with SQLite's file: its disk is full, the file is read-only, its lock is held, a checkpoint is interrupted."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from fanfold.errors import DatabaseProblem
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from tests.acceptance.fleet import BRIEF_LEASE, ROOT, SHORT, Fleet, fleet, patiently
from tests.chaos import trouble
from tests.chaos.disk import small_disk
from tests.chaos.findings import FULL, Finding, note, only_in_full
from tests.chaos.handlers import steady
from tests.chaos.whole import ITEMS, WINDOW, Load, check_share

COUNT = ITEMS
PAST_LEASE = 12.0 if FULL else float(BRIEF_LEASE["FANFOLD_LEASE_SECONDS"]) + 1
HOLD = 30.0 if FULL else PAST_LEASE
"""Longer than a writer waits for another one, at full length."""
KILLS = 40 if FULL else 10
BOUND = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Makes file permissions apply to root as well."""
HOLDER = f"""
import sys, time
import {sqlite_module().__name__} as sqlite
connection = sqlite.connect(sys.argv[1], isolation_level=None, timeout=60)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
connection.execute("COMMIT")
"""
CHECKPOINTER = f"""
import sys
import {sqlite_module().__name__} as sqlite
connection = sqlite.connect(sys.argv[1], isolation_level=None, timeout=60)
print("ready", flush=True)
while True:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
"""


def check_file(path: Path) -> None:
    """The file is sound, for a connection that has seen nothing of it before."""
    with closing(sqlite_module().connect(str(path), timeout=60)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def said(ours: Fleet, words: str) -> int:
    """How many lines of all processes have these words."""
    return sum(path.read_text(errors="replace").count(words) for path in ours.folder.glob("process-*.log"))


def test_a_full_disk_holds_the_work_up_and_loses_nothing(tmp_path: Path) -> None:
    """While the disk of the database is full workers wait and say what to do; once there is room, work resumes by itself."""
    with small_disk(tmp_path / "disk") as disk:
        path = disk.folder / "fanfold.db"
        (disk.folder / "data").mkdir()
        (tmp_path / "data").symlink_to(disk.folder / "data")
        with fleet(f"sqlite:///{path}", tmp_path, **BRIEF_LEASE) as ours:
            load = Load(ours, count=COUNT)
            before = load.meter.rate(WINDOW)
            disk.fill()
            patiently(lambda: said(ours, "disk is full"), 60, ours.said)
            full_at = time.monotonic()
            while time.monotonic() < full_at + PAST_LEASE:
                disk.fill()
                time.sleep(0.2)
            with pytest.raises(DatabaseProblem, match="Free some space"):
                ours.client.submit(steady, options={"count": 1_000, "log": str(ours.log)})
            tasks, done = len(ours.client.list()), load.meter.done()
            disk.free()
            recovered = load.meter.next_done(done, 60)
            load.all_at_work(*load.workers)
            share = check_share(load.meter.rate, before)
            assert [worker.poll() for worker in load.workers] == [None, None], ours.said()
            assert tasks == 1, "a task that was refused exists"
            assert said(ours, "Free some space on its disk; work then resumes by itself")
            load.finish()
            check_file(path)
    note(
        Finding(
            "disk of the database full",
            "SQLite",
            "Workers wait, say what to do, and resume by themselves; no retry is used up; the file stays sound.",
            f"full for {PAST_LEASE:g} s: {load.count} items done and merged once, no failure; a submit was refused whole",
            round(recovered, 1),
            share,
        )
    )


class BoundFleet(Fleet):
    """Workers for which file permissions apply, even if root runs the tests."""

    def run(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        """Start any Python process, without the power of root to write what is read-only."""
        bound = BOUND if os.geteuid() == 0 else ()
        with (self.folder / f"process-{len(self.processes) + 1}.log").open("wb") as sink:
            process = subprocess.Popen(
                [*bound, sys.executable, *words],
                cwd=ROOT,
                env={**os.environ, **self.environment, **environment},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(process)
        return process


@only_in_full
def test_a_file_that_was_read_only_is_written_again_without_a_restart(tmp_path: Path) -> None:
    """Workers that find the file read-only say so and resume once it is writable; one that starts meanwhile says why it stops."""
    path = tmp_path / "fanfold.db"
    with closing(BoundFleet(f"sqlite:///{path}", tmp_path, SHORT | BRIEF_LEASE)) as ours:
        load = Load(ours, count=COUNT)
        # Its handlers write, each through a connection that is opened only then: one that cannot write.
        writer = ours.run("-m", "fanfold.cli", "worker", f"{trouble.__name__}:noting", "--concurrency", "8")
        patiently(lambda: len(ours.client.workers()) == 3, 60, ours.said)
        before = load.meter.rate(WINDOW)
        path.chmod(0o444)
        task = ours.client.submit(trouble.noting, items=range(16), options={"log": str(ours.log)}).id
        late = load.start()
        patiently(lambda: said(ours, "readonly database. Make the file and its folder writable"), 60, ours.said)
        assert late.wait(60) != 0
        assert said(ours, "read-only for this user")
        path.chmod(0o644)
        writable_at = time.monotonic()
        assert ours.until(task).done == 16
        recovered = time.monotonic() - writable_at
        assert {(row.state, row.failures) for row in ours.rows(task, "jot")} == {("done", 0)}
        assert max(row.lease for row in ours.rows(task, "jot")) > 1, "nothing was refused"
        load.all_at_work(*load.workers)
        share = check_share(load.meter.rate, before)
        assert [worker.poll() for worker in (*load.workers, writer)] == [None] * 3, ours.said()
        load.finish()
        check_file(path)
    note(
        Finding(
            "file of the database read-only",
            "SQLite",
            "Workers say what to do and resume once it is writable, without a restart; no retry is used up.",
            f"{load.count + 16} items done, no failure; a worker started meanwhile explained the problem and exited",
            round(recovered, 1),
            share,
        )
    )


@pytest.mark.timeout(400)
def test_a_write_lock_held_past_the_lease_only_holds_the_work_up(tmp_path: Path) -> None:
    """Workers wait for the write lock as long as it takes; items whose lease expired meanwhile are fenced; nothing is lost."""
    path = tmp_path / "fanfold.db"
    with fleet(f"sqlite:///{path}", tmp_path, **BRIEF_LEASE) as ours:
        load = Load(ours, count=COUNT)
        before = load.meter.rate(WINDOW)
        holder = ours.run("-c", HOLDER, str(path), str(HOLD))
        patiently(lambda: said(ours, "held"), 60)
        patiently(lambda: holder.poll() is not None or stands_still(load), HOLD)
        done = load.meter.done()
        assert holder.wait(HOLD + 30) == 0, ours.said()
        recovered = load.meter.next_done(done, 90)
        load.all_at_work(*load.workers)
        share = check_share(load.meter.rate, before)
        assert [worker.poll() for worker in load.workers] == [None, None], ours.said()
        lost = sum(row.crashes for row in ours.rows(load.task, "work"))
        load.finish()
        check_file(path)
    note(
        Finding(
            "write lock held by another process",
            "SQLite",
            "Workers wait as long as it takes; items whose lease expired meanwhile run again, and only that run counts.",
            f"held for {HOLD:g} s (past the lease): {lost} items ran again, {load.count} merged once",
            round(recovered, 1),
            share,
        )
    )


def stands_still(load: Load) -> bool:
    """Whether nothing gets done for a moment."""
    return load.meter.rate(0.5) == 0


@pytest.mark.timeout(400)
def test_checkpoints_cut_off_by_kill_9_leave_the_file_sound(tmp_path: Path) -> None:
    """A process killed in the middle of a checkpoint, again and again while workers write, never harms the file."""
    path = tmp_path / "fanfold.db"
    dice = random.Random(4)
    with fleet(f"sqlite:///{path}", tmp_path) as ours:
        load = Load(ours, count=COUNT)
        before = load.meter.rate(WINDOW)
        for number in range(KILLS):
            process = ours.run("-c", CHECKPOINTER, str(path))
            patiently(lambda: said(ours, "ready") > number, 60)  # noqa: B023
            time.sleep(dice.uniform(0.0, 0.3))
            process.kill()
            assert process.wait(60) == -signal.SIGKILL
            check_file(path)
        killed_at, done = time.monotonic(), load.meter.done()
        load.meter.next_done(done, 60)
        recovered = time.monotonic() - killed_at
        share = check_share(load.meter.rate, before)
        assert [worker.poll() for worker in load.workers] == [None, None], ours.said()
        load.finish()
        check_file(path)
    note(
        Finding(
            "kill -9 in the middle of a checkpoint",
            "SQLite",
            "The file stays sound, and work continues as if nothing had happened.",
            f"{KILLS} kills, {KILLS + 1} integrity checks ok, {load.count} items done and merged once",
            round(recovered, 1),
            share,
        )
    )
