"""Responses are compressed, have ETags, and are right for HEAD and for invalid ranges."""

import asyncio
import gzip
from typing import Any

import httpx2
import pytest

from fanfold.server.requests.conditional import CachedResponses
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker, served
from tests.server.test_results import bound


@pytest.mark.parametrize("path", ["//", "/tasks", "//static/base.css", "//health", "/openapi.json", "//login"])
def test_head_has_the_headers_of_get_and_no_body(sqlite_asker: Asker, path: str) -> None:
    got, head = (sqlite_asker.ask(method, path, headers={"accept-encoding": ""}) for method in ("GET", "HEAD"))
    assert (head.status_code, head.content) == (got.status_code, b"")
    for name in ("content-type", "content-length", "etag", "cache-control", "content-security-policy"):
        assert head.headers.get(name) == got.headers.get(name), name


def test_head_of_what_is_not_there_is_404(sqlite_asker: Asker) -> None:
    assert sqlite_asker.ask("HEAD", "/tasks/t-none").status_code == 404
    assert sqlite_asker.ask("HEAD", "//nothing").status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/stream", "/live/tasks"])
def test_head_of_a_stream_ends(sqlite_installation: Installation, path: str) -> None:
    with served(sqlite_installation) as (address, place):
        answer = httpx2.head(address + path, timeout=60)
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert httpx2.get(f"{address}/health").status_code == 200
        assert place.live.watchers == 0


def test_what_follows_the_headers_is_not_made_for_head() -> None:
    made: list[int] = []

    async def parts(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        for number in range(1_000):
            await asyncio.sleep(0)
            made.append(number)
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def ask(method: str) -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await CachedResponses(parts)({"type": "http", "method": method, "headers": []}, None, send)  # type: ignore[arg-type]
        return sum(len(message.get("body", b"")) for message in sent)

    assert asyncio.run(ask("GET")) == len(made) == 1_000
    made.clear()
    assert asyncio.run(ask("HEAD")) == 0
    assert len(made) < 10, "a large file would be read for nothing"


def test_head_of_a_file_tells_its_size(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = bound(sqlite_installation)
    head = sqlite_asker.ask("HEAD", f"/tasks/{task}/result")
    whole = sqlite_asker.ask("GET", f"/tasks/{task}/result")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) == len(whole.content) > 0


def test_what_a_client_has_already_is_not_sent_again(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(words, items=["x"])
    first = asker.ask("GET", f"/tasks/{task.id}")
    etag = first.headers["etag"]
    again = asker.ask("GET", f"/tasks/{task.id}", headers={"if-none-match": f'"other", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
    assert asker.ask("GET", f"/tasks/{task.id}", headers={"if-none-match": '"other"'}).status_code == 200
    installation.client.pause(task.id)
    changed = asker.ask("GET", f"/tasks/{task.id}", headers={"if-none-match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


def test_a_file_that_a_client_has_already_is_not_sent_again(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = bound(sqlite_installation)
    etag = sqlite_asker.ask("GET", f"/tasks/{task}/result").headers["etag"]
    for headers in ({"if-none-match": etag}, {"if-none-match": "*"}, {"if-none-match": etag, "range": "bytes=0-1"}):
        again = sqlite_asker.ask("GET", f"/tasks/{task}/result", headers=headers)
        assert (again.status_code, again.content) == (304, b"")
        assert "content-length" not in again.headers
    static = sqlite_asker.ask("GET", "//static/base.css").headers["etag"]
    assert sqlite_asker.ask("GET", "//static/base.css", headers={"if-none-match": static}).status_code == 304


def test_lists_are_sent_compressed_to_who_understands_it(sqlite_installation: Installation) -> None:
    for _ in range(20):
        sqlite_installation.client.submit(words, items=["x"])
    with served(sqlite_installation) as (address, _):
        for path in ("/", "/api/v1/tasks", "/static/htmx.js"):
            sizes = {}
            for coding in ("gzip", "identity", "gzip;q=0"):
                asked = {"accept-encoding": coding, "accept": "text/html"}
                with httpx2.stream("GET", address + path, headers=asked) as answer:
                    raw = b"".join(answer.iter_raw())
                    sizes[coding] = len(raw)
                    assert int(answer.headers["content-length"]) == len(raw)
                    assert "accept-encoding" in answer.headers["vary"].lower()
                    assert answer.headers.get("content-encoding") == ("gzip" if coding == "gzip" else None)
            assert sizes["gzip"] < sizes["identity"] / 2, path
            assert sizes["identity"] == sizes["gzip;q=0"]


def test_a_live_stream_is_not_held_back_to_be_compressed(sqlite_installation: Installation) -> None:
    task = sqlite_installation.client.submit(words, items=["x"])
    with served(sqlite_installation) as (address, _):
        path = f"{address}/live/tasks/{task.id}"
        with httpx2.stream("GET", path, headers={"accept-encoding": "gzip"}, timeout=60) as stream:
            assert "content-encoding" not in stream.headers
            assert next(line for line in stream.iter_lines() if line.startswith("event:"))


@pytest.mark.parametrize("said", ["bytes=900000-", "bytes=5-1", "bytes=x-y", "bytes=", "lines=1-2"])
def test_a_bad_range_is_a_problem_document(sqlite_asker: Asker, sqlite_installation: Installation, said: str) -> None:
    task = bound(sqlite_installation)
    answer = sqlite_asker.ask("GET", f"/tasks/{task}/result", headers={"range": said})
    assert (answer.status_code, answer.headers["content-type"]) == (416, "application/problem+json")
    size = len(sqlite_asker.ask("GET", f"/tasks/{task}/result").content)
    assert answer.headers["content-range"] == f"bytes */{size}"
    assert answer.json()["code"] == "bad_range"
    assert f"{size} bytes" in answer.json()["detail"]


def test_a_compressed_answer_is_what_was_meant(sqlite_installation: Installation) -> None:
    with served(sqlite_installation) as (address, _):
        with httpx2.stream("GET", f"{address}/static/base.js", headers={"accept-encoding": "gzip"}) as answer:
            raw = b"".join(answer.iter_raw())
        plain = httpx2.get(f"{address}/static/base.js", headers={"accept-encoding": "identity"}).content
    assert gzip.decompress(raw) == plain
