"""The page of changes: paragraphs in windows, filtered, with decisions at once, also while the task runs."""

import json
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.apps.proofread import proofread
from fanfold.server.tables import item_index
from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.novels import change, chunk, chunks, novel


@pytest.fixture
def asker(installation: Installation) -> Asker:
    installation.know(novel)
    return Asker(installation)


def worked(installation: Installation, count: int, lost: int = 0) -> str:
    task = installation.client.submit(novel, items=chunks(count, lost))
    installation.work()
    return task.id


def texts(found: Any) -> list[str]:
    """The changes that pass the filter, by the text before them."""
    return [one["before"] for row in found["rows"] for one in row["changes"] if one["fits"]]


def places(found: Any) -> list[str]:
    return [row["paragraph"] for row in found["rows"]]


def decide(asker: Asker, task: str, row: Any, number: int, verdict: str, value: Any = None) -> None:
    wish = {"item": row["item"], "part": row["changes"][number]["key"], "verdict": verdict, "value": value}
    asker.post(f"/tasks/{task}/decisions", {"decisions": [wish]})


def test_paragraphs_with_changes_come_in_windows_in_the_order_of_the_text(
    asker: Asker, installation: Installation
) -> None:
    task = worked(installation, 6)
    first = asker.get(f"//tasks/{task}/changes/window?limit=5")
    rest = asker.get(f"//tasks/{task}/changes/window?offset=5")
    assert places(first) + places(rest) == [
        "1.1", "1.3", "2.1", "2.3", "3.1", "3.3", "4.1", "4.2", "4.3", "5.1", "5.3", "6.1", "6.3",
    ]  # fmt: skip
    assert (first["total"], first["next"], rest["next"], first["fitting"], first["unread"]) == (13, 5, None, 24, 0)
    assert (first["chapters"], rest["chapters"]) == (["Chapter 1", "Chapter 2"], [])
    beyond = asker.get(f"//tasks/{task}/changes/window?offset=1000")
    assert (beyond["rows"], beyond["total"], beyond["next"]) == ([], 13, None)
    assert [row["paragraph"] for row in rest["rows"] if row["is_heading"]] == ["6.1"]
    assert [row["is_first"] for row in first["rows"]] == [True, False, True, False, True]
    assert first["rows"][0]["changes"][1] == chunk(1)["paragraphs"][0]["changes"][1] | {
        "end": 29, "kind": "replace", "topic": "space", "state": "open", "fits": True, "decision": None,
    }  # fmt: skip


def test_the_whole_text_has_unchanged_paragraphs_too(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 2)
    assert places(asker.get(f"//tasks/{task}/changes/window?whole=true")) == ["1.1", "1.2", "1.3", "2.1", "2.2", "2.3"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("origin=rule", [",and", "...", ",and", "..."]),
        ("origin=rule:dashes", ["...", "..."]),
        ("origin=rule:ellipses%2Bdashes", ["...", "..."]),
        ("origin=model:gpt-test&text=the", ["teh", "teh"]),
        ("topic=punctuation&item=2", ["..."]),
        ("kind=insert", []),
        ("chapter=Chapter 1&text=reciev", ["recieved", "recieved"]),
        ("chapter=Chapter", []),
        ("state=accept", []),
        ("text=……", ["...", "..."]),
    ],
)
def test_changes_are_filtered(sqlite_installation: Installation, query: str, expected: list[str]) -> None:
    sqlite_installation.know(novel)
    task = worked(sqlite_installation, 2)
    found = Asker(sqlite_installation).get(f"//tasks/{task}/changes/window?{query}")
    assert (texts(found), found["fitting"]) == (expected, len(expected))


def test_figures_count_all_changes_whatever_the_filter(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 4)
    found = asker.get(f"//tasks/{task}/changes/window?origin=rule:spacing")
    assert (found["total"], found["changes"], found["decided"]) == (4, 16, 0)
    assert found["states"] == {"open": 16, "gap": 1}
    assert found["topics"] == {"words": 8, "punctuation": 4, "space": 4}
    assert found["origins"] == {"model:gpt-test": 8, "rule:ellipses+dashes": 4, "rule:spacing": 4}


def test_gaps_and_failed_items_are_listed_as_such(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 5, lost=1)
    gap, failed = asker.get(f"//tasks/{task}/changes/window?state=gap")["rows"]
    assert (gap["paragraph"], gap["gap"], gap["changes"]) == ("4.2", "the answer lost two sentences twice", [])
    assert (failed["item"], failed["error"], failed["before"]) == ("5", "The service refused the text.", "")
    installation.client.retry(task, ["5"], options={"mended": True})
    installation.work()
    asker.place.changes.of(installation.client.lookup, task)._rest = 0
    assert places(asker.get(f"//tasks/{task}/changes/window?state=gap")) == ["4.2"]


def test_a_decision_is_shown_at_once_and_the_text_follows(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 1)
    row = asker.get(f"//tasks/{task}/changes/window")["rows"][0]
    decide(asker, task, row, 0, "accept")
    decide(asker, task, row, 1, "reject")
    decide(asker, task, row, 2, "replace", "got")
    found = asker.get(f"//tasks/{task}/changes/window")
    assert [one["state"] for one in found["rows"][0]["changes"]] == ["accept", "reject", "replace"]
    made = found["rows"][0]["changes"][2]["decision"]
    assert (made["value"], made["actor"]) == ("got", "person")
    assert (found["decided"], found["changes"]) == (3, 4)
    assert found["states"] == {"open": 1, "accept": 1, "reject": 1, "replace": 1}
    installation.work()
    assert installation.client.result(task).startswith("Rain fell on the 1 houses,and nobody got it.\n")
    decide(asker, task, row, 2, "undo")
    assert asker.get(f"//tasks/{task}/changes/window")["rows"][0]["changes"][2]["state"] == "open"


def test_a_list_filtered_by_state_stays_the_same_while_decisions_are_made(
    asker: Asker, installation: Installation
) -> None:
    task = worked(installation, 3)
    path = f"//tasks/{task}/changes/window?state=open"
    first = asker.get(path)
    decide(asker, task, first["rows"][1], 0, "accept")
    again = asker.get(f"{path}&as_of={first['as_of']}")
    assert places(again) == places(first)
    assert (again["rows"][1]["changes"][0]["state"], again["rows"][1]["changes"][0]["fits"]) == ("accept", True)
    assert places(asker.get(path)) == ["1.1", "2.1", "2.3", "3.1", "3.3"]


def test_all_changes_that_pass_a_filter_are_decided_together(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 3)
    path, seen = f"//tasks/{task}/changes/decide", f"//tasks/{task}/changes/window"
    decide(asker, task, asker.get(seen)["rows"][0], 1, "accept")
    wish = {"origin": "rule:spacing", "state": "open", "verdict": "reject"}
    assert asker.post(path, wish) == {"decided": 2}
    found = asker.get(seen)
    assert (found["states"], found["decided"]) == ({"open": 9, "accept": 1, "reject": 2}, 3)
    assert {(one.verdict.value, one.actor) for one in installation.client.decisions(task)} == {
        ("accept", "person"), ("reject", "person"),
    }  # fmt: skip
    installation.work()
    assert installation.client.result(task).count("houses,and") == 2
    assert asker.post(path, {"verdict": "undo"}) == {"decided": 3}
    assert asker.post(path, {"verdict": "undo"}) == {"decided": 0}
    asker.post(path, {"verdict": "replace"}, status=422)


def test_many_decisions_wait_until_every_output_is_read(
    asker: Asker, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = worked(installation, 7)
    monkeypatch.setattr(item_index, "READ_AT_ONCE", 2)
    monkeypatch.setattr(item_index, "LOOK_SECONDS", 0)
    assert asker.post(f"//tasks/{task}/changes/decide", {"verdict": "accept", "topic": "space"}) == {"decided": 7}


def test_changes_grow_while_the_task_runs_and_the_version_tells(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(novel, items=chunks(2)).id
    nothing = asker.get(f"//tasks/{task}/changes/window")
    assert (nothing["rows"], nothing["changes"]) == ([], 0)
    worker = installation.worker()
    worker.finish(*worker.claim(free=1), output=json.dumps(chunk(1)))
    asker.place.changes.of(installation.client.lookup, task)._rest = 0
    found = asker.get(f"//tasks/{task}/changes/window")
    assert places(found) == ["1.1", "1.3"]
    assert found["version"] > nothing["version"]
    decide(asker, task, found["rows"][0], 0, "accept")
    asker.place.changes.of(installation.client.lookup, task)._rest = 0
    assert asker.get(f"//tasks/{task}/changes/window")["version"] == found["version"]


def test_a_window_reads_only_the_outputs_that_it_shows(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 30)
    asker.get(f"//tasks/{task}/changes/window")
    with installation.statements() as heard:
        asker.get(f"//tasks/{task}/changes/window?origin=rule&limit=2&offset=20")
    assert len([one for one in heard if "item_data" in one]) == 1


def test_a_head_begins_another_chapter_and_overlapping_changes_are_left_out(sqlite_installation: Installation) -> None:
    two = [change("Rain fel.", "fel", "fell"), change("Rain fel.", "Rain f", "Sun f")]
    told = [
        {"id": "1", "before": "Rain fel.", "changes": two},
        {"id": "2", "before": " Two ", "kind": "head", "changes": [change(" Two ", " ", "")]},
        {"id": "3", "before": "teh end", "changes": [change("teh end", "teh", "the")]},
    ]
    pipeline = ff.Pipeline("heads", view="changes")
    pipeline.each(name="read")(lambda item: {"chapter": "One", "paragraphs": told})
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=["x"]).id
    sqlite_installation.work()
    asker = Asker(sqlite_installation)
    found = asker.get(f"//tasks/{task}/changes/window")
    assert found["chapters"] == ["One", "Two"]
    assert [(row["chapter"], row["is_heading"]) for row in found["rows"]] == [
        ("One", True), ("Two", True), ("Two", False),
    ]  # fmt: skip
    assert texts(found) == ["Rain f", " ", "teh"]
    flat = asker.get(f"/tasks/{task}/changes")["changes"]
    assert [(one["chapter"], one["before"]) for one in flat] == [("One", "Rain f"), ("Two", " "), ("Two", "teh")]


@pytest.mark.parametrize(
    "output",
    [
        7,
        {"paragraphs": 3},
        {"paragraphs": [None, {"before": 7}, {"before": "x", "changes": 1}]},
        {"before": "x", "changes": [3, {"key": "k"}, {"key": "k", "start": 9}]},
        {"before": "abc", "changes": [{"key": "k", "start": -1, "before": "c", "after": ""}]},
        {"before": "abc", "changes": [{"key": "k", "start": 1, "before": "a", "after": "b"}]},
    ],
)
def test_an_output_of_another_shape_breaks_nothing(sqlite_installation: Installation, output: Any) -> None:
    pipeline = ff.Pipeline("odd", view="changes")
    pipeline.each(name="read")(lambda item: output)
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=["x"]).id
    sqlite_installation.work()
    asker = Asker(sqlite_installation)
    found = asker.get(f"//tasks/{task}/changes/window?whole=true")
    assert (found["changes"], found["fitting"]) == (0, 0)
    assert asker.get(f"/tasks/{task}/changes")["changes"] == []


def test_a_single_text_is_a_paragraph_of_its_own(sqlite_installation: Installation) -> None:
    pipeline = ff.Pipeline("plain", view="changes")
    pipeline.each(name="read")(lambda item: chunk(1)["paragraphs"][0])
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=["x"]).id
    sqlite_installation.work()
    asker = Asker(sqlite_installation)
    assert texts(asker.get(f"//tasks/{task}/changes/window")) == ["teh", ",and", "recieved"]
    page = asker.ask("GET", f"//tasks/{task}/item?key=1", headers={"accept": "text/html"}).text
    assert "Rain fell on the 1 houses, and nobody received it." in page


def test_what_proofreading_makes_is_listed(asker: Asker, installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "rain.txt"
    path.write_text("第一章 雨\n\n　　他说:“你来了...”\n\n第二章 晴\n\n　　雨停了--天亮了。\n", encoding="utf-8")
    installation.know(proofread)
    task = installation.client.submit(proofread, path, options={"rules_only": True}, straight_through=True).id
    installation.work()
    found = asker.get(f"//tasks/{task}/changes/window")
    assert (texts(found), found["chapters"], found["unread"]) == ([":", "...", "--"], ["第一章 雨", "第二章 晴"], 0)
    assert found["origins"] == {"rule:dashes": 1, "rule:ellipses": 1, "rule:punctuation_width": 1}
    assert asker.post(f"//tasks/{task}/changes/decide", {"verdict": "reject", "chapter": "第二章 晴"}) == {"decided": 1}


def test_the_task_leads_to_its_changes(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 2)
    html = {"accept": "text/html"}
    assert f'href="/tasks/{task}/changes"' in asker.ask("GET", f"//tasks/{task}", headers=html).text
    english = asker.ask("GET", f"//tasks/{task}/changes", headers=html).text
    chinese = asker.ask("GET", f"//tasks/{task}/changes", headers=html | {"accept-language": "zh-CN"}).text
    assert "Search in changes" in english
    assert "在改动中搜索" in chinese
    assert len(english) < 20_000


def test_the_changes_of_other_owners_are_not_found_and_a_viewer_decides_nothing(
    asker: Asker, installation: Installation
) -> None:
    task = worked(installation, 1)
    asker.place.demands_token = True
    eve = {"authorization": f"Bearer {token(installation, 'eve')}"}
    path, wish = f"//tasks/{task}/changes", {"verdict": "accept"}
    assert asker.ask("GET", f"{path}/window", headers=eve).status_code == 404
    assert asker.ask("POST", f"{path}/decide", headers=eve, json=wish).status_code == 404
    ann = {"authorization": f"Bearer {token(installation, 'ann', 'viewer', '*')}"}
    assert asker.ask("POST", f"{path}/decide", headers=ann, json=wish).status_code == 403
    page = asker.ask("GET", path, headers=ann | {"accept": "text/html"})
    assert 'data-decides="no"' in page.text
