"""Files that several threads write at once are recorded in one transaction, each for its own attempt."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import fanfold as ff
from fanfold.engine.handlers.files.file_records import FileRecord, FileRecorder, recorder_of
from fanfold.store.store import Transaction
from tests.engine.pipelines import batch
from tests.installation import HandWorker, Installation, number_of
from tests.waiting import eventually


class Turns:
    """Counts write transactions of a store, holds up the first one, and lets the second fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, installation: Installation, fail: str = "") -> None:
        self.begun = 0
        self.go_on = threading.Event()
        write = installation.store.write

        @contextmanager
        def counted() -> Iterator[Transaction]:
            self.begun += 1
            turn = self.begun
            self.go_on.wait(60)
            with write() as tx:
                yield tx
                if turn == 2 and fail == "before the commit":
                    raise ff.DatabaseProblem("refused", code="refused")
            if turn == 2 and fail == "after the commit":
                raise ff.DatabaseProblem("lost", code="lost")

        monkeypatch.setattr(installation.store, "write", counted)


def records(installation: Installation, number: int) -> list[FileRecord]:
    """Files of as many attempts, which hold their leases."""
    task = installation.client.submit(installation.know(batch(timeout=None)), items=[str(n) for n in range(number)])
    worker: HandWorker = installation.worker()
    claimed = worker.claim(number)
    row = number_of(installation, task)
    return [FileRecord(installation.store.keep(task.id, "a.txt", b"a", one.id, one.lease), row, one) for one in claimed]


def at_once(installation: Installation, turns: Turns, some: list[FileRecord]) -> list[bool | Exception]:
    """Record all of them from threads of their own; the others arrive while the first one is written."""
    recorder = FileRecorder()
    told: dict[int, bool | Exception] = {}

    def record(number: int) -> None:
        try:
            told[number] = recorder.record(installation.store, some[number])
        except ff.DatabaseProblem as problem:
            told[number] = problem

    threads = [threading.Thread(target=record, args=(number,)) for number in range(len(some))]
    threads[0].start()
    eventually(lambda: turns.begun == 1)
    for thread in threads[1:]:
        thread.start()
    eventually(lambda: len(recorder._waiting) == len(some) - 1)
    turns.go_on.set()
    for thread in threads:
        thread.join()
    return [told[number] for number in range(len(some))]


def recorded(installation: Installation) -> set[str]:
    return {key for (key,) in installation.sql("SELECT key FROM blobs")}


def test_those_that_wait_are_written_together(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    some = records(installation, 5)
    turns = Turns(monkeypatch, installation)
    assert at_once(installation, turns, some) == [True] * 5
    assert turns.begun == 2
    assert recorded(installation) == {one.file.key for one in some}


def test_an_attempt_that_lost_its_lease_records_nothing_and_hinders_nobody(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = records(installation, 4)
    some[2].claimed = some[2].claimed._replace(lease=some[2].claimed.lease + 1)
    turns = Turns(monkeypatch, installation)
    assert at_once(installation, turns, some) == [True, True, False, True]
    assert recorded(installation) == {one.file.key for one in some} - {some[2].file.key}


@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_an_error_is_told_to_one_and_the_others_write_again(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    some = records(installation, 4)
    turns = Turns(monkeypatch, installation, fail=when)
    told = at_once(installation, turns, some)
    [failed] = [number for number, one in enumerate(told) if isinstance(one, ff.DatabaseProblem)]
    assert [one for one in told if one is True] == [True] * 3
    lost = {some[failed].file.key} if when == "before the commit" else set()
    assert recorded(installation) == {one.file.key for one in some} - lost


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_forked_process_waits_for_no_thread_of_its_parent(installation: Installation) -> None:
    recorder = recorder_of(installation.store)
    with recorder._turn, recorder._guard:
        child = os.fork()
        if child == 0:
            free = recorder_of(installation.store)
            os._exit(0 if free._turn.acquire(timeout=0) and free._guard.acquire(timeout=0) else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert recorder_of(installation.store) is recorder
