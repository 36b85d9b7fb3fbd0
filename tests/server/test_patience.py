"""The server stays responsive with full disks, locked or silent databases, and clients that stop in the middle."""

import errno
import socket
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from fanfold.errors import DatabaseProblem
from fanfold.server.requests import guard, listening
from fanfold.server.threads import database_health as pulse
from fanfold.server.threads import database_threads as threads
from fanfold.store import database
from fanfold.store.dialects.sqlite_parts.sqlite_module import sqlite_module
from fanfold.store.store import Store
from tests.cli.samples import pages, words
from tests.installation import Installation
from tests.server.asking import Asker, served, token
from tests.waiting import eventually


def test_no_room_for_an_upload_is_told_with_a_way_out(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", full)
    asker = Asker(sqlite_installation)
    files = {"file": ("book.txt", b"x" * 3_000_000)}
    for path, data in (("/tasks", {"pipeline": "pages"}), ("//submit", {"pipeline": "pages"})):
        answer = asker.ask("POST", path, data=data, files=files, headers={"accept": "*/*"})
        assert (answer.status_code, answer.json()["code"]) == (507, "no_space"), answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert "TMPDIR" in answer.json()["detail"]
    assert sqlite_installation.client.list() == []


def test_no_folder_for_uploads_is_told_with_a_way_out(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "nowhere")])
    files = {"file": ("book.txt", b"x" * 3_000_000)}
    answer = Asker(sqlite_installation).ask("POST", "/tasks", data={"pipeline": "pages"}, files=files)
    assert (answer.status_code, answer.json()["code"]) == (507, "no_space")


def test_commands_that_wait_for_the_write_lock_hold_nobody_else_up(sqlite_installation: Installation) -> None:
    here = sqlite_installation
    path = here.store.settings.database_url.removeprefix("sqlite:///")
    with served(here) as (address, place), ThreadPoolExecutor(40) as others:
        httpx2.get(f"{address}/health")
        with closing(sqlite_module().connect(path, isolation_level=None)) as blocker:
            blocker.execute("BEGIN IMMEDIATE")
            wish = {"pipeline": "words", "items": ["x"]}
            posts = [others.submit(httpx2.post, f"{address}/api/v1/tasks", json=wish, timeout=120) for _ in range(30)]
            eventually(lambda: threads_named("AnyIO worker thread") >= threads.WRITERS)
            for wanted in ("/health", "/static/base.js", "/api/v1/tasks", "/", "/login"):
                began = time.monotonic()
                answer = httpx2.get(address + wanted, timeout=60)
                assert answer.status_code == 200, answer.text
                assert time.monotonic() - began < 30, wanted
            assert not any(post.done() for post in posts)
            blocker.execute("ROLLBACK")
        assert [post.result().status_code for post in posts] == [201] * 30
        assert place.live.looks >= 0


def test_the_threads_of_the_server_do_not_exceed_its_connections() -> None:
    requests = threads.READERS + threads.WRITERS + threads.UNLOCKERS + threads.MAKERS
    live_reader, health_check = 1, 1
    assert requests + live_reader + health_check <= database.POOL_SIZE + database.OVERFLOW


def threads_named(beginning: str) -> int:
    return sum(thread.name.startswith(beginning) for thread in threading.enumerate())


def test_a_command_that_gets_no_thread_is_refused_and_may_come_again(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "WAIT_SECONDS", 0.05)
    monkeypatch.setattr(threads, "WRITERS", 1)
    here = sqlite_installation
    task = here.client.submit(words, items=["x"])
    begun, go_on = threading.Event(), threading.Event()
    real = Store.transact

    def slow(*arguments: Any, **named: Any) -> Any:
        begun.set()
        return go_on.wait(60) and real(*arguments, **named)

    monkeypatch.setattr(Store, "transact", slow)
    with served(here) as (address, _), ThreadPoolExecutor(1) as other:
        first = other.submit(httpx2.post, f"{address}/api/v1/tasks/{task.id}/pause", timeout=60)
        assert begun.wait(60)
        refused = httpx2.post(f"{address}/api/v1/tasks/{task.id}/cancel", json={}, timeout=60)
        assert (refused.status_code, refused.json()["code"]) == (503, "busy")
        assert refused.headers["retry-after"]
        go_on.set()
        assert first.result().status_code == 200


def test_the_health_is_told_in_time_also_when_the_database_is_silent(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pulse, "LOOK_SECONDS", 0.05)
    go_on = threading.Event()
    before = threads_named("database-health")  # Of servers of other tests, which may be about to end.
    monkeypatch.setattr(pulse.DatabaseHealth, "_look", lambda _: go_on.wait(60) and 1)
    with served(sqlite_installation) as (address, _):
        for _ in range(5):
            answer = httpx2.get(f"{address}/health", timeout=60)
            assert (answer.status_code, answer.json()["code"]) == (503, "unreachable")
        assert threads_named("database-health") <= before + 1
        go_on.set()
        eventually(lambda: httpx2.get(f"{address}/health").status_code == 200)


@pytest.mark.parametrize("path", ["//health", "/me"])
def test_nobody_is_told_where_the_database_is(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    secret = token(installation, "ann")
    asker = Asker(installation, demands_token=True)
    said = 'connection to server at "db.internal.example", port 5432 failed: refused for user "fanfold"'

    def away(self: Store) -> Any:
        raise DatabaseProblem(f"Cannot use the database postgresql://db.internal.example/fanfold: {said}.")

    monkeypatch.setattr(Store, "read", away)
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Bearer {secret}"}):
        answer = asker.ask("GET", path, headers=headers)
        assert answer.status_code in (401, 503)
        for part in ("internal", "5432", "postgresql", "sqlite", "fanfold.db", str(installation.store.settings.data)):
            assert part not in answer.text, answer.text


def test_what_a_real_database_says_of_itself_stays_in_the_log(installation: Installation) -> None:
    name = str(installation.store.database.url.database)
    with pytest.raises(DatabaseProblem) as problem, installation.store.database.read() as connection:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")
    assert name in problem.value.message
    assert name not in problem.value.public


def test_half_a_request_ends(sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.3)
    with served(sqlite_installation) as (address, _):
        host, port = address.removeprefix("http://").split(":")
        for half in (b"", b"GET / HT", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"):
            with socket.create_connection((host, int(port)), timeout=60) as client:
                client.sendall(half)
                assert b"408" in received(client)


def test_half_a_second_request_ends_too(sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.3)
    with served(sqlite_installation) as (address, _):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=60) as client:
            client.sendall(b"GET /static/base.css HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he")
            client.sendall(b"alth HTTP/1.1\r\nHo")
            assert received(client).startswith(b"HTTP/1.1 200")


def test_half_a_body_ends_and_a_stream_does_not(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(listening, "HEAD_SECONDS", 0.3)
    task = sqlite_installation.client.submit(words, items=["x"])
    with served(sqlite_installation) as (address, _):
        host, port = address.removeprefix("http://").split(":")
        head = b"POST /api/v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: %s\r\nContent-Length: 500\r\n\r\n"
        for kind, beginning in ((b"application/json", b"{"), (b"multipart/form-data; boundary=x", b"--x\r\n")):
            with socket.create_connection((host, int(port)), timeout=60) as client:
                client.sendall(head % kind + beginning)
                answer = received(client)
                assert b"408" in answer
                assert b"too_slow" in answer
        with httpx2.stream("GET", f"{address}/api/v1/tasks/{task.id}/stream", timeout=60) as stream:
            lines = stream.iter_lines()
            next(lines)
            time.sleep(1.0)
            sqlite_installation.client.cancel(task.id)
            assert any("cancelled" in line for line in lines)


def received(client: socket.socket) -> bytes:
    """Everything until the server closes."""
    found = b""
    while part := client.recv(65536):
        found += part
    return found


def test_advice_on_size_helps(tmp_path: Path) -> None:
    made = Installation(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data", None, upload_bytes=20_000_000)
    made.know(words, pages)
    with closing(made.store):
        asker = Asker(made)
        large = asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["x" * 11_000_000]})
        assert large.status_code == 413
        assert "multipart/form-data" in large.json()["detail"]
        assert "FANFOLD_UPLOAD_BYTES" not in large.json()["detail"]
        upload = asker.ask("POST", "/tasks", files={"file": ("x", b"x" * 21_000_000)})
        assert upload.status_code == 413
        assert "FANFOLD_UPLOAD_BYTES" in upload.json()["detail"]
        form = asker.ask("POST", "//login", data={"token": "x" * 20_000})
        assert "FANFOLD_UPLOAD_BYTES" not in form.json()["detail"]


def test_a_command_that_does_not_get_the_write_lock_is_refused_and_changes_nothing(
    sqlite_installation: Installation,
) -> None:
    task = sqlite_installation.client.submit(sqlite_installation.know(words), items=["a"])
    path = str(sqlite_installation.store.database.url.database)
    store = Store(sqlite_installation.store.settings, busy_seconds=0.2)
    with closing(sqlite_module().connect(path, isolation_level=None)) as other, closing(store):
        asker = Asker(sqlite_installation)
        asker.place.store = store
        other.execute("BEGIN IMMEDIATE")
        refused = asker.ask("POST", f"/tasks/{task.id}/pause")
        assert (refused.status_code, refused.json()["code"]) == (503, "unreachable")
        assert "holds its write lock" in refused.json()["detail"]
        other.execute("ROLLBACK")
        assert sqlite_installation.client.get(task.id).state == "active"
        assert asker.ask("POST", f"/tasks/{task.id}/pause").status_code == 200
