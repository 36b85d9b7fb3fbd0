"""The data folder is removed, full or slow while results stored in it are made and merged."""

from __future__ import annotations

import re
import shlex
import shutil
import time
from functools import partial
from pathlib import Path

import fanfold as ff
from tests.acceptance.fleet import Fleet, check_events, fleet, patiently
from tests.chaos import trouble
from tests.chaos.disk import small_disk
from tests.chaos.findings import FULL, Finding, note, only_in_full
from tests.chaos.meter import Meter
from tests.chaos.whole import WINDOW, Process, check_share

COUNT = 1_000 if FULL else 300
LASTING = 4_000 if FULL else 300
"""Enough items to outlast the measurement of the throughput before the fault."""
SECONDS = 0.1
SLOTS = 4
LARGE = {"FANFOLD_INLINE_BYTES": "1000"}
"""Small enough that every result of `bulky` is in the data folder."""
FULL_SECONDS = 10.0 if FULL else 3.0


def bulky_worker(ours: Fleet, **environment: str) -> Process:
    """A worker for large results."""
    words = ("-m", "fanfold.cli", "worker", f"{trouble.__name__}:bulky", "--concurrency", str(SLOTS))
    return ours.run(*words, **environment)


def bulky_task(ours: Fleet, count: int, **options: float) -> str:
    """A task of large results."""
    return ours.client.submit(
        trouble.bulky, options={"count": count, "log": str(ours.log), "seconds": SECONDS} | options
    ).id


def check_pages(ours: Fleet, task: str, count: int) -> None:
    """Every page done without a failure, and each merged once; one chain of events."""
    found = ours.until(task, seconds=200)
    assert (found.total, found.done, found.failed) == (count, count, 0)
    for row in ours.rows(task, "write_page"):
        assert (row.state, row.failures) == ("done", 0), row
        assert ours.output(row)["attempt"] <= row.lease
    assert ours.client.result(task) == {"count": count, "characters": count * trouble.PAGE}
    check_events(ours.client, task)


def test_results_gone_from_the_data_folder_are_named_and_made_again(tmp_path: Path) -> None:
    """The folder of blobs removed under running workers: new results are kept, lost ones are named with the way to redo them."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, **LARGE) as ours:
        workers = [bulky_worker(ours) for _ in range(2)]
        task = bulky_task(ours, COUNT)
        meter = Meter(ours, task)
        patiently(lambda: meter.done() > SLOTS, 60, ours.said)
        before = meter.rate(WINDOW)
        blobs, gone = tmp_path / "data" / "blobs", tmp_path / "gone"
        blobs.rename(gone)
        removed_at, done = time.monotonic(), meter.done()
        shutil.rmtree(gone)
        meter.next_done(done, 60)
        recovered = time.monotonic() - removed_at
        share = check_share(meter.rate, before)
        failed = ours.until(task, "failed", seconds=100)
        lost = [row.key for row in ours.rows(task, "write_page") if not is_there(ours, row.output)]
        assert len(lost) >= done - 2 * SLOTS
        rounds = 0
        while failed.state == "failed":
            rounds += 1
            again = re.search(r"fanfold (retry .*)", str(failed.error_message))
            assert again, failed
            assert set(re.findall(r"--item (\S+)", again[1])) <= set(lost)
            redone = ours.run("-m", "fanfold.cli", *shlex.split(again[1]), "--target", f"{trouble.__name__}:bulky")
            assert redone.wait(60) == 0, ours.said()
            failed = ours.until(task, "failed", "completed", seconds=60)
        assert [worker.poll() for worker in workers] == [None, None], ours.said()
        check_pages(ours, task, COUNT)
    note(
        Finding(
            "data folder removed",
            "SQLite",
            "New results are kept in a new one; results that are gone are named at the merge, with the command to redo them.",
            f"{len(lost)} of {COUNT} results gone; the command in the message, run {rounds} times, made them again",
            round(recovered, 1),
            share,
        )
    )


def is_there(ours: Fleet, output: str | None) -> bool:
    """Whether a result can be read."""
    try:
        return ours.store.unfold(output) is not None
    except ff.NotFound:
        return False


@only_in_full
def test_a_full_data_folder_uses_up_no_retry(tmp_path: Path) -> None:
    """A data folder without room holds up the results that are to be kept in it; no retry is used up by it."""
    with (
        small_disk(tmp_path / "data", 192) as disk,
        fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, **LARGE) as ours,
    ):
        workers = [bulky_worker(ours) for _ in range(2)]
        task = bulky_task(ours, LASTING)
        meter = Meter(ours, task)
        patiently(lambda: meter.done() > SLOTS, 60, ours.said)
        before = meter.rate(WINDOW)
        disk.fill()
        patiently(lambda: "Free some space there; work then resumes by itself" in ours.said(), 60, ours.said)
        time.sleep(FULL_SECONDS)
        done = meter.done()
        disk.free()
        recovered = meter.next_done(done, 60)
        patiently(partial(is_at_pace, meter, before), 60, ours.said)
        share = check_share(meter.rate, before)
        check_pages(ours, task, LASTING)
        assert [worker.poll() for worker in workers] == [None, None], ours.said()
        again = sum(row.lease > 1 for row in ours.rows(task, "write_page"))
    note(
        Finding(
            "data folder full",
            "SQLite",
            "What has to be kept there waits and is tried again; no retry is used up, and the log says what to do.",
            f"full for {FULL_SECONDS:g} s: {again} items tried again, {LASTING} results kept and merged once, no failure",
            round(recovered, 1),
            share,
        )
    )


def test_a_split_without_room_for_its_items_uses_up_no_retry(tmp_path: Path) -> None:
    """A split whose items find no room on the disk is tried again when there is some; nothing of it exists until then."""
    with small_disk(tmp_path / "data", 8) as disk, fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        disk.fill()
        bulky_worker(ours)
        # More text than is held in memory, so that the items go to a file first.
        task = bulky_task(ours, 20, size=250_000)
        patiently(lambda: "Not claiming any more items" in ours.said(), 60, ours.said)
        assert ours.client.get(task).state == "active", ours.client.get(task)
        assert ours.rows(task, "write_page") == []
        disk.free()
        freed_at = time.monotonic()
        patiently(lambda: ours.rows(task, "write_page"), 60, ours.said)
        recovered = time.monotonic() - freed_at
        check_pages(ours, task, 20)
        [split] = ours.rows(task, "list_pages")
        assert (split.failures, split.crashes) == (0, 0)
    note(
        Finding(
            "scratch of a split full",
            "SQLite",
            "The split is tried again when there is room; no retry is used up, and nothing of it exists until then.",
            f"tried {split.lease} times, 20 items once",
            round(recovered, 1),
        )
    )


def is_at_pace(meter: Meter, before: float) -> bool:
    """Whether what has waited out its time is back at work."""
    return meter.rate(1.0) >= 0.9 * before


@only_in_full
def test_a_slow_data_folder_costs_no_lease(tmp_path: Path) -> None:
    """A slow flush may outlast the lease: the worker keeps sending heartbeats, and nothing runs twice.

    What is slow here is the call that flushes a file, in the worker's process: below Fanfold, where the device would be.
    """
    lease, count = 10.0, 16
    slow = 1.5 * lease
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path, FANFOLD_LEASE_SECONDS=f"{lease:g}", **LARGE) as ours:
        worker = bulky_worker(ours, FANFOLD_TEST_SLOW_FSYNC=str(slow))
        started = time.monotonic()
        task = bulky_task(ours, count)
        check_pages(ours, task, count)
        took = time.monotonic() - started
        rows = ours.rows(task, "write_page")
        assert {(row.lease, row.crashes) for row in rows} == {(1, 0)}, "a lease was lost to the disk"
        assert worker.poll() is None
        assert took >= slow * count / SLOTS, "the disk was not slow"
    note(
        Finding(
            "data folder slow",
            "SQLite",
            "A slow flush may outlast the lease: the worker keeps sending heartbeats, so nothing runs twice.",
            f"{slow:g} s for each flush (lease {lease:g} s): {count} items in {took:.0f} s, each run once",
        )
    )
