"""What people expect of a task system, D1 to D8, each with its test; `docs/explanation/general-tasks.md` lists them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import UTC
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import httpx2
import pytest
from playwright.sync_api import Browser, expect

import fanfold as ff
from fanfold.engine.tasks.recovery import sweep
from fanfold.engine.tasks.steering import delete
from tests.acceptance.browser import looking
from tests.cli.samples import words
from tests.installation import HandClock, Installation, set_clock
from tests.mutants.mutant import ROOT
from tests.server.asking import served

TABLE = ROOT / "docs/explanation/general-tasks.md"


@ff.task(retry=ff.Retry(limit=1, first=1))
def plain(task: ff.TaskWork, text: str, *, loud: bool = False) -> dict[str, Any]:
    """A function in three steps; it fails once if the text says so."""
    for step in range(3):
        task.progress((step + 1) / 4, f"step {step + 1} of 3")
    if text == "flaky" and task.attempt == 1:
        raise RuntimeError("once")
    return {"text": text.upper() if loud else text}


@ff.task
async def awaited(text: str) -> str:
    """The same as a coroutine."""
    return text * 2


@pytest.fixture
def clock() -> HandClock:
    return set_clock()


@pytest.fixture
def place(database_url: str, tmp_path: Path, clock: HandClock) -> Iterator[Installation]:
    made = Installation(database_url, tmp_path / "data", clock)
    yield made
    made.store.close()


def test_functions_become_durable_tasks_with_every_field_and_legal_moves_only(
    place: Installation, clock: HandClock
) -> None:
    """D1, D2, D5: def and async def; parameters, result, progress with a message, retries, UTC times, clear refusals."""
    place.know(plain, awaited)
    client = place.client
    task = client.submit(
        plain, "flaky", options={"loud": True}, title="A title", owner="ann", priority=7, tags=["red", "blue"],
        retry_limit=4, metadata={"ticket": 12},
    )  # fmt: skip
    assert (task.state, task.status, task.progress, task.open) == ("active", "pending", 0.0, 1)
    worker = place.worker()
    settled = [worker.call(row, claimed) for row, claimed in worker.turn(free=1).claimed]
    running = client.get(task.id)
    assert running.status == "running"
    assert re.fullmatch(r"step \d of 3", running.message or "")  # Written at most twice a second.
    assert 0 < running.progress < 100
    worker.turn(settled, free=0)
    assert client.get(task.id).status == "retrying"
    with pytest.raises(ff.IllegalMove, match=r"rerun needs a .* task"):
        client.rerun(task.id)
    clock.advance(60)
    assert place.completed(task) == {"text": "FLAKY"}
    done = client.get(task.id)
    assert (done.owner, done.priority, done.tags, done.retry_limit) == ("ann", 7, ("blue", "red"), 4)
    assert (done.pipeline, done.title, done.metadata, done.options) == (
        "plain", "A title", {"ticket": 12}, {"loud": True},
    )  # fmt: skip
    assert (done.retries, done.progress, done.inputs) == (1, 100.0, ("flaky",))
    assert all(at is not None and at.tzinfo == UTC for at in (done.created_at, done.updated_at, done.started_at))
    with pytest.raises(ff.IllegalMove, match="is completed"):
        client.pause(task.id)
    assert place.completed(client.submit(awaited, "ab")) == "abab"


def test_tasks_are_found_by_every_field_page_by_page(place: Installation) -> None:
    """D4: id, state, owner, type, tag, text; running; recent failures; paged."""
    place.know(plain, words)
    client = place.client
    ids = [
        client.submit(
            plain,
            f"n{number}",
            owner="ann" if number % 2 else "bob",
            tags=[f"t{number % 3}"],
            title=f"Sheet no. {number}",
        ).id
        for number in range(6)
    ]
    client.cancel(ids[0])
    bad = client.submit(words, items=["bad"])
    place.worker(pipelines=[words]).run()

    def found(**wanted: Any) -> list[str]:
        return [task.id for task in client.list(sort="oldest", **wanted)]

    assert found(owner="ann") == ids[1::2]
    assert found(tag="t1") == [ids[1], ids[4]]
    assert found(pipeline="plain", states=["active"]) == ids[1:]
    assert found(text="no. 3") == [ids[3]]
    assert found(states=["failed", "partial"]) == [bad.id]
    assert client.get(ids[2][:8]).id == ids[2]
    pages = [client.list(limit=3, sort="oldest")]
    while len(pages[-1]) == 3:
        pages.append(client.list(limit=3, sort="oldest", after=pages[-1][-1].cursor))
    assert [task.id for page in pages for task in page] == [*ids, bad.id]


def test_retention_removes_any_number_of_old_tasks_in_one_sweep(
    place: Installation, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D8: older than 30 days, with their files, however many pages of them there are."""
    monkeypatch.setattr(delete, "BATCH", 7)
    monkeypatch.setattr(sweep, "SLICE_SECONDS", 600.0)
    place.know(plain)
    with ExitStack() as files:
        source = files.enter_context(NamedTemporaryFile("w", suffix=".txt"))
        for _ in range(30):
            place.client.submit(plain, Path(source.name))
    place.work()
    clock.advance(29 * 86_400)
    place.sweep()
    assert len(place.client.list()) == 30
    fresh = place.client.submit(plain, "new")
    clock.advance(2 * 86_400)
    place.sweep()
    assert [task.id for task in place.client.list()] == [fresh.id]
    assert place.blobs() == []


@contextmanager
def proxied(address: str) -> Iterator[str]:
    """The same server behind a proxy, a process of its own, that holds every answer back until it is complete."""
    command = [sys.executable, "-m", "tests.acceptance.buffering_proxy", address.removeprefix("http://")]
    proxy = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert proxy.stdout is not None
        yield f"http://127.0.0.1:{int(proxy.stdout.readline())}"
    finally:
        proxy.terminate()
        proxy.wait(30)
        if proxy.stdout is not None:
            proxy.stdout.close()


@pytest.mark.acceptance
@pytest.mark.one_database
def test_pages_and_programs_follow_a_task_behind_a_buffering_proxy(
    browser: Browser, sqlite_url: str, tmp_path: Path
) -> None:
    """D5: no message of a stream arrives before its end. The page notices and polls; a program waits, or reads it at the end."""
    here = Installation(sqlite_url, tmp_path / "data", None)
    here.know(words)
    task = here.client.submit(words, items=["x"], title="behind a proxy")
    with served(here) as (direct, _place), proxied(direct) as address, looking(browser, address) as page:
        page.goto(f"/tasks/{task.id}")
        expect(page.locator("#task-head")).to_have_attribute("data-state", "active")
        here.client.pause(task.id)
        expect(page.locator("#task-head")).to_have_attribute("data-state", "paused")
        here.client.resume(task.id)
        with ThreadPoolExecutor(1) as beside:  # Playwright has an event loop in this thread.
            beside.submit(here.work).result()
        expect(page.locator("#task-head")).to_have_attribute("data-state", "completed")
        waited = httpx2.get(f"{address}/api/v1/tasks/{task.id}/wait", params={"seconds": 20}, timeout=60)
        assert waited.json()["state"] == "completed"
        told = httpx2.get(f"{address}/api/v1/tasks/{task.id}/stream", timeout=60).text
        assert "event: end" in told
    here.store.close()


def test_the_table_names_every_capability_and_only_tests_that_exist() -> None:
    text = TABLE.read_text()
    assert re.findall(r"^\| (D\d) \|", text, re.MULTILINE) == [f"D{number}" for number in range(1, 9)]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(named) >= 16
    for file, test in named:
        functions = {node.name for node in ast.walk(ast.parse((ROOT / file).read_text())) if hasattr(node, "name")}
        assert test in functions, f"{file} has no {test}"
