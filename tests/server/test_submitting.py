"""A task arrives as it was sent, and nothing in it is ever more than a value."""

import base64
import json
import threading
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.cli.samples import pages, words
from tests.installation import Installation
from tests.server.asking import Asker

MARK = {"$file": {"key": "t-other/secret", "name": "x", "size": 1}}


def upload(asker: Asker, name: str, content: bytes, **fields: Any) -> httpx2.Response:
    """A form with one file for the pipeline `pages`."""
    return asker.ask("POST", "/tasks", data={"pipeline": "pages", **fields}, files={"file": (name, content)})


def sent(asker: Asker, content: bytes, kind: str = "application/json", **headers: str) -> httpx2.Response:
    """A body as it is."""
    return asker.ask("POST", "/tasks", content=content, headers={"content-type": kind, **headers})


def test_a_task_is_submitted_as_json_with_everything_that_can_be_said(asker: Asker) -> None:
    wanted = {
        "pipeline": "words", "items": ["a", {"key": "k", "input": "b"}], "options": {"mood": "good"}, "title": "T",
        "key": "one", "priority": 3, "tags": ["x", "y"], "owner": "ann", "retry_limit": 2, "metadata": {"n": [1]},
    }  # fmt: skip
    answer = asker.ask("POST", "/tasks", json=wanted)
    task = answer.json()
    assert answer.status_code == 201
    assert answer.headers["location"] == f"/api/v1/tasks/{task['id']}"
    told = {name: task[name] for name in wanted if name != "items"}
    assert told == {name: value for name, value in wanted.items() if name != "items"}
    assert [item["key"] for item in asker.get(f"/tasks/{task['id']}/items")["items"]] == ["1", "k"]


def test_files_come_inside_the_json_as_text_or_base64(sqlite_asker: Asker) -> None:
    encoded = base64.b64encode(b"two\n").decode()
    files = [{"name": "a.txt", "text": "一\nb"}, {"name": "b.txt", "base64": encoded}]
    task = sqlite_asker.post("/tasks", {"pipeline": "pages", "files": files}, status=201)
    assert [(file["name"], file["size"]) for file in task["inputs"]] == [("a.txt", 5), ("b.txt", 4)]
    assert [sqlite_asker.ask("GET", "/" + file["url"]).text for file in task["inputs"]] == ["一\nb", "two\n"]


def test_a_file_that_makes_no_sense_is_refused(sqlite_asker: Asker) -> None:
    both, neither = {"name": "a.txt", "text": "a", "base64": "YQ=="}, {"name": "a.txt"}
    for file in (both, neither, {"name": "a.txt", "base64": "not base64!"}, {"name": "", "text": "a"}):
        sqlite_asker.post("/tasks", {"pipeline": "pages", "files": [file]}, status=422)


def test_an_upload_becomes_a_file_of_the_task(asker: Asker, installation: Installation) -> None:
    content = b"".join(b"line %d\n" % n for n in range(200_000))
    task = upload(asker, "lines.txt", content, title="Lines", tags='["x"]', priority="2").json()
    assert (task["title"], task["tags"], task["priority"]) == ("Lines", ["x"], 2)
    (file,) = task["inputs"]
    assert (file["name"], file["size"]) == ("lines.txt", len(content))
    assert asker.ask("GET", "/" + file["url"]).content == content


NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\temp\\novel.txt": "novel.txt",
    "a\x1b[31m\u202eb.txt": "a[31mb.txt",
    "n" * 300 + ".txt": "n" * 196 + ".txt",
    "红楼梦 第一回.txt": "红楼梦 第一回.txt",
    "/": "file",
}


def test_a_file_name_is_only_its_last_harmless_part(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    for name, kept in NAMES.items():
        assert upload(sqlite_asker, name, b"a").json()["inputs"][0]["name"] == kept
    assert len(sqlite_installation.blobs()) == len(NAMES)
    assert all(".." not in key for key in sqlite_installation.blobs())


def test_an_empty_file_is_a_file(sqlite_asker: Asker) -> None:
    assert upload(sqlite_asker, "empty.txt", b"").json()["inputs"][0]["size"] == 0


def test_the_same_key_gives_the_same_task(asker: Asker) -> None:
    def submit(**said: Any) -> tuple[int, str]:
        answer = asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["a"]}, **said)
        return answer.status_code, answer.json()["id"]

    first = submit(headers={"Idempotency-Key": "k"})
    again = submit(headers={"Idempotency-Key": "k"})
    assert (first[0], again[0]) == (201, 200)
    assert first[1] == again[1]
    assert submit()[1] != first[1]


def test_a_key_of_other_work_is_refused(sqlite_asker: Asker) -> None:
    def submit(content: bytes, options: str = "{}") -> int:
        said = {"pipeline": "pages", "key": "k", "options": options}
        return sqlite_asker.ask("POST", "/tasks", data=said, files={"file": ("a.txt", content)}).status_code

    assert [submit(b"one"), submit(b"one"), submit(b"other"), submit(b"one", '{"a": 1}')] == [201, 200, 409, 409]
    answer = sqlite_asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["a"], "key": "k"})
    assert (answer.status_code, answer.json()["code"]) == (409, "key_reused")
    assert len(sqlite_asker.get("/tasks")["tasks"]) == 1


def test_two_requests_at_the_same_instant_make_one_task(asker: Asker, installation: Installation) -> None:
    wanted = {"pipeline": "words", "items": ["a"], "key": "k"}
    barrier, found = threading.Barrier(8), []

    def submit() -> None:
        barrier.wait()
        found.append(asker.ask("POST", "/tasks", json=wanted))

    threads = [threading.Thread(target=submit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in found) == [200] * 7 + [201]
    assert len({answer.json()["id"] for answer in found}) == 1
    assert len(installation.client.list()) == 1


def test_of_ten_simultaneous_requests_with_different_options_one_makes_a_task(
    asker: Asker, installation: Installation
) -> None:
    barrier, found = threading.Barrier(10), []

    def submit(number: int) -> None:
        barrier.wait()
        wanted = {"pipeline": "words", "items": ["a"], "key": "k", "options": {"n": number}}
        found.append(asker.ask("POST", "/tasks", json=wanted))

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in found) == [201] + [409] * 9
    assert {answer.json().get("code") for answer in found} == {None, "key_reused"}
    assert len(installation.client.list()) == 1


UNUSABLE: list[tuple[Any, int]] = [
    ({"pipeline": "nothing"}, 404),
    ({"pipeline": "words"}, 422),
    ({"pipeline": "words", "items": []}, 422),
    ({"pipeline": "words", "items": [{"key": 5, "input": 1}]}, 422),
    ({"pipeline": "words", "items": [{"key": "k", "input": 1}, {"key": "k", "input": 2}]}, 422),
    ({"pipeline": "words", "items": [1], "color": "red"}, 422),
    ({"pipeline": "words", "items": [1], "priority": 2**70}, 422),
    ({"pipeline": "words", "items": [1], "retry_limit": 2**70}, 422),
    ({"pipeline": "words", "items": [1], "retry_limit": -1}, 422),
    ({"pipeline": "words", "items": [1], "tags": [""]}, 422),
    ({"pipeline": "words", "items": [1], "key": "k" * 201}, 422),
    ({"pipeline": "words", "items": [1], "owner": "o" * 201}, 422),
    ([1, 2], 422),
]


def test_what_cannot_be_used_is_refused_with_a_code(asker: Asker) -> None:
    for wanted, status in UNUSABLE:
        answer = asker.ask("POST", "/tasks", json=wanted)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), wanted
        assert answer.json()["code"] in ("bad_input", "not_found", "bad_key", "duplicate_key")
    assert asker.get("/tasks")["tasks"] == []


def test_a_value_that_no_database_keeps_is_refused(asker: Asker) -> None:
    values = ("NaN", "1e999", '"a\\u0000b"', '"\\ud800"', '{"a\\u0000": 1}', '{"\\udfff": 1}', "[" * 100_000)
    for field, value in product(("inputs", "items", "options", "metadata"), values):
        wrapped = f"[{value}]" if field in ("inputs", "items") else f'{{"a": {value}}}'
        items = "" if field == "items" else ', "items": [1]'
        answer = sent(asker, f'{{"pipeline": "words", "{field}": {wrapped}{items}}}'.encode())
        told = (answer.status_code, answer.headers["content-type"])
        assert told == (422, "application/problem+json"), (field, value[:20])


def test_text_that_no_database_keeps_is_refused(asker: Asker) -> None:
    for field, text in product(("pipeline", "title", "key", "owner", "tags", "\\ud800"), ('"a\\u0000b"', '"\\ud800"')):
        value = f"[{text}]" if field == "tags" else text
        pipeline = "" if field == "pipeline" else '"pipeline": "words", '
        answer = sent(asker, f'{{{pipeline}"items": [1], "{field}": {value}}}'.encode())
        assert answer.status_code == 422, answer.text


def test_numbers_must_be_whole_numbers(sqlite_asker: Asker) -> None:
    for field, value in product(("priority", "retry_limit"), ("true", '"5"', "1.5", "9" * 30, "[1]")):
        answer = sent(sqlite_asker, f'{{"pipeline": "words", "items": [1], "{field}": {value}}}'.encode())
        assert answer.status_code == 422, (field, value)
        assert field in answer.json()["detail"]


def test_a_title_is_kept_whole_or_refused(sqlite_asker: Asker) -> None:
    body = '{"pipeline": "words", "items": [1], "title": "%s"}'
    assert sent(sqlite_asker, (body % ("t" * 1_000)).encode()).json()["title"] == "t" * 1_000
    assert sent(sqlite_asker, (body % ("t" * 1_001)).encode()).status_code == 422


@pytest.mark.parametrize("text", ["a\0b", "\ud800"])
def test_text_that_no_database_keeps_names_nothing_and_is_no_reason(
    asker: Asker, installation: Installation, text: str
) -> None:
    task = installation.client.submit(words, items=["a"])
    body = json.dumps({"reason": text})
    kind = {"content-type": "application/json"}
    for command in ("pause", "cancel", "external/lost"):
        assert asker.ask("POST", f"/tasks/{task.id}/{command}", content=body, headers=kind).status_code == 422
    for wish in ({"items": [text]}, {"stage": text}, {"options": {"x": text}}, {"options": {text: 1}}):
        answer = asker.ask("POST", f"/tasks/{task.id}/retry", content=json.dumps(wish), headers=kind)
        assert answer.status_code in (409, 422), answer.text
    name = quote(text, errors="surrogatepass")
    for path in (f"/tasks/{name}", f"/tasks/{task.id}/files/{name}", f"/tasks/{task.id}/items/detail?key={name}"):
        assert asker.ask("GET", path).status_code in (404, 422), path
    for field in ("reason", "item", "stage", "provider"):
        path = f"//tasks/{task.id}/{'pause' if field == 'reason' else 'retry'}"
        answer = asker.ask("POST", path, data={field: text.encode("utf-8", "surrogatepass")})
        assert answer.status_code < 500, (field, answer.text)
    assert installation.client.get(task.id).state in ("active", "paused")


def test_numbers_of_any_size_are_kept_in_options(sqlite_asker: Asker) -> None:
    answer = sent(sqlite_asker, b'{"pipeline": "words", "items": [1], "options": {"n": 1' + b"0" * 400 + b"}}")
    assert answer.json()["options"]["n"] == 10**400


def test_a_body_that_is_no_json_object_is_refused(sqlite_asker: Asker) -> None:
    for body in (b"", b"{", b"\xff\xfe\x00", b"null", b'"text"', b"1" * 10_000):
        answer = sent(sqlite_asker, body)
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")


def test_another_kind_of_content_is_refused(sqlite_asker: Asker) -> None:
    for kind in ("text/plain", "", "application/x-www-form-urlencoded", "application/xml"):
        answer = sent(sqlite_asker, b'{"pipeline": "words", "items": [1]}', kind)
        assert (answer.status_code, answer.json()["code"]) == (415, "unknown_content")


def test_a_broken_form_is_refused(sqlite_asker: Asker) -> None:
    kind, part = "multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="pipeline"\r\n\r\nwo'
    assert sent(sqlite_asker, b"", "multipart/form-data").status_code == 422
    for body in (b"rubbish", part, b"--x--\r\n"):
        assert sent(sqlite_asker, body, kind).status_code == 422


def test_a_field_of_a_form_that_cannot_be_used_is_refused(asker: Asker) -> None:
    for name, value in (("options", "{"), ("options", "[]"), ("priority", "high"), ("tags", '"x"'), ("title", "a\0b")):
        assert upload(asker, "a.txt", b"a", **{name: value}).status_code == 422
    assert asker.get("/tasks")["tasks"] == []


def test_a_file_with_another_ending_is_refused(sqlite_asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "accepts", (".txt",))
    answer = upload(sqlite_asker, "a.exe", b"a")
    assert answer.status_code == 422
    assert "takes files that end with .txt" in answer.json()["detail"]
    assert upload(sqlite_asker, "A.TXT", b"a").status_code == 201


def test_an_upload_that_is_too_large_is_refused(tmp_path: Path) -> None:
    small = Installation(f"sqlite:///{tmp_path / 'small.db'}", tmp_path / "data", None, upload_bytes=10_000)
    small.know(pages)
    with (asker := Asker(small)).client:
        refused = upload(asker, "a.txt", b"a" * 10_000)
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        body = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n' + b"a" * 20_000
        unsaid = {"content-type": "multipart/form-data; boundary=x"}
        chunks = asker.ask("POST", "/tasks", content=iter([body, b"\r\n--x--\r\n"]), headers=unsaid)
        assert (chunks.status_code, chunks.json()["code"]) == (413, "too_large")
        assert upload(asker, "a.txt", b"a" * 5_000).status_code == 201
    assert len(small.blobs()) == 1
    small.store.close()


def test_text_that_looks_like_a_path_is_a_value(asker: Asker, installation: Installation) -> None:
    task = asker.post("/tasks", {"pipeline": "pages", "inputs": ["/etc/passwd"]}, status=201)
    assert task["inputs"] == ["/etc/passwd"]
    assert installation.blobs() == []


@pytest.mark.parametrize("field", ["inputs", "items", "options", "metadata"])
def test_nobody_can_pretend_that_a_value_is_a_file(sqlite_asker: Asker, field: str) -> None:
    for mark in (MARK, {"a": [MARK]}, {"$large": "t-other/secret"}):
        value = [mark] if field in ("inputs", "items") else mark
        answer = sqlite_asker.ask("POST", "/tasks", json={"pipeline": "words", "items": [1], field: value})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_input")
        form = upload(sqlite_asker, "a.txt", b"a", **{field: json.dumps(value)})
        assert (form.status_code, form.json()["code"]) == (422, "bad_input")


def test_many_tasks_are_submitted_at_once_and_one_that_is_refused_stops_no_other(asker: Asker) -> None:
    known = asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["a"], "key": "one"}).json()
    wanted = [
        {"pipeline": "words", "items": ["a"], "key": "one"},
        {"pipeline": "words", "items": []},
        {"pipeline": "nowhere", "items": ["a"]},
        {"pipeline": "words", "items": ["b"], "title": "Second"},
        {"pipeline": "pages", "files": [{"name": "a.bin", "text": "x"}]},
    ]
    answer = asker.ask("POST", "/tasks/many", json={"tasks": wanted})
    assert answer.status_code == 200
    first, empty, unknown, second, *_ = answer.json()["results"]
    assert (first["task"]["id"], first["new"], first["refused"]) == (known["id"], False, None)
    assert (empty["task"], empty["refused"]["detail"]) == (
        None,
        "A task needs at least one item, and `items` is empty.",
    )
    assert unknown["refused"]["code"] == "not_found"
    assert (second["task"]["title"], second["new"]) == ("Second", True)


def test_many_tasks_are_checked_like_one(asker: Asker) -> None:
    marked = asker.ask("POST", "/tasks/many", json={"tasks": [{"pipeline": "words", "items": [MARK]}]})
    assert marked.status_code == 422
    assert asker.ask("POST", "/tasks/many", json={"tasks": []}).status_code == 422
    assert asker.ask("POST", "/tasks/many", json={"tasks": [{"pipeline": "words"}] * 1_001}).status_code == 422
