"""Results arrive whole, in parts and by name, and odd requests reach nothing else."""

import json
from typing import Any

import httpx2

import fanfold as ff
from tests.installation import Installation
from tests.server.asking import Asker

binding = ff.Pipeline("binding")


@binding.step
def bind(task: ff.TaskWork) -> Any:
    """What the options name: a file, several, or a value."""
    if task.options.get("parts"):
        files = {"markdown": task.write("book.md", "# Book\n"), "data": task.write("data.bin", b"\x00\x01")}
        return files | {"pages": 3, "odd name/红": "x"}
    return task.write(task.options.get("name", "list.txt"), task.options.get("text", "0123456789"))


def bound(installation: Installation, **options: Any) -> str:
    """The id of a completed task."""
    if binding not in installation.pipelines:
        installation.know(binding)
    task = installation.client.submit(binding, options=options)
    installation.work()
    return task.id


def result(asker: Asker, task: str, **headers: str) -> httpx2.Response:
    """The result of a task."""
    return asker.ask("GET", f"/tasks/{task}/result", headers=headers)


def test_a_file_is_given_in_whole_or_in_parts(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = bound(sqlite_installation)
    whole = result(sqlite_asker, task)
    assert (whole.status_code, whole.text, whole.headers["accept-ranges"]) == (200, "0123456789", "bytes")
    for wanted, status, text in (
        ("bytes=2-4", 206, "234"),
        ("bytes=-3", 206, "789"),
        ("bytes=8-", 206, "89"),
        ("bytes=5-99", 206, "56789"),
    ):
        part = result(sqlite_asker, task, Range=wanted)
        assert (part.status_code, part.text) == (status, text), wanted
    beyond = result(sqlite_asker, task, Range="bytes=99-")
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */10")


def test_a_download_that_broke_off_goes_on_only_if_the_file_is_the_same(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = bound(sqlite_installation)
    etag = result(sqlite_asker, task).headers["etag"]
    assert result(sqlite_asker, task, Range="bytes=5-", **{"If-Range": etag}).text == "56789"
    assert result(sqlite_asker, task, Range="bytes=5-", **{"If-Range": '"other"'}).text == "0123456789"
    assert result(sqlite_asker, task, Range="bytes=99-", **{"If-Range": '"other"'}).text == "0123456789"


def test_a_file_is_saved_and_never_shown_whatever_it_is_called(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    for name in ('a".html', "a\r\nSet-Cookie: x=1.md", "红 楼.html", "x.svg", "a;b=c.txt", "%0d%0a.txt"):
        answer = result(sqlite_asker, bound(sqlite_installation, name=name, text="<script>alert(1)</script>"))
        assert answer.status_code == 200, name
        assert answer.headers["content-disposition"].startswith("attachment; filename")
        assert not set("\r\n") & set(answer.headers["content-disposition"])
        assert "set-cookie" not in answer.headers
        assert answer.headers["content-security-policy"].startswith("sandbox")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert not answer.headers["content-type"].startswith(("text/html", "image/svg"))


def test_a_result_with_several_parts_has_links_and_names(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = bound(sqlite_installation, parts=True)
    found = sqlite_asker.get(f"/tasks/{task}/result")
    assert found["markdown"]["name"] == "book.md"
    assert sqlite_asker.ask("GET", "/" + found["markdown"]["url"]).text == "# Book\n"
    markdown = sqlite_asker.ask("GET", f"/tasks/{task}/result/markdown")
    assert (markdown.text, markdown.headers["content-type"]) == ("# Book\n", "text/markdown; charset=utf-8")
    assert sqlite_asker.ask("GET", f"/tasks/{task}/result/data").content == b"\x00\x01"
    assert sqlite_asker.get(f"/tasks/{task}/result/pages") == 3
    unknown = sqlite_asker.ask("GET", f"/tasks/{task}/result/nothing")
    assert unknown.status_code == 404
    assert "It has: markdown" in unknown.json()["detail"]


def test_a_value_is_json(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(installation.pipelines[0], items=["a", "红"])
    installation.work()
    assert asker.get(f"/tasks/{task.id}/result") == "A 红"
    assert asker.ask("GET", f"/tasks/{task.id}/result/part").status_code == 404


def test_a_task_without_a_result_says_why(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(installation.pipelines[0], items=["a"])
    for path in ("result", "result/x"):
        answer = asker.ask("GET", f"/tasks/{task.id}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "task_stopped")
        assert "has no result" in answer.json()["detail"]


def test_only_the_files_of_the_task_are_given(asker: Asker, installation: Installation) -> None:
    mine, other = bound(installation), bound(installation)
    name = installation.blobs()[0].partition("/")[2]
    owner, stranger = (mine, other) if installation.blobs()[0].startswith(mine) else (other, mine)
    assert asker.ask("GET", f"/tasks/{owner}/files/{name}").text == "0123456789"
    for path in (
        f"{stranger}/files/{name}", f"{stranger}/files/..%2F{owner}%2F{name}", f"{owner}/files/%2e%2e", f"{owner}/files/%2e",
        f"{owner}/files/..%2f..%2ffanfold.db", f"{owner}/files/%2Fetc%2Fpasswd", f"{owner}/files/{name}x",
    ):  # fmt: skip
        answer = asker.ask("GET", f"/tasks/{path}")
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"
    assert asker.ask("GET", f"/tasks/{owner}/files/a%00").status_code == 422


def test_a_file_that_is_gone_is_not_found(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = bound(sqlite_installation)
    sqlite_installation.store.shelf.delete(sqlite_installation.blobs())
    answer = result(sqlite_asker, task)
    assert (answer.status_code, answer.json()["code"]) == (404, "file_gone")


def test_half_a_file_is_an_error(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    """And the answer does not tell where files are."""
    task = bound(sqlite_installation)
    folder = sqlite_installation.store.shelf.folder
    for key in sqlite_installation.blobs():
        folder.path(key).write_bytes(b"")
    answer = result(sqlite_asker, task)
    assert (answer.status_code, answer.json()["code"]) == (500, "file_damaged")
    assert str(folder.folder) not in answer.text


def test_the_results_of_items_come_as_lines(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(installation.pipelines[0], items=["a", "bad", "c"])
    installation.work()
    answer = asker.ask("GET", f"/tasks/{task.id}/results")
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in answer.text.splitlines()]
    assert [(one["key"], one["ok"], one["output"], one["error_message"]) for one in found] == [
        ("1", True, "A", None),
        ("2", False, None, "no such word"),
        ("3", True, "C", None),
    ]


def test_a_task_without_many_items_has_no_results_of_items(asker: Asker, installation: Installation) -> None:
    assert asker.ask("GET", f"/tasks/{bound(installation)}/results").status_code == 422


def test_what_items_emit_comes_as_lines(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(installation.pipelines[0], items=["a", "b"])
    installation.work()
    for follow in ("false", "true"):
        answer = asker.ask("GET", f"/tasks/{task.id}/emitted?follow={follow}")
        found = [json.loads(line) for line in answer.text.splitlines()]
        assert [(one["key"], one["value"]) for one in found] == [("1", "a "), ("2", "b ")]
