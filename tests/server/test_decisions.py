"""A program decides about parts of results, one or many at a time, and lists the decisions."""

import json
import re
from typing import Any

import pytest

import fanfold as ff
from tests.installation import Installation
from tests.server.asking import Asker, token


def reviewed(installation: Installation) -> str:
    """A completed task of three pages, whose merge tells which decisions it has read."""
    pipeline = ff.Pipeline("review")
    pipeline.split(name="cut")(lambda task: (ff.NewItem(key, key) for key in "abc"))
    pipeline.each(name="read")(lambda item: f"text {item.input}")

    @pipeline.merge(name="bind", quiet_seconds=0)
    def bind(task: Any, results: Any) -> Any:
        return {one.key: sorted(one.decisions) for one in results}

    task = installation.client.submit(installation.know(pipeline))
    installation.work()
    return task.id


def decision(item: str = "a", part: str = "word", verdict: str = "reject", **more: Any) -> dict[str, Any]:
    return {"item": item, "part": part, "verdict": verdict, **more}


@pytest.fixture
def task(installation: Installation, asker: Asker) -> str:
    return reviewed(installation)


def test_one_and_many_decisions_are_made_listed_and_merged(asker: Asker, installation: Installation, task: str) -> None:
    answer = asker.post(f"/tasks/{task}/decisions", {"decisions": [decision()]})
    assert (answer["state"], answer["stage"]) == ("active", "bind")
    many = [decision("b", f"p{n}", "replace", value={"n": n}) for n in range(5)]
    asker.post(f"/tasks/{task}/decisions", {"decisions": many, "stage": "read"})
    installation.work()
    assert asker.get(f"/tasks/{task}/result") == {"a": ["word"], "b": [f"p{n}" for n in range(5)], "c": []}
    page = asker.get(f"/tasks/{task}/decisions?limit=4")
    rest = asker.get(f"/tasks/{task}/decisions?limit=4&after={page['next']}")
    assert [one["number"] for one in page["decisions"] + rest["decisions"]] == [1, 2, 3, 4, 5, 6]
    assert rest["next"] is None
    [first] = asker.get(f"/tasks/{task}/decisions?item=a")["decisions"]
    assert {**first, "at": None} == {
        "number": 1, "stage": "read", "item": "a", "part": "word", "verdict": "reject", "value": None,
        "actor": "person", "at": None,
    }  # fmt: skip
    assert asker.get(f"/tasks/{task}/decisions?verdict=accept")["decisions"] == []
    asker.post(f"/tasks/{task}/decisions", {"decisions": [decision(verdict="undo")]})
    assert asker.get(f"/tasks/{task}/decisions?item=a")["decisions"] == []
    assert len(asker.get(f"/tasks/{task}/decisions?item=a&history=true")["decisions"]) == 2


def test_the_results_of_a_task_have_its_decisions(asker: Asker, task: str) -> None:
    asker.post(f"/tasks/{task}/decisions", {"decisions": [decision("b", "word", "replace", value="new")]})
    lines = asker.ask("GET", f"/tasks/{task}/results").text.splitlines()
    found = {one["key"]: one["decisions"] for one in map(json.loads, lines)}
    assert (found["a"], found["b"]["word"]["value"]) == ({}, "new")
    assert "T" in found["b"]["word"]["at"]


@pytest.mark.parametrize(
    ("wish", "status", "said"),
    [
        ({"decisions": []}, 422, "at least 1 item"),
        ({"decisions": [decision(verdict="maybe")]}, 422, "'accept', 'reject', 'replace' or 'undo'"),
        ({"decisions": [decision("z")]}, 404, "has no item z in read."),
        ({"decisions": [decision(), decision(value=1)]}, 422, "A value is only for replace"),
        ({"decisions": [decision(verdict="replace", value={"$file": {"key": "k"}})]}, 422, "contains a file"),
        ({"decisions": [decision(verdict="replace", value="a\0")]}, 422, "NUL"),
        ({"decisions": [decision(part="x" * 201)]}, 422, "at most 200"),
        ({"decisions": [decision(stage="nope")]}, 404, "no stage 'nope'"),
        ({"decisions": [decision(colour=1)]}, 422, "colour"),
    ],
)
def test_what_cannot_be_decided_is_said_and_changes_nothing(
    sqlite_asker: Asker, sqlite_installation: Installation, wish: Any, status: int, said: str
) -> None:
    task = reviewed(sqlite_installation)
    before = sqlite_installation.rows()
    answer = sqlite_asker.post(f"/tasks/{task}/decisions", wish, status=status)
    assert said in answer["detail"]
    assert "fanfold items" not in answer["detail"]
    assert sqlite_installation.rows() == before


def test_half_a_surrogate_pair_is_refused_in_words(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = reviewed(sqlite_installation)
    body = '{"decisions": [{"item": "a", "part": "p", "verdict": "replace", "value": "\\ud800"}]}'
    answer = sqlite_asker.ask(
        "POST", f"/tasks/{task}/decisions", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert sqlite_installation.client.decisions(task) == []


def test_only_who_may_change_a_task_decides_and_the_name_is_kept(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = reviewed(sqlite_installation)
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    stranger = {"authorization": f"Bearer {token(sqlite_installation, 'mal', 'member', 'mal')}"}
    editor = {"authorization": f"Bearer {token(sqlite_installation, 'ann', 'member', '*')}"}
    path, wish = f"/tasks/{task}/decisions", {"decisions": [decision()]}
    assert sqlite_asker.ask("GET", path, headers=viewer).status_code == 200
    assert sqlite_asker.ask("POST", path, json=wish, headers=viewer).status_code == 403
    assert sqlite_asker.ask("GET", path, headers=stranger).status_code == 404
    assert sqlite_asker.ask("POST", path, json=wish, headers=stranger).status_code == 404
    assert sqlite_installation.client.decisions(task) == []
    assert sqlite_asker.ask("POST", path, json=wish, headers=editor).status_code == 200
    assert [one.actor for one in sqlite_installation.client.decisions(task)] == ["ann"]


@pytest.mark.parametrize(("language", "word"), [("en", "Decisions"), ("zh", "决定")])
def test_the_page_of_an_item_lists_its_decisions(
    sqlite_asker: Asker, sqlite_installation: Installation, language: str, word: str
) -> None:
    task = reviewed(sqlite_installation)
    plain = sqlite_asker.ask("GET", f"//tasks/{task}/item?key=a&stage=read&lang={language}").text
    assert 'id="fold-decisions">' in plain
    assert "<table" not in plain.partition('id="fold-decisions"')[2].partition("</details>")[0]
    sqlite_installation.client.decide(task, "a", "word", "replace", "<b>new</b>", actor="ann")
    shown = sqlite_asker.ask("GET", f"//tasks/{task}/item?key=a&stage=read&lang={language}").text
    assert 'id="fold-decisions"' in shown
    assert f"<h2>{word}</h2>" in shown
    assert "&lt;b&gt;new&lt;/b&gt;" in shown
    assert "<td>ann</td>" in shown


def test_a_decision_is_made_on_the_page_of_an_item(asker: Asker, installation: Installation, task: str) -> None:
    address = f"/tasks/{task}/item?key=a&stage=read"
    installation.client.decide(task, "a", "known", "accept")
    shown = asker.ask("GET", f"/{address}&lang=zh").text
    form = shown.partition('<form id="decide"')[2].partition("</form>")[0]
    assert '<option value="known">' in form
    assert re.findall(r'<option value="(?:accept|reject|replace|undo)">([^<]+)', form) == [
        "接受",
        "拒绝",
        "替换",
        "撤销",
    ]
    for said in ({"verdict": "replace", "value": "one\r\ntwo"}, {"part": "known", "verdict": "undo"}):
        data = {"item": "a", "stage": "read", "part": "word", **said}
        answer = asker.ask("POST", f"//tasks/{task}/item/decide", data=data)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{address}#fold-decisions")
    [kept] = installation.client.decisions(task)
    assert (kept.item, kept.part, kept.verdict, kept.value) == ("a", "word", "replace", "one\ntwo")
    installation.work()
    assert installation.client.result(task) == {"a": ["word"], "b": [], "c": []}


def test_the_form_for_decisions_is_there_only_where_they_can_be_made(
    sqlite_asker: Asker, sqlite_installation: Installation
) -> None:
    task = reviewed(sqlite_installation)
    data = {"item": "a", "stage": "read", "part": "word", "verdict": "reject"}
    foreign = sqlite_asker.ask(
        "POST", f"//tasks/{task}/item/decide", data=data, headers={"origin": "http://other.test"}
    )
    assert foreign.status_code == 403
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    page = sqlite_asker.ask("GET", f"//tasks/{task}/item?key=a&stage=read", headers=viewer).text
    assert 'id="decide"' not in page
    assert sqlite_asker.ask("POST", f"//tasks/{task}/item/decide", data=data, headers=viewer).status_code == 403
    assert sqlite_installation.client.decisions(task) == []
    plain = ff.Pipeline("plain")
    plain.each(name="read")(lambda item: item.key)
    unmerged = sqlite_installation.client.submit(sqlite_installation.know(plain), items=["a"])
    sqlite_installation.work()
    editor = {"authorization": f"Bearer {token(sqlite_installation, 'ann', 'member', '*')}"}
    keyed = f"//tasks/{unmerged.id}/item?key={sqlite_installation.client.items(unmerged.id)[0].key}&stage=read"
    assert 'id="decide"' not in sqlite_asker.ask("GET", keyed, headers=editor).text
