"""An item that kills its worker, uses all memory or leaves threads behind fails alone; the others continue."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

import fanfold as ff
from fanfold.store.items.claim import SUSPECT_CRASHES
from tests.acceptance.fleet import Fleet, check_events, fleet, patiently
from tests.acceptance.work import poisoned
from tests.chaos import trouble
from tests.chaos.findings import FULL, Finding, kind_of, note, one_database_is_enough
from tests.chaos.whole import Process

OTHERS = 400 if FULL else 60
GROUP_BYTES = 100 * trouble.MEGABYTE
LEAKED = 2_000 if FULL else 400


def worker_of(ours: Fleet, pipeline: str, concurrency: int = 4) -> Process:
    """A worker for one pipeline of `trouble`."""
    words = ("-m", "fanfold.cli", "worker", f"{trouble.__name__}:{pipeline}", "--concurrency", str(concurrency))
    return ours.run(*words)


def test_an_item_that_kills_its_process_fails_alone(database_url: str, tmp_path: Path) -> None:
    """It takes down as many workers as make it suspect; after that it runs in a child, and only the child dies.

    One more if it was claimed ahead the first time: the database does not know then that it had begun.
    """
    one_database_is_enough(database_url)
    with fleet(database_url, tmp_path) as ours:
        items = [ff.NewItem(key="bad" if number == 20 else f"k{number}") for number in range(OTHERS)]
        task = ours.client.submit(poisoned, items=items, options={"log": str(ours.log)}).id
        workers, number = [ours.worker("poisoned", 4)], ours.number(task)

        def over() -> bool:
            if workers[-1].poll() is not None:
                workers.append(ours.worker("poisoned", 4))
            return ours.state(number) != "active"

        patiently(over, 100, ours.said)
        found = ours.client.get(task)
        assert (found.state, found.done, found.failed) == ("partial", OTHERS - 1, 1), ours.said()
        died = len(workers) - 1
        assert died in (SUSPECT_CRASHES, SUSPECT_CRASHES + 1), ours.said()
        assert [worker.poll() for worker in workers] == [3] * died + [None], ours.said()
        bad = next(row for row in ours.rows(task, "swallow") if row.key == "bad")
        assert (bad.crashes, bad.failures, bad.lease) == (3, 0, died + 1), bad
        assert "died" in str(bad.error_message), bad
        pids = [pid for _, _, pid in ours.calls()["bad"]]
        assert len(set(pids)) == died + 1
        assert pids[:died] == [worker.pid for worker in workers[:-1]]
        assert workers[-1].pid not in pids
        check_events(ours.client, task)
    note(
        Finding(
            "an item that kills its worker",
            kind_of(database_url),
            "After the second worker it runs in a child process; after the third death it fails as poison, alone.",
            f"{died} workers and 1 child died, {OTHERS - 1} of {OTHERS} items done",
        )
    )


@contextmanager
def little_memory() -> Iterator[str]:
    """A process group in which the system ends a process that uses too much memory; empty if none can be created."""
    for root, limit in (
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
        (Path("/sys/fs/cgroup"), "memory.max"),
    ):
        group = root / f"fanfold-test-{uuid4().hex[:8]}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(GROUP_BYTES))
        except OSError:
            group.rmdir()
            continue
        try:
            yield str(group)
        finally:
            patiently(lambda: not (group / "cgroup.procs").read_text(), 60)  # noqa: B023
            group.rmdir()
        return
    yield ""


def end_gluttons(worker: Process) -> bool:
    """Do what the system does when memory runs out: end the child that uses most of it. Always False."""
    for child in psutil.Process(worker.pid).children():
        with suppress(psutil.NoSuchProcess):
            if child.memory_info().rss > trouble.GLUT * trouble.MEGABYTE:
                child.send_signal(signal.SIGKILL)
    return False


def test_a_child_killed_for_its_memory_costs_only_its_own_item(tmp_path: Path) -> None:
    """The worker lives, the others continue, the item counts a crash each time; after three it fails as poison and says why."""
    with little_memory() as group, fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        keys = ["glutton", *(f"k{number}" for number in range(OTHERS))]
        options = {"log": str(ours.log), "group": group}
        task = ours.client.submit(trouble.greedy, items=[ff.NewItem(key=key) for key in keys], options=options).id
        worker, number = worker_of(ours, "greedy"), ours.number(task)
        patiently(lambda: (not group and end_gluttons(worker)) or ours.state(number) != "active", 90, ours.said)
        found = ours.client.get(task)
        assert (found.state, found.done, found.failed) == ("partial", OTHERS, 1), ours.said()
        assert worker.poll() is None
        bad = next(row for row in ours.rows(task, "eat") if row.key == "glutton")
        assert (bad.state, bad.crashes, bad.failures, bad.lease) == ("failed", 3, 0, 3), bad
        assert "killed by signal SIGKILL, probably because memory ran out" in str(bad.error_message)
        assert {row.crashes for row in ours.rows(task, "eat") if row.key != "glutton"} == {0}
        scores = [
            Path(f"/proc/{child.pid}/oom_score_adj").read_text() for child in psutil.Process(worker.pid).children()
        ]
        assert "500\n" in scores, "the system would take the worker as soon as the child"
        check_events(ours.client, task)
    note(
        Finding(
            "a handler out of memory",
            "SQLite",
            "With isolate=True only its child is killed: the item counts a crash, and fails as poison after three.",
            f"3 children killed by {'the kernel' if group else 'the test'}, {OTHERS} other items done by the same worker",
        )
    )


def test_a_memory_error_is_a_failure_like_any_other(tmp_path: Path) -> None:
    """A handler that runs into a limit of its own process fails with that error, and its child lives on."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        task = ours.client.submit(trouble.bounded, items=range(2)).id
        worker = worker_of(ours, "bounded", 1)
        ours.until(task, "failed", "partial")
        rows = ours.rows(task, "eat_within_bounds")
        assert {(row.state, row.failures, row.crashes, row.error_code) for row in rows} == {
            ("failed", 2, 0, "MemoryError")
        }
        assert worker.poll() is None


@pytest.mark.parametrize("daemon", [True, False])
def test_a_worker_full_of_leaked_threads_says_so_and_stops_in_time(daemon: bool, tmp_path: Path) -> None:
    """Threads that handlers leave behind are told of, by the stage; they keep no worker from stopping within its time."""
    with fleet(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path) as ours:
        worker = worker_of(ours, "leaky")
        options = {"threads": 10, "daemon": daemon}
        task = ours.client.submit(trouble.leaky, items=range(LEAKED // 10), options=options).id
        assert ours.until(task).done == LEAKED // 10
        alive = psutil.Process(worker.pid).num_threads()
        assert alive >= LEAKED
        warnings = ours.said().count("threads more than its work needs, most of them since calls of leak")
        assert 1 <= warnings <= 6, ours.said()
        worker.send_signal(signal.SIGTERM)
        told_at = time.monotonic()
        assert worker.wait(60) == 0, ours.said()
        stopped = time.monotonic() - told_at
        assert not ours.client.workers()
        assert stopped < 60, ours.said()
    kind = "daemon" if daemon else "other"
    note(
        Finding(
            f"a handler that leaks threads ({kind} threads)",
            "SQLite",
            "The worker continues, warns each time they double, naming the stage, and stops within its time.",
            f"{alive} threads: {warnings} warnings, stopped in {stopped:.1f} s",
        )
    )
