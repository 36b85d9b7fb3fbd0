"""The sweep of any worker finds and repairs everything that a crash can leave behind."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery import sweep as sweeping
from fanfold.engine.worker.beside.host import this_machine
from fanfold.store.rows.workers import Report
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation


def beat(installation: Installation, worker: str) -> bool:
    with installation.store.write() as tx:
        return tx.workers.beat(worker, Report(), 15)


def test_items_of_a_worker_that_is_not_heard_of_run_again(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    dead, alive = installation.worker("dead"), installation.worker("alive")
    [lost], [kept] = dead.claim(1), alive.claim(1)
    clock.advance(10)
    assert beat(installation, "alive")
    clock.advance(6)
    assert installation.sweep()
    assert installation.states(task) == "pending running"
    [item, _] = installation.client.items(task.id)
    assert (item.crashes, item.failures) == (1, 0)
    [event] = [found for found in installation.client.events(task.id) if found.verb == "reclaim"]
    assert (event.item, event.source, event.target, event.reason) == ("1", "running", "pending", "its worker died")
    dead.finish(lost)
    assert installation.states(task) == "pending running", "the dead do not speak"
    alive.finish(kept)
    assert installation.completed(task) == ["A", "done"]
    [attempt] = installation.sql("SELECT outcome, lease FROM attempts")
    assert tuple(attempt) == ("lost", 1)


def test_a_worker_that_is_heard_of_in_time_keeps_its_items(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch(timeout=1_000)), items=["a"])
    worker = installation.worker("slow")
    [held] = worker.claim()
    for _ in range(20):
        clock.advance(10)
        assert beat(installation, "slow")
        installation.sweep()
    worker.finish(held)
    assert installation.client.get(task.id).state == "completed"


def test_a_worker_that_beats_too_late_is_told_so(installation: Installation, clock: HandClock) -> None:
    installation.know(batch())
    installation.worker("late")
    clock.advance(15)
    assert not beat(installation, "late")


def test_an_item_that_takes_its_worker_down_again_and_again_fails_as_poison(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    for number in range(3):
        worker = installation.worker(f"victim-{number}")
        claimed = worker.claim()
        worker.finish(*(one for one in claimed if one.seq == 2))
        clock.advance(20)
        installation.sweep()
    assert installation.states(task) == "failed done"
    [item, _] = installation.client.items(task.id)
    assert item.error_code == "poison"
    assert item.error_message is not None
    assert item.error_message.startswith("Its process died 3 times without getting further")
    assert (item.crashes, item.failures) == (3, 0)
    installation.sweep()
    assert installation.client.get(task.id).state == "partial"


def test_an_item_far_past_its_deadline_is_taken_from_a_worker_that_hangs(
    installation: Installation, clock: HandClock
) -> None:
    task = installation.client.submit(installation.know(batch(timeout=60)), items=["a"])
    worker = installation.worker("hangs")
    worker.claim()
    for _ in range(9):
        clock.advance(10)
        beat(installation, "hangs")
        installation.sweep()
    assert installation.states(task) == "running", "the grace after the deadline is not over"
    clock.advance(1)
    beat(installation, "hangs")
    installation.sweep()
    assert installation.states(task) == "pending"


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_items_that_nobody_wants_are_handed_back_if_their_worker_does_not(
    installation: Installation, clock: HandClock, command: str
) -> None:
    task = installation.client.submit(installation.know(batch(limit=9)), items=["a"])
    worker = installation.worker("deaf")
    worker.claim()
    getattr(installation.client, command)(task.id)
    installation.sweep()
    assert installation.states(task) == "running", "its worker is given the time to do it itself"
    clock.advance(6)
    beat(installation, "deaf")
    installation.sweep()
    assert installation.states(task) == "pending"
    [item] = installation.client.items(task.id)
    assert (item.failures, item.crashes) == (0, 0)
    assert installation.sql("SELECT * FROM permits") == []


def test_a_task_that_nobody_closed_is_closed(installation: Installation) -> None:
    """A worker died between its commit and its probe."""
    task = installation.client.submit(installation.know(batch()), items=["a"])
    [one] = installation.worker().claim()
    with installation.store.write() as tx:
        tx.settling.finish([{"id": one.id, "lease": one.lease}])
    assert installation.client.get(task.id).state == "active"
    assert installation.sweep()
    assert installation.client.get(task.id).state == "completed"


def test_a_worker_of_this_machine_whose_process_is_gone_need_not_be_waited_for(installation: Installation) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    for name, pid in (("gone", gone.pid), ("here", os.getpid())):
        installation.worker(name).claim(1)
        installation.sql(
            "UPDATE workers SET host = :host, pid = :pid WHERE id = :id", host=this_machine(), pid=pid, id=name
        )
    installation.sweep()
    assert installation.states(task) == "pending running"


def test_one_of_many_takes_a_duty_in_each_interval(installation: Installation, clock: HandClock) -> None:
    taken: list[bool] = []

    def try_all() -> int:
        start = threading.Barrier(5)
        taken.clear()

        def take() -> None:
            start.wait()
            taken.append(sweeping.take_duty(installation.store, "recover", 10, False))

        threads = [threading.Thread(target=take) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(taken) == 5
        return sum(taken)

    assert try_all() == 1
    assert try_all() == 0
    clock.advance(10)
    assert try_all() == 1
    assert try_all() == 0


def test_a_sweep_that_is_not_due_looks_at_nothing(installation: Installation) -> None:
    known: dict[str, Any] = {}
    sweeping.sweep(installation.store, known)
    with installation.statements() as sent:
        assert not sweeping.sweep(installation.store, known)
    assert not any("items" in statement for statement in sent)


def finished(installation: Installation, *inputs: str) -> ff.Task:
    def handler(item: Any) -> Any:
        return item.write("page.txt", item.input)

    known = [pipeline for pipeline in installation.pipelines if pipeline.name == "batch"]
    pipeline = known[0] if known else installation.know(batch(handler=handler))
    task = installation.client.submit(pipeline, items=inputs)
    installation.completed(task)
    return task


def test_tasks_that_finished_long_ago_are_pruned_with_their_files(installation: Installation, clock: HandClock) -> None:
    old = finished(installation, "a")
    clock.advance(86_400)
    young = finished(installation, "b")
    unfinished = installation.client.submit(installation.pipelines[0], items=["c"])
    clock.advance(29.5 * 86_400)
    installation.sweep()
    assert {task.id for task in installation.client.list()} == {young.id, unfinished.id}
    assert [key.split("/")[0] for key in installation.blobs()] == [young.id]
    with pytest.raises(ff.NotFound):
        installation.client.get(old.id)


def test_a_retention_of_zero_keeps_everything(database_url: str, tmp_path: Path, clock: HandClock) -> None:
    installation = Installation(database_url, tmp_path, clock, retention_days=0)
    task = finished(installation, "a")
    clock.advance(1e8)
    installation.sweep()
    assert installation.client.get(task.id).state == "completed"
    installation.store.close()


def age(path: Path, hours: float) -> None:
    moment = time.time() - hours * 3600
    os.utime(path, (moment, moment))


def test_blobs_that_no_row_names_are_removed_after_a_day(installation: Installation) -> None:
    task = finished(installation, "a")
    named = installation.settings.data_folder / "blobs" / installation.blobs()[0]
    age(named, 48)
    orphans = [installation.store.keep("t-nobody", f"{hours}.txt", b"x") for hours in (1, 25)]
    for orphan, hours in zip(orphans, (1, 25), strict=True):
        age(orphan.path, hours)
    installation.sweep()
    assert [orphan.path.exists() for orphan in orphans] == [True, False]
    assert installation.client.result(task.id)[0].read_text() == "a"


def test_a_database_leaves_the_files_of_another_one_in_the_same_folder(
    installation: Installation, tmp_path: Path
) -> None:
    """Another database with the default data folder: its cleanup must not remove the other's results."""
    mine, stray = finished(installation, "a"), installation.store.keep("t-nobody", "x.txt", b"x")
    other = Installation(f"sqlite:///{tmp_path / 'other.db'}", installation.settings.data_folder, None)
    theirs, left = finished(other, "b"), other.store.keep("t-nobody-else", "x.txt", b"x")
    scratch, own = other.store.scratch / "old", other.store.scratch / f"split-{theirs.id}-1-1.jsonl"
    scratch.mkdir(parents=True)
    own.touch()
    for path in [scratch, own, *(installation.settings.data_folder / "blobs").rglob("*")]:
        age(path, 48)
    for one in (installation, other):
        one.sweep()
        assert one.store.other_databases()
    assert installation.client.result(mine.id)[0].read_text() == "a"
    assert other.client.result(theirs.id)[0].read_text() == "b"
    assert [stray.path.exists(), left.path.exists(), scratch.exists()] == [True] * 3, "whose they are cannot be told"
    assert not own.exists(), "its name says whose it is"
    other.store.close()
    for mark in (installation.settings.data_folder / "databases").iterdir():
        mark.unlink()
    with_own_mark_only = Installation(installation.settings.database, installation.settings.data_folder, None)
    with_own_mark_only.sweep()
    with_own_mark_only.store.close()
    assert not stray.path.exists()


def test_stale_scratch_is_removed_after_a_day(installation: Installation) -> None:
    scratch = installation.store.scratch
    for name in ("old", "young"):
        (scratch / name).mkdir(parents=True)
        (scratch / name / "page.png").write_bytes(b"x")
        (scratch / f"{name}.jsonl").write_text("[]")
    age(scratch / "old", 25)
    age(scratch / "old.jsonl", 25)
    installation.sweep()
    assert sorted(path.name for path in scratch.iterdir()) == ["young", "young.jsonl"]


def test_files_of_attempts_that_came_to_nothing_are_removed_when_the_task_is_finished(
    installation: Installation,
) -> None:
    def handler(item: Any) -> Any:
        file = item.write("page.txt", f"attempt {item.attempt}")
        if item.attempt < 3:
            raise ff.Temporary("again", after=0)
        return file

    pipeline = installation.know(batch("files", handler=handler, retry=ff.Retry(limit=5)))
    task = installation.client.submit(pipeline, items=["a"])
    [file] = installation.completed(task)
    assert len(installation.blobs()) == 3
    installation.sweep()
    assert installation.blobs() == [file.key]
    assert installation.client.result(task.id)[0].read_text() == "attempt 3"


def test_the_rerun_of_a_task_leaves_no_old_files(installation: Installation) -> None:
    task = finished(installation, "a")
    before = installation.blobs()
    installation.client.rerun(task.id)
    installation.completed(task)
    installation.sweep()
    assert len(installation.blobs()) == 1
    assert installation.blobs() != before


def test_workers_not_seen_for_a_day_are_forgotten(installation: Installation, clock: HandClock) -> None:
    installation.know(batch())
    installation.worker("old")
    clock.advance(86_401)
    installation.worker("new")
    installation.sweep()
    assert [worker.id for worker in installation.client.workers()] == ["new"]
