"""No garbage collection runs while SQLite's write lock is held."""

import gc
import os
import threading
from collections.abc import Iterator

import pytest

from fanfold.store.database import Database

MANY = 5_000


@pytest.fixture
def database(sqlite_url: str) -> Iterator[Database]:
    """A database on SQLite."""
    made = Database(sqlite_url)
    yield made
    made.close()


def collections_while(database: Database) -> int:
    """How many collections this thread has seen while it held the lock and left much garbage behind."""
    seen: list[str] = []
    me = threading.get_ident()

    def hear(phase: str, _info: dict[str, int]) -> None:
        if threading.get_ident() == me:
            seen.append(phase)

    gc.callbacks.append(hear)
    try:
        with database.write():
            seen.clear()  # Collections before the lock was held are not its concern.
            kept = [[number] for number in range(MANY)]
            assert len(kept) == MANY
            return seen.count("start")
    finally:
        gc.callbacks.remove(hear)


def test_no_garbage_is_collected_while_the_lock_is_held(database: Database) -> None:
    assert collections_while(database) == 0
    assert gc.isenabled()


def test_the_collector_goes_on_after_a_transaction_that_failed(database: Database) -> None:
    with pytest.raises(RuntimeError), database.write():
        raise RuntimeError("no")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off(database: Database) -> None:
    gc.disable()
    try:
        with database.write():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_process_forked_while_the_lock_is_held_collects_its_garbage(database: Database) -> None:
    with database.write():
        child = os.fork()
        if child == 0:
            os._exit(0 if gc.isenabled() else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
