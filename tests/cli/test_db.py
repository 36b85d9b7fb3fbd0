"""`fanfold db` says what it will do, and does only that."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from fanfold.store.database import Database
from fanfold.store.upgrade import migrate
from fanfold.store.upgrade.revisions import NEWEST
from tests.cli.shell import Shell


def older(shell: Shell) -> Database:
    """The shell's database, as the first version made it."""
    database = Database(shell.database)
    migrate.upgrade_database(database, "0001")
    return database


def test_a_dry_run_says_what_would_be_done_and_does_nothing(new_shell: Shell) -> None:
    database = older(new_shell)
    said = new_shell.ok("db", "upgrade", "--dry-run")
    assert f"is at revision 0001; this version needs {NEWEST}" in said
    assert "0010  Version 0.2: generations, degraded results" in said
    assert "To make a backup first: fanfold db backup FILE" in said
    assert migrate.current(database) == "0001"
    answer = new_shell.json("db", "upgrade", "--dry-run")
    assert (answer["before"], answer["after"], answer["steps"][-1]) == ("0001", "0001", NEWEST)
    assert f"from 0001 to {NEWEST}" in new_shell.ok("db", "upgrade")
    assert "already" in new_shell.ok("db", "upgrade", "--dry-run")
    database.close()


def test_a_dry_run_leaves_an_empty_database_empty(new_shell: Shell) -> None:
    assert new_shell.json("db", "upgrade", "--dry-run")["after"] is None
    assert "is empty" in new_shell.ok("db", "current")


def test_an_upgrade_says_who_is_at_work(shell: Shell, client: Client) -> None:
    """Also if there is nothing to do. Workers whose process is gone on this machine are not mentioned."""
    with client.store.write() as tx:
        tx.workers.register("worker-1", "elsewhere", 7, [], 1)
    (worker,) = shell.json("db", "upgrade", "--dry-run")["workers"]
    assert (worker["id"], worker["pid"], worker["may_go_on"], worker["revision"]) == ("worker-1", 7, True, NEWEST)


def test_a_database_that_is_not_whole_is_told_in_every_place(shell: Shell, client: Client) -> None:
    with client.store.write() as tx:
        tx.connection.exec_driver_sql("DROP TABLE permits")
    for words in (("tasks",), ("db", "upgrade"), ("db", "upgrade", "--dry-run"), ("worker",)):
        assert "is incomplete" in shell.fails(Exit.DATABASE, *words)
    assert "but no table permits" in shell.ok("db", "current")
    assert "but no table permits" in shell.type("doctor").stdout


def test_a_backup_is_whole_and_never_overwrites(new_shell: Shell, tmp_path: Path) -> None:
    task = new_shell.submit("words", "a")
    copy = tmp_path / "copy.db"
    assert f"to {copy}" in new_shell.ok("db", "backup", str(copy))
    assert new_shell.json("show", task, "--database", f"sqlite:///{copy}")["id"] == task
    assert "already exists" in new_shell.fails(Exit.BAD_INPUT, "db", "backup", str(copy))
    assert "There is no folder" in new_shell.fails(Exit.BAD_INPUT, "db", "backup", str(tmp_path / "no" / "copy.db"))
    assert [name for name in os.listdir(tmp_path) if name.startswith(".")] == []


def test_a_backup_of_an_older_database_is_what_it_was(new_shell: Shell, tmp_path: Path) -> None:
    older(new_shell).close()
    size = new_shell.json("db", "backup", str(tmp_path / "copy.db"))["bytes"]
    assert size == (tmp_path / "copy.db").stat().st_size
    with closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
        assert copy.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]


def test_there_is_no_backup_of_what_does_not_exist(new_shell: Shell, tmp_path: Path) -> None:
    assert "no database to copy" in new_shell.fails(Exit.DATABASE, "db", "backup", str(tmp_path / "copy.db"))
    assert not (tmp_path / "fanfold.db").exists()


def test_postgresql_has_a_tool_of_its_own_for_backups(new_shell: Shell, tmp_path: Path) -> None:
    place = ("--database", "postgresql://ada:secret@127.0.0.1:1/work")
    said = new_shell.fails(Exit.BAD_INPUT, "db", "backup", str(tmp_path / "copy"), *place)
    assert "pg_dump --format=custom" in said
    assert "secret" not in said


def test_a_worker_that_ends_for_the_database_has_a_code_of_its_own(new_shell: Shell) -> None:
    """It notices with its heartbeat, hands back its items, and says what to do."""
    task = new_shell.submit("words", "a")
    worker = new_shell.start("worker", "tests.cli.samples:words", FANFOLD_HEARTBEAT_SECONDS="0.2")
    with new_shell.client() as client:
        client.wait(task, timeout=60)
        with client.store.write() as tx:
            tx.connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    _, said = worker.communicate(timeout=100)
    assert worker.returncode == Exit.OUTDATED, said
    assert "Error: The database was upgraded to revision 9999" in said
