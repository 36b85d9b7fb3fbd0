"""The server survives hostile and accidental input: revoked tokens, slow pictures, large texts, failing polls."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from fanfold.engine import tokens
from fanfold.errors import NotFound
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.server.api.submitting import SAID_LENGTH
from fanfold.server.requests.guard import FORM_BYTES, LOGIN_BYTES
from fanfold.server.threads import pictures
from fanfold.server.threads.pictures import Busy, Pictures
from fanfold.server.watching import live
from fanfold.server.watching.live import Live
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker, served, token


@pytest.mark.parametrize("path", ["/api/v1/stream", "/api/v1/tasks/{id}/stream", "/live/tasks/{id}", "/live/tasks"])
def test_a_stream_ends_when_its_token_does(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(live, "CHECK_SECONDS", 0.05)
    here = sqlite_installation
    task = here.client.submit(words, items=["x"], owner="ann")
    known = {"authorization": f"Bearer {token(here, 'ann')}"}
    with served(here, demands_token=True) as (address, _):
        with httpx2.stream("GET", address + path.format(id=task.id), headers=known, timeout=60) as stream:
            assert stream.status_code == 200
            tokens.revoke(here.store, "ann")
            for _ in stream.iter_lines():
                pass
        here.client.pause(task.id)
        assert httpx2.get(f"{address}/api/v1/tasks", headers=known).status_code == 401


@pytest.mark.parametrize("kind", ["Basic YTpi", "Negotiate x", "bearerx"])
def test_a_header_that_a_browser_sends_by_itself_does_not_excuse_a_foreign_page(sqlite_asker: Asker, kind: str) -> None:
    foreign = {"origin": "http://evil.example", "authorization": kind}
    answer = sqlite_asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["x"]}, headers=foreign)
    assert answer.status_code == 403


def test_an_origin_that_is_none_is_foreign(sqlite_asker: Asker) -> None:
    assert sqlite_asker.ask("POST", "/prune", headers={"origin": "http://["}).status_code == 403


def test_only_uploads_may_be_large_and_nobody_sends_much_before_they_are_known(
    sqlite_installation: Installation,
) -> None:
    asker = Asker(sqlite_installation, demands_token=True)
    for path, size in (("//login", LOGIN_BYTES), ("//bulk", FORM_BYTES), ("//tasks/t-1/retry", FORM_BYTES)):
        files = {"file": ("x", b"x" * (size + 1))}
        assert asker.ask("POST", path, files=files).status_code == 413


def test_what_is_shown_wherever_a_task_is_stays_small(sqlite_asker: Asker) -> None:
    for name, value in (("metadata", {"a": "x" * SAID_LENGTH}), ("inputs", ["x" * SAID_LENGTH])):
        answer = sqlite_asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["x"], name: value})
        assert answer.status_code == 422
        assert "as a file" in answer.json()["detail"]
    sqlite_asker.post("/tasks", {"pipeline": "words", "items": ["x" * SAID_LENGTH]}, status=201)


def drawing(function: Callable[[Any], bytes]) -> Pipeline:
    """A pipeline that draws so."""
    return Pipeline("drawing", picture=function)


def test_so_many_pictures_wait_and_no_more_and_the_same_is_drawn_once(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, drawn = threading.Event(), []

    def slowly(_self: Pictures, _picture: object, value: object, _page: object = None) -> bytes:
        drawn.append(value)
        assert release.wait(60)
        return b"x"

    monkeypatch.setattr(Pictures, "_drawn", slowly)
    monkeypatch.setattr(pictures, "WAITING", 3)
    pipeline = drawing(lambda value: b"")

    async def ask() -> list[Any]:
        shelf = Pictures(sqlite_installation.settings)
        names = ["a", "a", "b", "c"]
        wanted = [asyncio.ensure_future(shelf.draw(pipeline, name, name)) for name in names]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await shelf.draw(pipeline, "d", "d")
        release.set()
        found = await asyncio.gather(*wanted)
        again = await shelf.draw(pipeline, "a", "a")
        shelf.close()
        return [*found, again]

    assert asyncio.run(ask()) == [b"x"] * 5
    assert drawn == ["a", "b", "c"]


def test_a_picture_that_cannot_be_drawn_is_not_tried_again_at_once(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def broken(_self: Pictures, _picture: object, value: object, _page: object = None) -> bytes:
        tried.append(value)
        raise NotFound("it is broken", code="no_picture")

    monkeypatch.setattr(Pictures, "_drawn", broken)

    async def ask() -> None:
        shelf = Pictures(sqlite_installation.settings)
        for _ in range(3):
            with pytest.raises(NotFound, match="broken"):
                await shelf.draw(drawing(lambda value: b""), "a", "a")
        shelf.close()

    asyncio.run(ask())
    assert tried == ["a"]


def test_a_look_that_failed_is_made_up_for(sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    here = sqlite_installation
    task = here.client.submit(words, items=["x"])
    look, failures = Live._look, iter([True])

    def fail_once(self: Live, now: float) -> None:
        if self._tasks and here.client.get(task.id).state == "paused" and next(failures, False):
            raise RuntimeError("a look that fails")
        look(self, now)

    monkeypatch.setattr(Live, "_look", fail_once)
    with (
        served(here) as (address, _),
        httpx2.stream("GET", f"{address}/api/v1/tasks/{task.id}/stream", timeout=60) as stream,
    ):
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("data")).find("active") > 0
        here.client.pause(task.id)
        assert next(line for line in lines if "paused" in line)
    assert next(failures, None) is None
