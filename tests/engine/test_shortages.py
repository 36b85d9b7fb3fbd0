"""A worker waits while its machine is short of files or space, and only for that."""

import errno
import os
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.handlers.stop import NoClock
from fanfold.engine.tasks.moving.split import write_split
from fanfold.engine.worker import loop as engine_worker
from fanfold.engine.worker import shortages
from fanfold.engine.worker.attempt import caller as calling
from fanfold.engine.worker.attempt.attempt_result import Settlement, failed
from fanfold.engine.worker.processes import child
from fanfold.engine.worker.processes.child import ChildRequest
from fanfold.engine.worker.shortages import Shortages
from fanfold.engine.worker.turn import take_turn
from fanfold.model.shortage import FREE_SPACE, MORE_FILES
from fanfold.store.items.large.drafts import CHUNK
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.waiting import eventually

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def wrapped(error: OSError) -> RuntimeError:
    outer = RuntimeError("the renderer did not start")
    outer.__cause__ = error
    return outer


@pytest.mark.parametrize(
    ("error", "verb", "counted"),
    [
        (FULL, "back_off", False),
        (wrapped(FULL), "back_off", False),
        (OSError(errno.EMFILE, "Too many open files"), "back_off", False),
        (FileNotFoundError(errno.ENOENT, "No such file"), "fail", True),
        (ff.Permanent("give up when the disk is full"), "fail", True),
    ],
)
def test_a_shortage_uses_up_no_retry(installation: Installation, error: Exception, verb: str, counted: bool) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(0)))
    installation.client.submit(pipeline, items=range(1))
    [claimed] = installation.worker().claim()
    [stage] = pipeline.stages.values()
    ending = failed(claimed, stage, error)
    assert (ending.ending, ending.counted, ending.short) == (verb, counted, not counted)


def test_a_handler_that_gives_up_for_good_is_believed_whatever_the_cause(installation: Installation) -> None:
    pipeline = installation.know(batch())
    installation.client.submit(pipeline, items=range(1))
    [claimed] = installation.worker().claim()
    [stage] = pipeline.stages.values()
    error = ff.Permanent("the disk is full, and that is that")
    error.__cause__ = FULL
    assert failed(claimed, stage, error).ending == "fail"


def test_the_message_of_an_item_says_what_to_do(installation: Installation) -> None:
    pipeline = installation.know(batch())
    installation.client.submit(pipeline, items=range(1))
    [claimed] = installation.worker().claim()
    [stage] = pipeline.stages.values()
    ending = failed(claimed, stage, wrapped(OSError(errno.EMFILE, "Too many open files")))
    assert ending.error_message == f"the renderer did not start. {MORE_FILES}"
    told = ff.Temporary("Cannot write to the data folder. Free some space there.", counts=False)
    told.__cause__ = FULL
    ending = failed(claimed, stage, told)
    assert (ending.error_message, ending.short) == (str(told), True)


def test_nothing_is_claimed_while_a_probe_finds_too_little(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item fails to start at most once, and everything is done when resources are back."""
    enough, calls = threading.Event(), Counter[str]()
    pipeline = ff.Pipeline("pages")

    @pipeline.each(concurrency=2, retry=ff.Retry(0, first=0.0))
    def convert(item: ff.ItemWork) -> str:
        calls[item.key] += 1
        if not enough.is_set():
            raise FULL
        return item.key

    probes = []

    def probe(self: Shortages) -> str | None:
        probes.append(1)
        return None if enough.is_set() else f"No space left on device. {FREE_SPACE}"

    monkeypatch.setattr(Shortages, "probe", probe)
    task = live.client.submit(live.know(pipeline), items=range(20))
    with live.working(concurrency=2):
        eventually(lambda: len(probes) >= 4)
        assert sum(calls.values()) <= 2, "items were begun although they could not end well"
        assert live.client.get(task.id).failed == 0
        enough.set()
        done = live.until(task, "completed")
    assert (done.done, done.failed) == (20, 0)
    assert sum(calls.values()) <= 22


def test_one_item_that_fills_its_own_disk_holds_up_nobody_else(live: Live) -> None:
    """If a probe finds files and space, only the item that met the shortage waits."""
    pipeline = ff.Pipeline("pages")

    @pipeline.each(retry=ff.Retry(0, first=0.0))
    def convert(item: ff.ItemWork) -> Any:
        if item.input == 3:
            raise FULL
        return item.key

    task = live.client.submit(live.know(pipeline), items=range(30))
    with live.working(concurrency=2):
        eventually(lambda: live.client.get(task.id).done == 29)
        assert live.client.get(task.id).failed == 0
        eventually(lambda: FREE_SPACE in str(live.client.get(task.id).wait_reason))


def test_a_turn_that_gets_no_file_is_taken_again(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished results are kept in memory meanwhile, and the worker continues."""
    tries = iter([FULL, OSError(errno.EMFILE, "Too many open files")])

    def refuse(*arguments: Any, **named: Any) -> Any:
        settled = arguments[4]
        if settled and (error := next(tries, None)) is not None:
            raise error
        return take_turn(*arguments, **named)

    monkeypatch.setattr(engine_worker, "take_turn", refuse)
    task = live.client.submit(live.know(batch()), items=["a"])
    with live.working():
        done = live.until(task, "completed")
    assert next(tries, None) is None
    assert [(item.failures, item.attempts) for item in live.client.items(done.id)] == [(0, 1)]


def test_items_of_a_split_that_get_no_file_are_written_later(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    """The split itself is not called again."""
    tries, calls = iter([FULL, FULL]), Counter[str]()

    def refuse(*arguments: Any, **named: Any) -> Any:
        if (error := next(tries, None)) is not None:
            raise error
        return write_split(*arguments, **named)

    monkeypatch.setattr(calling, "write_split", refuse)
    pipeline = ff.Pipeline("many")

    @pipeline.split(retry=ff.Retry(0))
    def cut(task: ff.TaskWork) -> Any:
        calls["cut"] += 1
        yield from range(CHUNK + 1)

    @pipeline.each
    async def convert(item: ff.ItemWork) -> None:
        return None

    task = live.client.submit(live.know(pipeline))
    with live.working(concurrency=500):
        assert live.until(task, "completed", 100).done == CHUNK + 1
    assert next(tries, None) is None
    assert calls == {"cut": 1}


def test_a_child_that_cannot_load_a_handler_for_want_of_files_fails_nothing(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(0)))
    task = installation.client.submit(pipeline, items=range(1))
    [claimed] = installation.worker().claim()
    [stage] = pipeline.stages.values()
    with installation.store.read() as tx:
        row = tx.tasks.resolve(task.id)
    request = ChildRequest("no.such.module", None, "convert", stage, False, row, (claimed,))

    def refuse(*_: Any) -> Any:
        raise ImportError("libx.so: cannot open shared object file: Too many open files")

    ending = child._settlement(lambda: installation.store, request, lambda: None, NoClock())
    assert isinstance(ending, Settlement)
    assert ending.ending == "fail"
    monkeypatch.setattr(child, "find_handler", refuse)
    ending = child._settlement(lambda: installation.store, request, lambda: None, NoClock())
    assert isinstance(ending, Settlement)
    assert (ending.ending, ending.counted, ending.short) == ("back_off", False, True)


def test_a_probe_looks_at_files_and_both_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "data" / "scratch"
    here = Shortages(lambda: "worker", scratch)
    assert here.probe() is None
    assert list(scratch.iterdir()) == [], "a probe leaves nothing behind"
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert "TMPDIR" in str(here.probe())
    (tmp_path / "gone").mkdir()
    assert here.probe() is None
    opened: list[int] = []

    def refuse(*_: Any) -> int:
        if len(opened) == shortages.PROBED_FILES - 1:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        opened.append(os.dup(0))
        return opened[-1]

    monkeypatch.setattr(os, "open", refuse)
    assert MORE_FILES in str(here.probe())
    monkeypatch.undo()
    for descriptor in opened:
        with pytest.raises(OSError, match="Bad file"):
            os.fstat(descriptor)


def test_trouble_of_another_kind_does_not_hold_up_a_worker(tmp_path: Path) -> None:
    scratch = tmp_path / "file" / "scratch"
    scratch.parent.write_text("a file where a folder should be")
    assert Shortages(lambda: "worker", scratch).probe() is None


def test_the_wait_begins_once_and_ends_with_a_line_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    here = Shortages(lambda: "worker", tmp_path)
    assert (here.lasts, here.seconds_to_probe()) == (False, None)
    here.note()
    assert (here.lasts, here.seconds_to_probe()) == (True, 0.0)
    here.end("No space left. Free some space on that disk")
    waits = here.seconds_to_probe()
    assert waits is not None
    assert 0 < waits <= shortages.FIRST_PAUSE
    here.note()
    assert here.seconds_to_probe() != 0.0, "another item changes nothing about the wait"
    for _ in range(10):
        here.end("No space left. Free some space on that disk")
    assert (here.seconds_to_probe() or 0) <= shortages.LONGEST_PAUSE
    here.end(None)
    assert (here.lasts, here.seconds_to_probe()) == (False, None)
    said = [record.getMessage() for record in caplog.records]
    assert [line for line in said if "Free some space on that disk; work then resumes by itself" in line] == said[:1]
    assert len(said) == 2
    assert "Resuming after" in said[1]
