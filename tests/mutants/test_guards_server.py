"""Tests for guards of the server that no other test covers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fanfold.errors import BadInput
from fanfold.server.requests.guard import PLAIN_BYTES
from fanfold.store.files.folder import Directory
from tests.cli.samples import pages, words
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker, token


@pytest.fixture
def place(sqlite_url: str, tmp_path: Path) -> Iterator[Installation]:
    made = Installation(sqlite_url, tmp_path / "data", None)
    made.know(words, pages)
    yield made
    made.store.close()


def test_a_file_is_found_only_through_its_own_task(place: Installation) -> None:
    one, other = (place.client.submit(words, items=["a"]) for _ in range(2))
    with place.store.write() as tx:
        first, second = (tx.tasks.resolve(task.id).number for task in (one, other))
        tx.blobs.add("somewhere/secret.txt", first, "secret.txt", 1)
        assert tx.blobs.find(first, "somewhere/secret.txt") == ("secret.txt", 1)
        assert tx.blobs.find(second, "somewhere/secret.txt") is None


def test_a_token_that_differs_in_anything_opens_nothing(place: Installation) -> None:
    asker = Asker(place, demands_token=True)
    secret = token(place, "ann")
    with asker.client:
        for end in "0123456789abcdefghijklmnopqrstuvwxyz":
            other = {"authorization": f"Bearer {secret[:-1]}{end}"}
            expected = 200 if secret.endswith(end) else 401
            assert asker.ask("GET", "/me", headers=other).status_code == expected


def test_the_cookie_is_for_this_site_and_no_script(place: Installation) -> None:
    asker = Asker(place, demands_token=True)
    secret = token(place, "ann")
    with asker.client:
        answer = asker.ask("POST", "//login", data={"token": secret})
    said = answer.headers["set-cookie"].lower()
    assert "httponly" in said
    assert "samesite=strict" in said


def test_what_says_that_it_is_too_large_is_not_read_at_all(place: Installation) -> None:
    read = []

    def body() -> Iterator[bytes]:
        read.append(1)
        yield b"{}"

    asker = Asker(place)
    kind = {"content-type": "application/json", "content-length": str(PLAIN_BYTES + 1)}
    with asker.client:
        answer = asker.ask("POST", "/tasks", content=body(), headers=kind)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


@pytest.mark.parametrize("key", ["../outside", "t-1/../../outside", "/etc/passwd"])
def test_no_key_of_a_blob_leads_out_of_the_folder(tmp_path: Path, key: str) -> None:
    shelf = Directory(tmp_path / "blobs")
    for act in (shelf.path, shelf.open, lambda key: shelf.put(key, io.BytesIO(b"x")), lambda key: shelf.delete([key])):
        with pytest.raises(ValueError, match="is not a key of a blob"):
            act(key)
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("name", ["../up.txt", "a/b.txt", "a\\b.txt", "", ".", ".."])
def test_a_handler_writes_files_by_plain_names(place: Installation, name: str) -> None:
    found = list[str]()

    def handler(item: Any) -> str:
        with pytest.raises(BadInput) as problem:
            item.write(name, "x")
        found.append(str(problem.value))
        return "done"

    task = place.client.submit(place.know(batch(handler=handler)), items=["a"])
    place.work()
    assert place.client.get(task.id).state == "completed"
    assert "is not a file name" in found[0]
