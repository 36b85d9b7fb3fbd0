"""An archive of documents and a manifest over HTTP, as on the command line, and what they may not do to the server."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fanfold.apps.extract import extract
from fanfold.apps.extract.documents import archives
from tests.installation import Installation
from tests.server.asking import Asker

pytestmark = pytest.mark.one_database

PIPELINE = {"pipeline": "extract", "options": json.dumps({"template": "n: integer — How many?"})}
HERE = {"Origin": "http://127.0.0.1:8700"}


@pytest.fixture
def at(asker: Asker, installation: Installation) -> Asker:
    """A server that extracts."""
    asker.place.pipelines = {"extract": installation.know(extract)}
    return asker


def packed(**members: str | bytes) -> bytes:
    """An archive; `__` in a name is a dot, `___` a slash."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("___", "/").replace("__", "."), text)
    return content.getvalue()


def sent(at: Asker, *files: tuple[str, bytes], path: str = "/tasks", **more: str) -> Any:
    """The answer to an upload."""
    parts = [("file", (name, content, "application/octet-stream")) for name, content in files]
    return at.ask("POST", path, data=PIPELINE | more, files=parts)


def rows_of(installation: Installation, task: str) -> dict[str, dict[str, Any]]:
    """The inputs of the items by the name of their first row."""
    items = [installation.client.item(task, one.key) for one in installation.client.items(task, limit=100)]
    return {one.input["rows"][0]["name"]: one.input for one in items}


def test_the_documents_of_an_uploaded_archive_are_the_items_of_one_task(at: Asker, installation: Installation) -> None:
    archive = packed(a__txt="We enrolled 12.", more___b__md="We enrolled 13.", notes__xyz="not a document")
    answer = sent(at, ("papers.zip", archive), ("c.txt", b"We enrolled 14."))
    assert answer.status_code == 201, answer.text
    task = answer.json()
    assert (task["total"], task["title"]) == (3, "papers.zip")
    found = rows_of(installation, task["id"])
    assert {name: one["rows"][0]["source"] for name, one in found.items()} == {
        "a.txt": "papers.zip/a.txt",
        "b.md": "papers.zip/more/b.md",
        "c.txt": "c.txt",
    }
    assert found["b.md"]["file"].read_text() == "We enrolled 13."
    assert list(installation.store.scratch.glob("unpacked-*")) == []


def test_a_manifest_in_the_archive_or_beside_it_carries_its_columns(at: Asker, installation: Installation) -> None:
    manifest = "source,name,country\na.txt,Trial A,Sweden\nmissing.txt,,Norway\n"
    inside = packed(a__txt="one", b__txt="two", manifest__csv=manifest)
    told = sent(at, ("papers.zip", inside)).json()["id"]
    beside = sent(at, ("list.csv", manifest.encode()), ("papers.zip", packed(a__txt="one", b__txt="two"))).json()["id"]
    for task in (told, beside):
        found = rows_of(installation, task)
        assert found["Trial A"]["rows"][0]["columns"] == {"country": "Sweden"}
        assert found["b.txt"]["rows"][0]["columns"] == {}
        assert "missing.txt does not exist" in found["missing.txt"]["refused"]


def test_the_same_archive_with_the_same_key_is_the_same_task(at: Asker) -> None:
    archive = packed(a__txt="one")
    first = sent(at, ("papers.zip", archive), key="once")
    again = sent(at, ("papers.zip", archive), key="once")
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    assert sent(at, ("papers.zip", packed(a__txt="two")), key="once").status_code == 409


def test_the_plain_form_takes_an_archive(at: Asker, installation: Installation) -> None:
    assert ".zip" in at.ask("GET", "//").text
    data = {"pipeline": "extract", "option:extract:template": "n: integer — How many?"}
    files = [("file", ("papers.zip", packed(a__txt="one", b__txt="two"), "application/zip"))]
    assert at.ask("POST", "//submit", data=data, files=files, headers=HERE).status_code == 303
    [task] = at.get("/tasks")["tasks"]
    assert task["total"] == 2


def test_no_provider_in_the_plain_form_means_the_default_one(at: Asker, installation: Installation) -> None:
    data = {"pipeline": "extract", "option:extract:template": "n: integer — How many?", "provider": "local"}
    files = [("file", ("a.txt", b"one", "text/plain"))]
    assert at.ask("POST", "//submit", data=data, files=files, headers=HERE).status_code == 303
    [task] = at.get("/tasks")["tasks"]
    assert "provider" not in at.get(f"/tasks/{task['id']}")["options"]


def test_an_uploaded_manifest_names_no_file_of_the_server(
    at: Asker, installation: Installation, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password")
    manifest = f"source\n{secret}\n../../secret.txt\na.txt\n"
    for files in (
        [("list.csv", manifest.encode()), ("a.txt", b"one")],
        [("papers.zip", packed(a__txt="one", manifest__csv=manifest))],
    ):
        task = sent(at, *files).json()["id"]
        found = rows_of(installation, task)
        assert [name for name, one in found.items() if "file" in one] == ["a.txt"]
        assert "does not exist" in found[str(secret)]["refused"]


def test_what_cannot_be_unpacked_is_refused_or_becomes_a_row_with_its_reason(
    at: Asker, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = sent(at, ("papers.zip", packed(notes__xyz="no")))
    assert (empty.status_code, "There are no documents in papers.zip" in empty.text) == (422, True)
    nothing = sent(at, ("list.csv", b"title,year\nA,2020\n"), ("a.txt", b"one"))
    assert (nothing.status_code, "has no column `source`" in nothing.text) == (422, True)
    bomb = sent(at, ("papers.zip", packed(a__txt="one", bomb__txt=b"0" * 20_000_000)))
    assert "times its size" in rows_of(installation, bomb.json()["id"])["bomb.txt"]["refused"]
    broken = sent(at, ("papers.zip", packed(a__txt="one")[:60]), ("b.txt", b"two"))
    assert "damaged" in rows_of(installation, broken.json()["id"])["papers.zip"]["refused"]
    monkeypatch.setattr(archives, "MOST_FILES", 1)
    many = sent(at, ("papers.zip", packed(a__txt="one", b__txt="two")))
    assert "the limit is 1" in rows_of(installation, many.json()["id"])["papers.zip"]["refused"]


def test_an_estimate_counts_the_documents_in_the_archive(at: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    options = json.dumps({"template": "n: integer — How many?", "model": "openai:gpt-5-mini"})
    answer = sent(at, ("papers.zip", packed(a__txt="one", b__txt="two")), path="/estimate", options=options)
    assert (answer.status_code, answer.json()["calls"]) == (200, 2)


@pytest.mark.parametrize("told", ["x", [1], [{"key": "a", "file": 5}], [{"file": 0}], [{"key": "a", "file": "0"}]])
def test_a_list_of_documents_that_makes_no_sense_is_refused(at: Asker, told: Any) -> None:
    files = [{"name": "a.txt", "text": "one"}]
    wish = {
        "pipeline": "extract",
        "options": {"template": "n: integer"},
        "inputs": [{"documents": told}],
        "files": files,
    }
    answer = at.ask("POST", "/tasks", json=wish)
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_documents")
