"""A person accepts degraded results over HTTP and in the pages, and the mark stays visible."""

import pytest

from fanfold.model.text.sentences import say
from fanfold.server.web.frame.languages import Words
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.test_honest import HTML, degraded, page


def press(asker: Asker, path: str, **fields: str) -> int:
    return asker.ask("POST", f"//{path}", data=fields, headers=HTML).status_code


def test_the_api_accepts_all_or_named_items(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    shown = asker.get(f"/tasks/{task}")
    assert "accept" in shown["available_commands"]
    named = asker.post(f"/tasks/{task}/accept", {"items": ["2"], "reason": "good enough"})
    assert (named["degraded"], named["accepted"]) == (2, 1)
    assert [item["accepted"] for item in asker.get(f"/tasks/{task}/items")["items"]] == [False, True, False, False]
    rest = asker.post(f"/tasks/{task}/accept")
    assert (rest["degraded"], rest["accepted"], rest["needs_you"]) == (2, 2, None)
    assert "accept" not in rest["available_commands"]
    refused = asker.post(f"/tasks/{task}/accept", status=409)
    assert refused["code"] == "illegal_move"
    assert asker.post(f"/tasks/{task}/accept", {"items": ["7"]}, status=404)["code"] == "not_found"
    told = [(event["verb"], event["item"], event["reason"]) for event in asker.get(f"/tasks/{task}/events")]
    assert told[-2:] == [
        ("accept", "2", "1 degraded item of shout: 2; good enough"),
        ("accept", "4", "1 degraded item of shout: 4"),
    ]


def test_many_tasks_are_accepted_by_one_command(asker: Asker, installation: Installation) -> None:
    tasks = {degraded(installation), degraded(installation)}
    fine = installation.client.submit(words, items=["fine"])
    installation.work()
    report = asker.post("/tasks/commands", {"command": "accept", "tasks": [*tasks, fine.id]})
    assert set(report["done"]) == tasks
    assert [refused["id"] for refused in report["refused"]] == [fine.id]
    assert asker.get("/tasks", params={"needs_you": True})["tasks"] == []


def test_who_may_only_look_cannot_accept(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = degraded(sqlite_installation)
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    assert sqlite_asker.ask("POST", f"/tasks/{task}/accept", headers=viewer).status_code == 403
    assert sqlite_installation.client.get(task).accepted == 0


def test_the_pages_show_the_button_and_afterwards_that_it_was_accepted(
    asker: Asker, installation: Installation
) -> None:
    task = degraded(installation)
    button = f'action="/tasks/{task}/accept"'
    assert button in page(asker, "/?show=needs")
    shown = page(asker, f"/tasks/{task}")
    assert shown.count(button) == 1, "beside the reasons, not in the head as well"
    assert "keep these 2 as they are" in shown
    assert press(asker, f"tasks/{task}/accept") == 303
    listed = page(asker, "/")
    assert "2 items degraded, accepted" in listed
    assert button not in listed
    assert f'id="task-{task}"' not in page(asker, "/?show=needs")
    shown = page(asker, f"/tasks/{task}")
    assert shown.count("2 items degraded, accepted") == 2
    assert "not loud enough" in shown
    assert button not in shown
    assert 'data-all="dgdg"' in shown, "the grid still says so"
    assert page(asker, f"/tasks/{task}/items?degraded=true").count("degraded, accepted") == 2


def test_one_item_is_accepted_on_its_own_page(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    address = f"/tasks/{task}/item?key=2"
    assert f'action="/tasks/{task}/accept"' in page(asker, address)
    assert press(asker, f"tasks/{task}/accept", item="2", stage="shout") == 303
    shown = page(asker, address)
    assert "Accepted as it is." in shown
    assert f'action="/tasks/{task}/accept"' not in shown
    assert "2 items degraded, 1 accepted" in page(asker, f"/tasks/{task}")
    assert f'action="/tasks/{task}/accept"' not in page(asker, f"/tasks/{task}/item?key=1")


def test_what_was_accepted_can_still_be_done_again(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    installation.client.accept(task)
    assert press(asker, f"tasks/{task}/retry", degraded="true") == 303
    assert installation.states(installation.client.get(task), "shout") == "done pending done pending"


def test_many_rows_are_accepted_in_the_list(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    asked = asker.ask("POST", "//bulk/preview", data={"command": "accept", "task": task}, headers=HTML)
    assert "“keep as it is” for 1 of 1 task<" in asked.text
    assert press(asker, "bulk", command="accept", task=task) == 200
    assert installation.client.get(task).unaccepted == 0
    asked = asker.ask("POST", "//bulk/preview", data={"command": "accept", "task": task}, headers=HTML)
    assert "it has no degraded results that still need accepting" in asked.text


@pytest.mark.parametrize(
    "sentence",
    [
        "{items} degraded, accepted",
        "{items} degraded, {count} accepted",
        "degraded, accepted",
        "keep as it is",
        "keep these {count} as they are",
        "Accepted as it is.",
        "accept",
        "it has no degraded results that still need accepting",
    ],
)
def test_it_is_said_in_chinese_too(sentence: str) -> None:
    said = Words("zh")(sentence, items="2 页", count=2)
    assert said != Words("en")(sentence, items="2 页", count=2)


def test_the_reason_is_told_in_chinese_too() -> None:
    assert Words("zh").why(say("degraded_waits", count=3)).startswith("3 项")
