"""The changes of a text by HTTP, one after the other: listed page by page, filtered, and decided about."""

import html

import pytest

from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.novels import chunks, novel

BEFORE = ("teh", ",and", "recieved", "...")


@pytest.fixture
def asker(sqlite_installation: Installation) -> Asker:
    sqlite_installation.know(novel)
    return Asker(sqlite_installation)


@pytest.fixture
def task(asker: Asker, sqlite_installation: Installation) -> str:
    found = sqlite_installation.client.submit(novel, items=chunks(30)).id
    sqlite_installation.work()
    return found


def test_changes_are_listed_page_by_page_and_filtered(asker: Asker, task: str) -> None:
    seen: list[str] = []
    after = ""
    while True:
        found = asker.get(f"/tasks/{task}/changes?limit=50&after={after}")
        assert len(found["changes"]) <= 53
        seen += [f"{one['item']} {one['before']}" for one in found["changes"]]
        if found["next"] is None:
            break
        after = found["next"]
    assert seen == [f"{number} {before}" for number in range(1, 31) for before in BEFORE]
    rules = asker.get(f"/tasks/{task}/changes?origin=dashes&chapter=ter%206")["changes"]
    assert [(one["item"], one["origin"], one["state"]) for one in rules] == [
        (str(number), "rule:ellipses+dashes", "open") for number in range(26, 31)
    ]
    [first, *_] = asker.get(f"/tasks/{task}/changes?topic=words&kind=replace")["changes"]
    assert (first["left"], first["right"], first["topic"]) == ("ain fell on ", " 1 houses,an", "words")
    assert len(asker.get(f"/tasks/{task}/changes?topic=space")["changes"]) == 30
    assert asker.get(f"/tasks/{task}/changes?text=nowhere")["changes"] == []
    assert asker.ask("GET", f"/tasks/{task}/changes?after=nonsense").status_code == 422


def test_all_changes_that_fit_are_decided_by_one_request(
    asker: Asker, task: str, sqlite_installation: Installation
) -> None:
    path, wish = f"/tasks/{task}/changes/decide", {"verdict": "reject", "origin": "dashes"}
    assert asker.post(path, wish) == {"decided": 30}
    assert asker.post(path, wish) == {"decided": 0}
    sqlite_installation.work()
    assert sqlite_installation.client.result(task).count("雨停了...") == 30
    [first, *rest] = asker.get(f"/tasks/{task}/changes?state=reject")["changes"]
    assert (len(rest), first["decided_by"]) == (29, "person")
    assert asker.post(path, {"verdict": "undo"}) == {"decided": 30}
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    assert asker.ask("POST", path, json=wish, headers=viewer).status_code == 403


def test_an_item_is_shown_as_its_text_after_the_changes(asker: Asker, task: str) -> None:
    seen = asker.ask("GET", f"//tasks/{task}/item?key=1", headers={"accept": "text/html"}).text
    assert "Rain fell on the 1 houses, and nobody received it.\n\nNothing is wrong" in html.unescape(seen)
