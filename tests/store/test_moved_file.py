"""Nothing is lost when SQLite's file is moved away from running processes and put back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fanfold.errors import DatabaseProblem
from fanfold.settings import Settings
from fanfold.store.database import Database
from fanfold.store.dialects.notify import Hints
from fanfold.store.dialects.sqlite_parts import opened_file
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from fanfold.store.dialects.write_lock import WriteLock
from fanfold.store.store import Store
from fanfold.store.upgrade import migrate

ROOT = Path(__file__).parents[2]
LIVING = """
import sys
from fanfold.errors import DatabaseProblem
from fanfold.store.store import Store
from fanfold.settings import Settings

store = Store.open(Settings(data=sys.argv[1]))
for line in sys.stdin:
    try:
        with store.write() as tx:
            tx.workers.register(line.strip(), "host", 1, [], 1)
        print("kept", flush=True)
    except DatabaseProblem as problem:
        print(problem, flush=True)
"""
"""Stores what it reads, line by line, and reports it."""


class Living:
    """A process that has the database open."""

    def __init__(self, data: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", LIVING, str(data)],
            env=os.environ | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def keep(self, name: str) -> str:
        """What it says when it has tried to keep a name."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{name}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def insist(self, name: str) -> None:
        """Try until the name is stored, as workers do; at most two attempts are needed, one for each pool of connections."""
        said: list[str] = []
        while len(said) < 3 and (not said or said[-1] != "kept"):
            said.append(self.keep(name))
        assert said[-1] == "kept", said

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def living(data: Path) -> Iterator[Living]:
    made = Living(data)
    yield made
    made.kill()


def look(data: Path) -> subprocess.CompletedProcess[str]:
    """Another process that lists the tasks."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FANFOLD_")}
    environment |= {"PYTHONPATH": str(ROOT), "FANFOLD_DATA": str(data)}
    command = [sys.executable, "-m", "fanfold", "tasks"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def kept(data: Path) -> set[str]:
    """The names that a process finds that has seen nothing before; the file is sound."""
    with closing(sqlite_module().connect(str(data / "fanfold.db"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return {name for (name,) in connection.execute("SELECT id FROM workers")}


def test_nothing_is_lost_when_others_look_for_a_file_that_is_moved_away_and_put_back(
    data: Path, living: Living
) -> None:
    path, away = data / "fanfold.db", data / "away.db"
    assert living.keep("before") == "kept"
    path.rename(away)
    looked = look(data)
    assert looked.returncode != 0
    assert f"The database file {path} was moved or removed" in looked.stderr
    assert "moved or replaced" in living.keep("meanwhile")
    assert not path.exists(), "no empty file takes its place"
    away.rename(path)
    assert living.keep("after") == "kept"
    looked = look(data)
    assert (looked.returncode, looked.stderr) == (0, "No tasks.\n")
    living.kill()
    assert kept(data) == {"before", "after"}


def unlink_log(data: Path, *, index: bool = False) -> None:
    """What SQLite does to the log, and sometimes to its index, when another program opens the name while the file is away."""
    path, away = data / "fanfold.db", data / "away.db"
    path.rename(away)
    with closing(sqlite_module().connect(str(path))) as other:
        other.execute("SELECT count(*) FROM sqlite_master").fetchall()
    assert not (data / "fanfold.db-wal").exists()
    if index:
        (data / "fanfold.db-shm").unlink()
    away.rename(path)


@pytest.mark.parametrize("index", [False, True])
def test_a_living_process_goes_on_with_the_right_log_when_another_program_removed_its_own(
    data: Path, living: Living, index: bool
) -> None:
    assert living.keep("before") == "kept"
    unlink_log(data, index=index)
    living.insist("after")
    looked = look(data)
    assert (looked.returncode, looked.stderr) == (0, "No tasks.\n")
    assert living.keep("last") == "kept"
    living.kill()
    assert kept(data) == {"before", "after", "last"}


@pytest.mark.parametrize("index", [False, True])
def test_two_living_processes_change_over_to_the_same_log(data: Path, living: Living, index: bool) -> None:
    assert living.keep("first") == "kept"
    other = Living(data)
    try:
        assert other.keep("second") == "kept"
        unlink_log(data, index=index)
        living.insist("third")
        other.insist("fourth")
        assert living.keep("fifth") == "kept"
    finally:
        other.kill()
    living.kill()
    assert kept(data) == {"first", "second", "third", "fourth", "fifth"}


def test_all_connections_of_a_process_leave_a_removed_log_together(data: Path) -> None:
    """Those of one process share what SQLite knows of the log, so a new one beside an old one would read the wrong pages."""
    with closing(Store.open(Settings(data=str(data)))) as store, closing(Hints(store.database)) as hints:
        lock = WriteLock(store.database)
        lock.probe()
        hints.wait(threading.Event(), 0.1)
        unlink_log(data, index=True)
        with pytest.raises(DatabaseProblem, match="program removed the database log"), store.write():
            pass
        with pytest.raises(DatabaseProblem, match="program removed the database log"), store.read():
            pass
        assert hints.wait(threading.Event(), 0.1)
        lock._probed_at = -100.0
        lock.probe()
        with store.write() as tx:
            tx.workers.register("after", "host", 1, [], 1)
        lock.close()
    assert kept(data) == {"after"}


def test_nothing_is_written_beside_a_log_that_another_program_writes_to(data: Path) -> None:
    with closing(Store.open(Settings(data=str(data)))) as store:
        with store.write() as tx:
            tx.workers.register("before", "host", 1, [], 1)
        unlink_log(data, index=True)
        (data / "fanfold.db-wal").write_bytes(b"another log")
        for _ in range(2):
            with pytest.raises(DatabaseProblem, match="program replaced the database log"), store.write():
                pass


@pytest.mark.parametrize("left", ["-wal", "-shm"])
def test_no_database_is_created_where_there_was_one(tmp_path: Path, left: str) -> None:
    path = tmp_path / "fanfold.db"
    path.with_name(path.name + left).write_bytes(b"left")
    for attempt in (lambda: Store.open(Settings(data=str(tmp_path))), lambda: migrate.upgrade(f"sqlite:///{path}")):
        with pytest.raises(DatabaseProblem, match=r"was moved or removed.*Nothing was created") as caught:
            attempt()
        assert caught.value.code == "unreachable"
        assert str(tmp_path) not in caught.value.public
    assert not path.exists()


def test_an_empty_file_in_the_place_of_the_database_does_not_cost_its_log(tmp_path: Path) -> None:
    path, log = tmp_path / "fanfold.db", tmp_path / "fanfold.db-wal"
    log.write_bytes(b"commits")
    path.touch()
    with pytest.raises(DatabaseProblem, match="was moved or removed"):
        Store.open(Settings(data=str(tmp_path)))
    assert log.read_bytes() == b"commits"


def test_files_of_tasks_tell_that_there_was_a_database(tmp_path: Path) -> None:
    settings = Settings(data=str(tmp_path))
    with closing(Store.open(settings)) as store:
        store.keep("t-1", "page", b"one")
    path = tmp_path / "fanfold.db"
    path.unlink()
    with pytest.raises(DatabaseProblem, match=r"files of its tasks are in .*fanfold db upgrade"):
        Store.open(settings)
    assert not path.exists()
    migrate.upgrade(settings.database_url)
    Store.open(settings).close()


def test_looking_at_a_database_that_does_not_exist_creates_none(tmp_path: Path) -> None:
    path = tmp_path / "fanfold.db"
    database = Database(f"sqlite:///{path}")
    assert migrate.current(database) is None
    assert migrate.problem_with(database) is None
    assert [step.name for step in migrate.plan(database).steps] == list(migrate.REVISIONS)
    for attempt in (database.read, database.write):
        with pytest.raises(DatabaseProblem, match=f"There is no database {path}"), attempt():
            pass
    with pytest.raises(DatabaseProblem, match="There is no database"):
        opened_file.connect(path)
    assert list(tmp_path.iterdir()) == []
    database.close()


def test_others_that_create_the_database_at_the_same_moment_are_no_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the file and the look at its log, another process may have made both."""
    path = tmp_path / "fanfold.db"
    sizes: Any = opened_file._size
    looks: list[Path] = []

    def size(one: Path) -> int | None:
        found: int | None = sizes(one)
        if not looks:
            path.write_bytes(b"made")
            path.with_name("fanfold.db-wal").write_bytes(b"made")
        looks.append(one)
        return found

    monkeypatch.setattr(opened_file, "_size", size)
    assert not opened_file.is_new(path)
