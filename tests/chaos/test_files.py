"""A worker without open files, or without room for temporary ones, waits, says so, and continues by itself."""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from fanfold.store.items.large.drafts import CHUNK
from tests.acceptance.fleet import Fleet, check_events, fleet, patiently
from tests.chaos import scarce
from tests.chaos.disk import Disk, small_disk
from tests.chaos.findings import FULL, Finding, kind_of, note
from tests.chaos.meter import Meter
from tests.chaos.whole import Process

SLOTS = 4
COUNT = 2_000 if FULL else 300
MANY = CHUNK + 1
"""More items than are held in memory: they go through a file."""
LARGE = {"FANFOLD_INLINE_BYTES": "1000"}
SCARCE_SECONDS = 12.0 if FULL else 3.0


def submit(ours: Fleet, count: int) -> str:
    """A task whose handlers open all kinds of things."""
    options = {"count": count, "log": str(ours.log), "hurry": str(ours.folder / "hurry")}
    return ours.client.submit(scarce.wanting, options=options).id


def start(ours: Fleet, **environment: str) -> Process:
    """A worker for such tasks."""
    words = ("-m", "fanfold.cli", "worker", f"{scarce.__name__}:wanting", f"{scarce.__name__}:apart")
    return ours.run(*words, "--concurrency", str(SLOTS), **environment)


@contextmanager
def no_more_files(process: Process) -> Iterator[None]:
    """The process can open nothing more until the end; what it has open stays open."""
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)


def begun(ours: Fleet) -> int:
    """How many attempts have begun."""
    return sum(map(len, ours.calls().values()))


def check_whole(ours: Fleet, task: str, count: int) -> None:
    """Everything is done without a failure, and merged once."""
    (ours.folder / "hurry").touch()
    found = ours.until(task, seconds=150)
    assert (found.total, found.done, found.failed) == (count, count, 0)
    for stage in ("list_all", "open_something", "count_all"):
        assert {(row.state, row.failures) for row in ours.rows(task, stage)} == {("done", 0)}, stage
    assert ours.client.result(task)["count"] == count
    check_events(ours.client, task)


def check_shortage(ours: Fleet, worker: Process, words: str, shortage: AbstractContextManager[None]) -> str:
    """The worker says so, starts hardly anything while it lasts, and resumes by itself; returns what was seen."""
    task = submit(ours, COUNT)
    meter = Meter(ours, task)
    patiently(lambda: meter.done() > SLOTS, 60, ours.said)
    with shortage:
        patiently(lambda: words in ours.said(), 60, ours.said)
        before = begun(ours)
        time.sleep(SCARCE_SECONDS)
        during, done = begun(ours) - before, meter.done()
        assert during <= 2 * SLOTS, f"{during} attempts were begun that could not end well: {ours.said()}"
        assert ours.client.get(task).failed == 0
    recovered = meter.next_done(done, 60)
    check_whole(ours, task, COUNT)
    assert worker.poll() is None, ours.said()
    return f"for {SCARCE_SECONDS:g} s {during} items were started; resuming took {recovered:.1f} s, no failure"


def test_a_worker_without_open_files_waits_and_goes_on(database_url: str, tmp_path: Path) -> None:
    """Handlers, children, blobs and connections that get no file cost no retry, and the worker claims nothing meanwhile."""
    with fleet(database_url, tmp_path, **LARGE) as ours:
        worker = start(ours)
        seen = check_shortage(ours, worker, "Not claiming any more items", no_more_files(worker))
        assert "Raise the limit on open files (ulimit -n)" in ours.said()
    promised = "The worker claims nothing, says what to do, and resumes by itself; no retry is used up."
    note(Finding("no more open files", kind_of(database_url), promised, seen))


def test_a_split_and_a_child_that_get_no_file_are_tried_again(tmp_path: Path) -> None:
    """The file for many items cannot be opened, a child process cannot be started: both wait, and all is done once."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        worker = start(ours)
        (ours.folder / "hurry").touch()
        ours.until(submit(ours, 10))
        with no_more_files(worker):
            large = submit(ours, MANY)
            apart = ours.client.submit(scarce.apart, items=range(8)).id
            patiently(lambda: "Not claiming any more items" in ours.said(), 60, ours.said)
            assert ours.rows(large, "open_something") == []
        check_whole(ours, large, MANY)
        assert ours.until(apart).done == 8
        assert {(row.state, row.failures, row.crashes) for row in ours.rows(apart, "open_in_child")} == {("done", 0, 0)}
        assert worker.poll() is None, ours.said()


@contextmanager
def without_folder(folder: Path) -> Iterator[None]:
    """The folder is gone until the end."""
    shutil.rmtree(folder)
    try:
        yield
    finally:
        folder.mkdir()


@contextmanager
def filled(disk: Disk) -> Iterator[None]:
    """The disk has no room until the end."""
    disk.fill()
    try:
        yield
    finally:
        disk.free()


def test_a_worker_whose_temporary_folder_is_gone_waits_for_it(tmp_path: Path) -> None:
    """TMPDIR removed while a worker runs: handlers that need it cost no retry, and all is done once it is back."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        worker = start(ours, TMPDIR=str(folder))
        seen = check_shortage(ours, worker, "Create the folder for temporary files again", without_folder(folder))
    promised = "The worker waits for the folder, says so, and resumes by itself; no retry is used up."
    note(Finding("folder for temporary files gone", "SQLite", promised, seen))


def test_a_worker_whose_temporary_folder_is_full_waits_for_room(tmp_path: Path) -> None:
    """TMPDIR without room for a byte: handlers that need it cost no retry, and all is done once there is room."""
    with small_disk(tmp_path / "temporary", 4) as disk, fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        worker = start(ours, TMPDIR=str(disk.folder))
        seen = check_shortage(ours, worker, "Free some space on that disk", filled(disk))
    promised = "The worker waits for room, says so, and resumes by itself; no retry is used up."
    note(Finding("folder for temporary files full", "SQLite", promised, seen))
