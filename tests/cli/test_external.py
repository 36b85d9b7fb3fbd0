"""A person sees external jobs, and resolves those with an unknown outcome."""

from pathlib import Path

from fanfold.engine.client import Client
from fanfold.running.terminal.exit_codes import Exit
from tests.cli.shell import Shell
from tests.engine.jobs import JobService, raising
from tests.installation import Installation


def submitted(shell: Shell, tmp_path: Path, service: JobService) -> tuple[Installation, str]:
    installation = Installation(shell.database, tmp_path / "data", None)
    pipeline = installation.know(service.pipeline(find=False))
    task = installation.client.submit(pipeline, items=["x", "y"])
    installation.work()
    return installation, task.id


def test_external_jobs_are_listed_and_decided_about(shell: Shell, tmp_path: Path) -> None:
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    installation, task = submitted(shell, tmp_path, service)
    said = shell.ok("external", task)
    assert [word for word in ("unknown", f"{task}/render/1", "job-2") if word not in said] == []
    [held, fine] = shell.json("external", task)
    assert (held["item"], held["state"], held["job"], fine["state"]) == ("1", "unknown", None, "started")
    assert "waits for you" in shell.ok("show", task)
    assert "it is unknown whether the external job" in shell.ok("items", task)
    assert "has no external job for item 9" in shell.fails(Exit.NOT_FOUND, "external", task, "lost", "--item", "9")
    assert task in shell.ok("external", task, "lost", "--item", "1", "--reason", "not in their list")
    assert "not in their list" in shell.ok("events", task)
    installation.work()
    assert Client(store=installation.store).get(task).state == "completed"
    assert service.doubles == {}
    assert "no external job of unknown outcome" in shell.fails(Exit.ILLEGAL_MOVE, "external", task, "resend")
    installation.store.close()


def test_a_task_without_external_jobs_says_so(shell: Shell) -> None:
    task = shell.submit("words", "a")
    assert shell.type("external", task).stderr == "No external jobs.\n"
    assert shell.json("external", task) == []
