"""The commands that operate an installation work."""

import json
from pathlib import Path

import sqlalchemy as sa

from fanfold.engine.client import Client
from fanfold.engine.queries.doctor import DoctorCheck, data_folder, disk, schema
from fanfold.running.terminal.exit_codes import Exit
from fanfold.store.schema import tables
from fanfold.store.upgrade import migrate
from tests.cli.shell import Shell


def test_a_fresh_database_is_told_and_upgraded(tmp_path: Path) -> None:
    shell = Shell(f"sqlite:///{tmp_path / 'new.db'}", tmp_path / "data")
    assert "is empty" in shell.ok("db", "current")
    assert shell.json("db", "upgrade")["before"] is None
    assert shell.json("db", "current")["fits"]
    assert "already" in shell.ok("db", "upgrade")


def test_an_upgrade_keeps_the_data(shell: Shell) -> None:
    task = shell.submit("words", "a")
    shell.ok("db", "upgrade")
    assert shell.json("show", task)["state"] == "active"


def test_prune_removes_what_finished_long_ago(shell: Shell, client: Client) -> None:
    old, new = shell.submit("words", "a"), shell.submit("words", "b")
    shell.tick("words")
    with client.store.write() as tx:
        past = tx.clock.before(40 * 86_400.0)
        tx.connection.execute(sa.update(tables.tasks).where(tables.tasks.c.id == old).values(finished_at=past))
    assert shell.json("prune", "--days", "50") == {"removed": 0}
    assert shell.ok("prune") == "Removed 1 task\n"
    assert [task["id"] for task in shell.json("tasks")] == [new]


def test_doctor_is_content_with_a_healthy_installation(shell: Shell) -> None:
    answer = shell.json("doctor")
    assert answer["healthy"]
    names = {check["name"] for check in answer["checks"]}
    assert {
        "database",
        "schema",
        "clock",
        "workers",
        "served",
        "abandoned items",
        "unclosed tasks",
        "data folder",
        "disk",
    } <= names
    assert "problem" not in shell.ok("doctor")


def test_doctor_finds_work_that_nobody_serves(shell: Shell) -> None:
    shell.submit("words", "a")
    result = shell.type("doctor")
    assert result.exit_code == Exit.UNHEALTHY
    assert "No worker serves words.shout" in result.stdout


def test_doctor_finds_items_of_dead_workers_and_tasks_that_nobody_closed(shell: Shell, client: Client) -> None:
    shell.submit("words", "a")
    with client.store.write() as tx:
        now, past = tx.clock.now, tx.clock.before(3_600.0)
        lost = {"state": "running", "lease": 1, "worker": "gone", "started_at": now, "deadline_at": past}
        tx.connection.execute(sa.update(tables.items).values(lost))
        tx.connection.execute(sa.text("INSERT INTO permits (item, lease, name) VALUES (-1, 1, 'x')"))
    found = {check["name"]: check["status"] for check in shell_checks(shell)}
    assert found["abandoned items"] == found["hanging items"] == found["stale permits"] == "warning"


def test_doctor_tells_what_waits_for_a_person(shell: Shell) -> None:
    shell.ok("pause", shell.submit("words", "a"))
    tasks = next(check for check in shell_checks(shell) if check["name"] == "tasks")
    assert (tasks["fact"], tasks["advice"]) == ("1 paused", "A person should look at them.")
    assert tasks["command"] == "fanfold tasks --state paused"
    assert "A person should look at them. Run: fanfold tasks --state paused" in shell.type("doctor").stdout


def test_doctor_goes_on_without_a_database(sqlite_shell: Shell) -> None:
    result = sqlite_shell.type("doctor", "--database", "postgresql://nobody@127.0.0.1:1/x")
    assert result.exit_code == Exit.UNHEALTHY
    assert "Cannot use the database" in result.stdout
    assert "disk" in result.stdout
    assert sqlite_shell.type("doctor", "--database", "nonsense").exit_code == Exit.UNHEALTHY


def test_doctor_judges_the_schema() -> None:
    assert schema(migrate.REVISIONS[-1]).status == "ok"
    assert schema(None).status == "warning"
    assert schema("9999").status == "problem"


def test_doctor_judges_the_data_folder(tmp_path: Path) -> None:
    assert data_folder(tmp_path / "not" / "yet").fact.endswith("(created at first use)")
    assert not list(tmp_path.iterdir())
    assert data_folder(Path("/proc/nowhere")).status == "problem"
    assert isinstance(disk(tmp_path), DoctorCheck)


def shell_checks(shell: Shell) -> list[dict[str, str]]:
    """What the doctor finds, whatever its exit code."""
    checks: list[dict[str, str]] = json.loads(shell.type("doctor", "--json").stdout)["checks"]
    return checks
