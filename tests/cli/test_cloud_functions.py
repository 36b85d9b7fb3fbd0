"""The handlers in `examples/cloud_functions` run with the events of their platforms, end in time, and repeat nothing."""

import asyncio
import importlib.util
import io
import json
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fanfold.engine.client import Client
from tests.cli.shell import SAMPLES, Shell

FOLDER = Path(__file__).parents[2] / "examples" / "cloud_functions"
EVENT = {
    "Type": "Timer",
    "TriggerName": "every_minute",
    "Time": "2026-11-18T08:00:00Z",
    "Message": json.dumps({"pipelines": [f"{SAMPLES}:words"]}),
}
"""What the timer of Tencent sends."""


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def function(shell: Shell, client: Client, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A function with the settings of an installation."""
    settings = client.store.settings
    monkeypatch.setenv("FANFOLD_DATABASE", settings.database_url)
    monkeypatch.setenv("FANFOLD_DATA", settings.data)
    return shell


def test_aws_lambda_works_within_the_time_that_its_context_has_left(function: Shell, client: Client) -> None:
    task = function.submit("words", "a", "b")
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 35_000)
    event = {"version": "0", "source": "aws.scheduler", "pipelines": [f"{SAMPLES}:words"]}
    report = loaded("aws_lambda").lambda_handler(event, context)
    assert (client.get(task).state, report["advanced"], report["finished"]) == ("completed", 1, 3)
    assert report["seconds"] <= 30.0
    assert json.loads(json.dumps(report)) == report | {"too_long": []}


def test_two_timers_of_tencent_at_once_repeat_nothing(function: Shell, client: Client) -> None:
    tasks = [function.submit("words", *"abcd") for _ in range(3)]
    reports: list[dict[str, Any]] = []
    handler = loaded("tencent_scf").main_handler
    threads = [threading.Thread(target=lambda: reports.append(handler(EVENT, None))) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(120)
    if any(client.get(task).state != "completed" for task in tasks):
        reports.append(handler(EVENT, None))
    assert [client.get(task).state for task in tasks] == ["completed"] * 3
    assert all(item.attempts == 1 for task in tasks for item in client.items(task))
    assert all(report["seconds"] <= 45.0 for report in reports)
    assert handler({**EVENT, "Message": "now"}, None)["finished"] == 0


@pytest.mark.one_database
def test_a_route_ticks_for_those_who_know_the_secret(function: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TICK_SECRET", "s3cret")
    route, told = loaded("tick_route"), []

    def start(status: str, _headers: Any) -> None:
        told.append(status)

    assert b"error" in b"".join(route.wsgi({"HTTP_AUTHORIZATION": "Bearer other"}, start))
    assert "next_due_seconds" in json.loads(b"".join(route.wsgi({"HTTP_AUTHORIZATION": "Bearer s3cret"}, start)))
    assert told == ["401 Unauthorized", "200 OK"]
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"authorization", b"Bearer s3cret")]}
    asyncio.run(route.asgi(scope, None, send))
    assert (sent[0]["status"], "advanced" in json.loads(sent[1]["body"])) == (200, True)
    monkeypatch.delenv("TICK_SECRET")
    assert route.tick("Bearer ")[0] == "401 Unauthorized"


@pytest.mark.one_database
def test_vercel_is_answered_if_it_sends_its_secret(function: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRON_SECRET", "s3cret")
    handler = loaded("vercel_tick").handler

    def asked(authorization: str) -> bytes:
        made = handler.__new__(handler)
        made.headers = {"authorization": authorization}
        made.wfile, made.requestline, made.request_version = io.BytesIO(), "GET /api/tick HTTP/1.1", "HTTP/1.1"
        made.client_address = ("127.0.0.1", 1)
        made.log_message = lambda *_: None
        made.do_GET()
        return bytes(made.wfile.getvalue())

    assert b" 401 " in asked("Bearer other").splitlines()[0]
    answer = asked("Bearer s3cret")
    assert b" 200 " in answer.splitlines()[0]
    assert "advanced" in json.loads(answer.partition(b"\r\n\r\n")[2])
