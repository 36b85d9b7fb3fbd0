"""`fanfold serve` runs page, API and workers with one command, and stops when told to."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from fanfold.running.terminal.exit_codes import Exit
from tests.apps.pdf.making import make_pdf
from tests.cli.conftest import shell_on
from tests.cli.shell import Shell
from tests.waiting import eventually

TEXT = "Fanfold paper comes folded, page on page, in one long strip. "


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Commands in processes of their own."""
    yield from shell_on(database_url, tmp_path / "data")


@pytest.fixture
def sqlite_shell(tmp_path: Path) -> Iterator[Shell]:
    """The same on SQLite only."""
    yield from shell_on(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data")


def serve(shell: Shell, *words: str, **environment: str) -> tuple["subprocess.Popen[str]", str]:
    """A server on a free port, and its address."""
    process = shell.start("serve", "--port", "0", *words, **environment)
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://\S+:\d+", line)
    assert found, line
    return process, found[0]


def finished(address: str, task: str, **rest: Any) -> Any:
    """The task, once it is finished."""
    return eventually(
        lambda: (now := httpx2.get(f"{address}/api/v1/tasks/{task}", **rest).json())["finished_at"] and now, 60
    )


@pytest.mark.one_database
def test_one_command_converts_what_is_uploaded_and_stops_with_open_streams(shell: Shell, tmp_path: Path) -> None:
    process, address = serve(shell)
    source = make_pdf(tmp_path / "book.pdf", [TEXT * 5, TEXT * 6])
    with source.open("rb") as file:
        made = httpx2.post(f"{address}/api/v1/tasks", data={"pipeline": "pdf"}, files={"file": ("book.pdf", file)})
    assert made.status_code == 201
    task = finished(address, made.json()["id"])
    assert task["state"] == "completed"
    assert TEXT.strip() in httpx2.get(f"{address}/api/v1/tasks/{task['id']}/result").text
    children = psutil.Process(process.pid).children(recursive=True)
    with httpx2.stream("GET", f"{address}/api/v1/stream", timeout=30) as stream:
        assert stream.status_code == 200
        process.send_signal(signal.SIGTERM)
        list(stream.iter_lines())  # It ends.
        assert process.wait(60) == 0
    assert not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in children)


def test_a_server_without_workers_leaves_the_work_to_others(sqlite_shell: Shell) -> None:
    _, address = serve(sqlite_shell, "--no-workers")
    wish = {"pipeline": "demo", "options": {"items": 2, "seconds": 0}}
    task = httpx2.post(f"{address}/api/v1/tasks", json=wish).json()
    assert httpx2.get(f"{address}/health").json()["workers"] == 0
    assert httpx2.get(f"{address}/api/v1/tasks/{task['id']}").json()["wait_reason"] == "no worker serves stage pages"
    sqlite_shell.start("worker", "demo")
    assert finished(address, task["id"])["state"] == "completed"


def test_a_worker_of_the_server_that_is_killed_is_replaced(sqlite_shell: Shell) -> None:
    process, address = serve(sqlite_shell)

    def workers() -> list[Any]:
        found = httpx2.get(f"{address}/api/v1/workers").json()
        return [worker for worker in found if worker["alive"]]

    first = eventually(workers)[0]
    assert psutil.Process(first["pid"]).ppid() == process.pid
    psutil.Process(first["pid"]).kill()
    assert eventually(lambda: [one for one in workers() if one["pid"] != first["pid"]], 60)


def test_a_server_for_others_demands_a_token(sqlite_shell: Shell) -> None:
    refusal = sqlite_shell.fails(Exit.BAD_INPUT, "serve", "--host", "0.0.0.0", "--port", "0", "--no-workers")
    assert "fanfold tokens create" in refusal
    # A server with a host name is reached by others through a proxy.
    named = sqlite_shell.fails(
        Exit.BAD_INPUT, "serve", "--allow-host", "fanfold.example", "--port", "0", "--no-workers"
    )
    assert "fanfold.example requires tokens" in named
    secret = sqlite_shell.ok("tokens", "create", "root", "--role", "admin").strip()
    _, address = serve(sqlite_shell, "--host", "0.0.0.0", "--no-workers")
    assert httpx2.get(f"{address}/api/v1/tasks").status_code == 401
    page = httpx2.get(f"{address}/", headers={"accept": "text/html"}, follow_redirects=True)
    assert page.url.path == "/login"
    known = {"authorization": f"Bearer {secret}"}
    assert httpx2.get(f"{address}/api/v1/tasks", headers=known).json()["tasks"] == []


def test_an_address_that_is_taken_is_told_with_a_way_out(sqlite_shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refusal = sqlite_shell.fails(Exit.BAD_INPUT, "serve", "--port", str(port), "--no-workers")
    assert f"--port {port + 1}" in refusal
