"""A worker's threads survive every error that the sweep, the heartbeat or the cleanup raises."""

import os
import subprocess
import sys
import threading
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.tasks.recovery import sweep
from fanfold.engine.worker.beside import restart as restarting
from fanfold.engine.worker.beside import service_threads as services
from fanfold.engine.worker.beside.heartbeat import Heartbeat
from fanfold.engine.worker.beside.host import this_machine
from fanfold.engine.worker.loop import Worker
from fanfold.errors import FanfoldError
from fanfold.store.dialects.notify import Hints
from fanfold.store.files.folder import Directory
from tests.engine.live import Live, Switch
from tests.engine.pipelines import batch
from tests.installation import HandClock, Installation
from tests.waiting import eventually

RAISED = (
    ("recover_now", FileNotFoundError("scratch")),
    ("bury_dead", PermissionError("blobs")),
    ("close", SystemExit(3)),
    ("take_duty", MemoryError()),
)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that has raised continues after a moment."""
    monkeypatch.setattr(restarting, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(restarting, "LONGEST_PAUSE", 0.2)


class Raising:
    """Stands for a function that raises again and again."""

    def __init__(self, function: Any, error: BaseException, times: int = 1_000_000) -> None:
        self.function, self.error, self.left, self.calls = function, error, times, 0

    def __call__(self, *words: Any, **named: Any) -> Any:
        self.calls += 1
        if self.calls <= self.left:
            raise self.error
        return self.function(*words, **named)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return lambda *words, **named: self(instance, *words, **named)


def abandon(live: Live, keys: list[str]) -> Any:
    """A task whose items run under a worker of this machine whose process is gone."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    known = live.pipelines[0] if live.pipelines else live.know(batch())
    task = live.client.submit(known, items=keys)
    live.worker("gone").claim()
    live.sql("UPDATE workers SET host = :host, pid = :pid WHERE id = :id", host=this_machine(), pid=gone.pid, id="gone")
    return task


@pytest.mark.parametrize(("place", "error"), RAISED, ids=[place for place, _ in RAISED])
def test_a_sweep_that_raises_is_tried_again(
    live: Live, monkeypatch: pytest.MonkeyPatch, place: str, error: BaseException
) -> None:
    task = abandon(live, ["a", "b"])
    module = services if place == "recover_now" else sweep
    raising = Raising(getattr(module, place), error, 3)
    monkeypatch.setattr(module, place, raising)
    with live.working():
        live.until(task, "completed")
    assert raising.calls > 3 or place == "close"


@pytest.mark.parametrize("place", ["prune", "clean_rows", "clean_blobs", "clean_scratch"])
def test_a_cleaning_that_always_raises_keeps_no_item_from_being_recovered(
    live: Live, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    raising = Raising(getattr(sweep, place), FileNotFoundError("a blob"))
    monkeypatch.setattr(sweep, place, raising)
    monkeypatch.setattr(services, "CLEAN_LOOK_SECONDS", 0.05)
    monkeypatch.setattr(sweep, "CLEAN_SECONDS", 0.0)
    live.know(batch())
    with live.working():
        eventually(lambda: raising.calls > 2, 60)
        live.until(abandon(live, ["a"]), "completed")


def test_a_killed_workers_items_are_recovered_by_one_whose_sweep_had_raised(
    live: Live, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for place in ("recover", "clean"):
        monkeypatch.setattr(sweep, place, Raising(getattr(sweep, place), FileNotFoundError(place), 2))
    from tests.acceptance import work

    task = live.client.submit(
        live.know(work.stubborn), items=["a", "b"], options={"log": str(tmp_path / "log"), "seconds": 600}
    )
    words = ("-m", "fanfold.cli", "worker", f"{work.__name__}:stubborn", "--database", live.settings.database_url)
    with live.working(batch("other"), name="living"):
        victim = subprocess.Popen([sys.executable, *words, "--data", live.settings.data])
        try:
            eventually(lambda: live.states(task) == "running running", 60)
        finally:
            victim.kill()
            victim.wait()
        eventually(lambda: live.states(task) == "pending pending", 60)


def test_hints_that_raise_are_listened_for_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    raising = Raising(Hints.wait, RuntimeError("odd"), 3)
    monkeypatch.setattr(Hints, "wait", raising)
    with live.working(batch("other")):
        eventually(lambda: raising.calls > 3, 60)


def test_a_heartbeat_that_raises_goes_on_and_keeps_its_items(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    switch = Switch()
    task = live.client.submit(live.know(batch(handler=lambda item: switch.wait())), items=["a"])
    raising = Raising(Heartbeat._beat, RuntimeError("odd"), 3)
    monkeypatch.setattr(Heartbeat, "_beat", raising)
    with live.working():
        switch.check()
        eventually(lambda: raising.calls > 4, 60)
        switch.free.set()
        live.until(task, "completed")
    [item] = live.client.items(task.id)
    assert (item.attempts, item.crashes) == (1, 0)


def test_a_worker_whose_heartbeat_thread_is_gone_stops_itself(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    task = live.client.submit(live.know(batch(handler=lambda item: "done")), items=["a"])
    monkeypatch.setattr(Heartbeat, "_live", lambda self: None)
    worker = Worker(live.pipelines, store=live.store)
    with pytest.raises(FanfoldError, match="heartbeat has ended"):
        worker.run()
    assert live.states(task) in ("done", "pending")
    assert live.client.workers() == []


class Hurried(threading.Event):
    """An event for which nobody has to wait: the time is over at once."""

    def wait(self, timeout: float | None = None) -> bool:
        return self.is_set()


def test_what_a_service_raises_is_said_with_what_happens_next(caplog: pytest.LogCaptureFixture) -> None:
    over, calls = Hurried(), []

    def run() -> None:
        calls.append(1)
        if len(calls) == 200:
            over.set()
        raise FileNotFoundError(2, "No such file", f"scratch/{len(calls)}")

    restarting.keep_running(run, over, lambda: "w-1", "sweep")
    said = [record.getMessage() for record in caplog.records]
    assert len(calls) == 200
    assert said[0].startswith("[w-1] The sweep failed: FileNotFoundError")
    assert "Trying again in 0.1 s" in said[0]
    assert "(100 like this within a minute)" in said[-1]
    assert len(said) < 10


def test_files_that_vanish_or_resist_while_they_are_swept_do_not_stop_the_sweep(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch, blobs = installation.store.scratch, installation.settings.data_folder / "blobs"
    for folder in (scratch, blobs / "t-1", blobs / "t-2"):
        folder.mkdir(parents=True)
        for name in ("a", "b", "c"):
            (folder / name).write_text("x")
            os.utime(folder / name, (1, 1))
    (blobs / "t-9").symlink_to(blobs / "nowhere")
    (blobs / "loose").write_text("x")
    scan, unlink = os.scandir, os.unlink

    def vanishing(path: Any = ".") -> Any:
        """The first file of each folder is gone once the folder was read."""
        with scan(path) as found:
            entries = list(found)
        Path(str(path), "a").unlink(missing_ok=True)
        return nullcontext(entries)

    def resisting(path: Any, *words: Any, **named: Any) -> None:
        if str(path).endswith("b"):
            raise PermissionError(13, "Permission denied", str(path))
        unlink(path, *words, **named)

    monkeypatch.setattr(os, "scandir", vanishing)
    monkeypatch.setattr(os, "unlink", resisting)
    installation.sweep()
    monkeypatch.undo()
    assert sorted(path.name for path in scratch.iterdir()) == ["b"]
    assert installation.blobs() == ["t-1/b", "t-2/b"]


def test_a_data_folder_that_is_not_there_has_nothing_old(tmp_path: Path) -> None:
    assert list(Directory(tmp_path / "nowhere").listed()) == []


def test_a_blob_is_written_though_its_folder_is_removed_at_the_same_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Directory(tmp_path / "blobs")
    made = Path.mkdir
    times: list[int] = []

    def mkdir(self: Path, *words: Any, **named: Any) -> None:
        made(self, *words, **named)
        if self.name == "t-1" and len(times) < 2:
            times.append(1)
            with suppress(FileNotFoundError):
                self.rmdir()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    from io import BytesIO

    assert shelf.put("t-1/x", BytesIO(b"abc")) == 3
    assert shelf.path("t-1/x").read_bytes() == b"abc"


def test_a_worker_says_when_its_sweep_last_ran(live: Live) -> None:
    live.know(batch())
    with live.working():

        def swept() -> Any:
            return next((row.swept_at for row in live.client.workers()), None)

        first = eventually(swept, 60)
        eventually(lambda: swept() > first, 60)


def test_a_worker_whose_sweep_fails_does_not_say_that_it_ran(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    live.know(batch())
    monkeypatch.setattr(sweep, "recover", Raising(sweep.recover, RuntimeError("odd")))
    beats: list[int] = []
    beat = Heartbeat._beat

    def counted(self: Heartbeat) -> None:
        beat(self)
        beats.append(1)

    monkeypatch.setattr(Heartbeat, "_beat", counted)
    with live.working() as worker:
        eventually(lambda: len(beats) > 2, 60)
        [row] = [row for row in live.client.workers() if row.id == worker.id]
        assert row.swept_at is None


def test_swept_at_follows_the_clock_of_the_database(installation: Installation, clock: HandClock) -> None:
    from datetime import timedelta

    from fanfold.store.rows.workers import Report

    installation.know(batch())
    installation.worker("w")
    with installation.store.write() as tx:
        tx.workers.beat("w", Report(swept_ago=3.0), 15)
    [row] = installation.client.workers()
    assert row.swept_at == clock.now - timedelta(seconds=3)
    with installation.store.write() as tx:
        tx.workers.beat("w", Report(), 15)
    [row] = installation.client.workers()
    assert row.swept_at == clock.now - timedelta(seconds=3), "a report without a sweep says nothing new"


def test_a_recovery_that_fails_gives_its_turn_to_the_next_worker(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sweep, "recover", Raising(sweep.recover, RuntimeError("odd")))
        with pytest.raises(RuntimeError):
            sweep.recover_if_due(installation.store, {}, "first")
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.worker("gone").claim()
    installation.sql("DELETE FROM workers")
    assert sweep.recover_if_due(installation.store, {}, "second"), "in the same interval"
    assert installation.states(task) == "pending"


def test_a_part_of_the_cleaning_that_fails_does_not_stop_the_others(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("prune", "clean_rows"):
        monkeypatch.setattr(sweep, place, Raising(getattr(sweep, place), PermissionError("odd")))
    orphan = installation.store.keep("t-nobody", "x.txt", b"x").path
    os.utime(orphan, (1, 1))
    installation.sweep()
    assert not orphan.exists()
