"""Readers notice a write lock that is held for long, without writing anything."""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanfold.errors import DatabaseProblem
from fanfold.store.database import Database
from fanfold.store.dialects import write_lock
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from fanfold.store.dialects.write_lock import WriteLock


class Clock:
    """A monotonic clock that a test turns."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def monotonic(self) -> float:
        """The time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(write_lock, "time", made)
    return made


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Any]:
    """Another program with the file open."""
    made = sqlite_module().connect(str(tmp_path / "some#thing?.db"), isolation_level=None)
    made.execute("PRAGMA journal_mode=WAL")
    made.execute("CREATE TABLE t (x)")
    yield made
    made.close()


@pytest.fixture
def lock(other: Any, tmp_path: Path) -> Iterator[WriteLock]:
    database = Database("sqlite:///x.db")
    database.url = database.url.set(database=str(tmp_path / "some#thing?.db"))
    made = WriteLock(database)
    yield made
    made.close()
    database.close()


def after(lock: WriteLock, clock: Clock, seconds: float) -> float:
    """What is known after a probe some seconds later."""
    clock.now += seconds
    lock.probe()
    return lock.held_seconds


def test_a_lock_that_is_kept_is_seen_and_let_go_by_itself(lock: WriteLock, clock: Clock, other: Any) -> None:
    assert after(lock, clock, 2) == 0
    other.execute("BEGIN IMMEDIATE")
    assert [after(lock, clock, 2) for _ in range(4)] == [0, 2, 4, 6]
    other.execute("ROLLBACK")
    assert after(lock, clock, 2) == 0
    other.execute("BEGIN IMMEDIATE")
    assert [after(lock, clock, 2) for _ in range(2)] == [0, 2]


def test_many_short_transactions_are_not_taken_for_a_long_one(lock: WriteLock, clock: Clock, other: Any) -> None:
    for number in range(10):
        other.execute("BEGIN IMMEDIATE")
        assert after(lock, clock, 2) == 0
        other.execute("INSERT INTO t VALUES (?)", [number])
        other.execute("COMMIT")


def test_a_probe_writes_nothing_and_is_not_made_too_often(
    lock: WriteLock, clock: Clock, other: Any, tmp_path: Path
) -> None:
    def written() -> list[tuple[str, int]]:
        return [(file.name, file.stat().st_size) for file in sorted(tmp_path.iterdir()) if file.suffix == ".db"]

    after(lock, clock, 2)
    version, before = other.execute("PRAGMA data_version").fetchone(), written()
    log = (tmp_path / "some#thing?.db-wal").stat().st_size
    for _ in range(20):
        after(lock, clock, 2)
    assert (other.execute("PRAGMA data_version").fetchone(), written()) == (version, before)
    assert (tmp_path / "some#thing?.db-wal").stat().st_size == log
    other.execute("BEGIN IMMEDIATE")
    assert after(lock, clock, 0.5) == 0
    assert after(lock, clock, 0.6) == 0
    assert after(lock, clock, 1.1) == pytest.approx(1.1)


def test_what_was_seen_long_ago_does_not_count(lock: WriteLock, clock: Clock, other: Any) -> None:
    other.execute("BEGIN IMMEDIATE")
    assert [after(lock, clock, 2) for _ in range(2)] == [0, 2]
    clock.now += 100
    assert lock.held_seconds == 0
    assert after(lock, clock, 2) == 0


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, clock: Clock) -> None:
    database = Database(f"sqlite:///{tmp_path / 'gone.db'}")
    assert after(WriteLock(database), clock, 2) == 0
    assert not (tmp_path / "gone.db").exists()
    database.close()
    assert after(WriteLock(Database("sqlite://")), clock, 2) == 0


def test_writers_of_one_process_take_turns_and_none_waits_longer_than_it_may(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'turns.db'}")
    database.access.create()
    hasty = Database(f"sqlite:///{tmp_path / 'turns.db'}", busy_seconds=0)
    begun: list[str] = []

    def write() -> None:
        with database.write():
            begun.append("second")

    with closing(database), closing(hasty):
        second = threading.Thread(target=write)
        with database.write():
            second.start()
            with pytest.raises(DatabaseProblem, match="locked"), hasty.write():
                pass
            assert not begun
        second.join()
        assert begun == ["second"]
        with hasty.write():
            pass
