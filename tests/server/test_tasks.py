"""Tasks are listed, shown, steered one by one and in bulk, and waited for."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.model.lifecycle import COMMANDS
from tests.cli.samples import gated, pages, words
from tests.installation import Installation
from tests.server.asking import Asker
from tests.waiting import eventually

MARK = {"$file": {"key": "t-other/secret", "name": "x", "size": 1}}


def submit(asker: Asker, *items: str, **more: Any) -> str:
    """The id of a new task of the pipeline `words`."""
    return str(asker.post("/tasks", {"pipeline": "words", "items": items or ("a",), **more}, status=201)["id"])


def ids(asker: Asker, **wanted: Any) -> list[str]:
    """The ids of a list."""
    return [task["id"] for task in asker.get("/tasks", params=wanted)["tasks"]]


def test_tasks_are_found_by_state_pipeline_owner_tag_and_text(asker: Asker) -> None:
    one = submit(asker, title="The Castle 100%", tags=["x"], owner="ann")
    two = asker.post("/tasks", {"pipeline": "pages", "inputs": ["a"], "tags": ["y"], "owner": "bob"}, status=201)["id"]
    asker.post(f"/tasks/{one}/pause")
    for wanted in ({"state": "paused"}, {"pipeline": "words"}, {"owner": "ann"}, {"tag": "x"}, {"text": "CASTLE 100%"}):
        assert ids(asker, **wanted) == [one], wanted
    assert ids(asker, state=["paused", "active"]) == [two, one]
    assert ids(asker, text="100_") == []


def test_a_cursor_walks_over_every_task_once(asker: Asker) -> None:
    made = [submit(asker) for _ in range(7)]
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = asker.get("/tasks", params={"limit": 3, **after})
        seen += [task["id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
        submit(asker)
    assert seen == made[::-1]


@pytest.mark.parametrize("sort", ["newest", "oldest", "updated"])
def test_every_order_is_walked_page_by_page_over_every_task_once(asker: Asker, sort: str) -> None:
    made = [submit(asker) for _ in range(5)]
    asker.post(f"/tasks/{made[1]}/pause")
    expected = {"newest": made[::-1], "oldest": made, "updated": [made[1], *made[:1:-1], made[0]]}[sort]
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = asker.get("/tasks", params={"limit": 2, "sort": sort, **after})
        seen += [task["id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        after = {"after": page["next"]}
        asker.post(f"/tasks/{seen[-1]}/cancel")
        assert asker.ask("DELETE", f"/tasks/{seen[-1]}").status_code == 204
    assert seen == expected
    assert asker.ask("GET", "/tasks", params={"sort": "loudest"}).status_code == 422


def test_the_order_of_the_list_is_in_its_address(asker: Asker) -> None:
    made = [submit(asker) for _ in range(3)]
    html = asker.ask("GET", "//", params={"sort": "oldest"}, headers={"accept": "text/html"}).text
    assert re.findall(r'<li id="task-(t-\w+)"', html) == made
    assert '<option value="oldest" selected>oldest first' in html
    assert 'href="/?sort=oldest&amp;show=active"' in html or 'href="/?show=active&amp;sort=oldest"' in html
    plain = asker.ask("GET", "//", params={"sort": "loudest"}, headers={"accept": "text/html"}).text
    assert re.findall(r'<li id="task-(t-\w+)"', plain) == made[::-1]
    assert 'href="/?show=active"' in plain


def test_a_cursor_survives_the_deletion_of_its_task(asker: Asker) -> None:
    made = [submit(asker) for _ in range(5)]
    page = asker.get("/tasks", params={"limit": 2})
    for id_ in made[3:]:
        asker.post(f"/tasks/{id_}/cancel")
        assert asker.ask("DELETE", f"/tasks/{id_}").status_code == 204
    rest = asker.get("/tasks", params={"limit": 9, "after": page["next"]})
    assert [task["id"] for task in rest["tasks"]] == made[2::-1]
    assert rest["next"] is None
    html = asker.ask("GET", "//", params={"after": page["next"]}, headers={"accept": "text/html"}).text
    assert made[2] in html
    assert asker.ask("GET", "/tasks", params={"after": made[0]}).status_code == 200


def test_a_question_that_makes_no_sense_is_refused(asker: Asker) -> None:
    for wanted in (
        {"limit": 0}, {"limit": 1001}, {"limit": 2**70}, {"state": "lost"}, {"after": "x" * 65}, {"text": "a\0b"},
        {"tag": "\0"}, {"owner": "\0"}, {"pipeline": "\0"}, {"after": "\0"},
    ):  # fmt: skip
        answer = asker.ask("GET", "/tasks", params=wanted)
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_request"), wanted
    assert asker.ask("GET", "/tasks", params={"after": "t-unknown"}).status_code == 404


def test_a_task_answers_to_a_shortened_id(asker: Asker, installation: Installation) -> None:
    one, two = submit(asker), submit(asker)
    installation.sql("UPDATE tasks SET id = 't-abc1' WHERE id = :id", id=one)
    installation.sql("UPDATE tasks SET id = 't-abd2' WHERE id = :id", id=two)
    assert asker.get("/tasks/abc")["id"] == "t-abc1"
    assert asker.get("/tasks/t-abd")["id"] == "t-abd2"
    several = asker.ask("GET", "/tasks/t-ab")
    assert (several.status_code, several.json()["code"]) == (409, "ambiguous")


def test_a_task_that_is_not_there_is_not_found(asker: Asker) -> None:
    for id_ in ("t-nothing", "t-", "%25", "' OR 1=1", "红", "~"):
        answer = asker.ask("GET", f"/tasks/{id_}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), id_
    assert asker.ask("GET", "/tasks/a%00b").status_code == 422
    assert asker.ask("GET", "/tasks/" + "x" * 65).status_code == 422


def active(installation: Installation) -> ff.Task:
    return installation.client.submit(words, items=["a"])


def paused(installation: Installation) -> ff.Task:
    return installation.client.pause(active(installation).id)


def waiting(installation: Installation) -> ff.Task:
    task = installation.client.submit(gated)
    installation.work()
    return task


def completed(installation: Installation) -> ff.Task:
    task = active(installation)
    installation.work()
    return task


def completed_without_merge(installation: Installation) -> ff.Task:
    task = installation.client.submit(gated, straight_through=True)
    installation.work()
    return task


def partial(installation: Installation) -> ff.Task:
    task = installation.client.submit(words, items=["a", "bad"])
    installation.work()
    return task


def failed(installation: Installation) -> ff.Task:
    task = installation.client.submit(words, items=["bad"])
    installation.work()
    return task


def cancelled(installation: Installation) -> ff.Task:
    return installation.client.cancel(active(installation).id)


STATES = (active, paused, waiting, completed, completed_without_merge, partial, failed, cancelled)


@pytest.mark.parametrize("made", STATES)
def test_a_command_is_possible_exactly_when_the_task_says_so(
    asker: Asker, installation: Installation, made: Callable[[Installation], ff.Task]
) -> None:
    installation.know(gated)
    assert isinstance(asker.place.pipelines, dict)
    asker.place.pipelines[gated.name] = gated
    for command in COMMANDS:
        task = made(installation)
        state = asker.get(f"/tasks/{task.id}")
        assert made.__name__.startswith(state["state"])
        method, path = ("DELETE", "") if command == "delete" else ("POST", f"/{command}")
        by_name = command == "retry" and "retry" not in installation.client.get(task.id).plain_commands
        named = {"items": ["1"], "stage": state["stages"][0]["name"]} if by_name else None
        answer = asker.ask(method, f"/tasks/{task.id}{path}", json=named)
        if command in state["available_commands"]:
            assert answer.status_code == (204 if command == "delete" else 200), (command, answer.text)
        else:
            assert (answer.status_code, answer.json()["code"]) == (409, "illegal_move"), command
            assert asker.get(f"/tasks/{task.id}") == state


def test_every_command_carries_the_name_and_the_reason_of_who_gave_it(asker: Asker) -> None:
    task = submit(asker)
    assert asker.post(f"/tasks/{task}/pause", {"reason": "lunch"})["wait_reason"] == "paused: lunch"
    asker.post(f"/tasks/{task}/resume")
    asker.post(f"/tasks/{task}/cancel", {"reason": "enough"})
    events = asker.get(f"/tasks/{task}/events")
    assert [(event["verb"], event["actor"], event["reason"]) for event in events] == [
        ("submit", "person", None),
        ("pause", "person", "lunch"),
        ("resume", "person", None),
        ("cancel", "person", "enough"),
    ]


def test_a_reason_that_cannot_be_kept_is_refused(asker: Asker) -> None:
    task = submit(asker)
    wrong: list[Any] = [{"reason": "a\0b"}, {"reason": "x" * 1001}, {"why": "x"}, {"reason": 1}, [], "x"]
    for said in wrong:
        assert asker.ask("POST", f"/tasks/{task}/pause", json=said).status_code == 422
    odd = asker.ask(
        "POST", f"/tasks/{task}/pause", content=b'{"\\ud800": 1}', headers={"content-type": "application/json"}
    )
    assert (odd.status_code, odd.json()["code"]) == (422, "bad_request")
    assert asker.get(f"/tasks/{task}")["state"] == "active"


def test_a_deleted_task_is_gone_with_its_files(asker: Asker, installation: Installation) -> None:
    task = asker.post("/tasks", {"pipeline": "pages", "files": [{"name": "a.txt", "text": "a"}]}, status=201)["id"]
    asker.post(f"/tasks/{task}/cancel")
    assert len(installation.blobs()) == 1
    answer = asker.ask("DELETE", f"/tasks/{task}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert asker.ask("GET", f"/tasks/{task}").status_code == 404
    assert installation.blobs() == []


def test_one_page_is_done_again_with_other_options(asker: Asker, installation: Installation) -> None:
    task = submit(asker, "a", "bad")
    installation.work()
    again = asker.post(f"/tasks/{task}/retry", {"items": ["2"], "options": {"mood": "good"}})
    assert (again["state"], again["open"]) == ("active", 1)
    installation.worker("second").run()
    assert asker.get(f"/tasks/{task}/result") == "A BAD"
    assert asker.get(f"/tasks/{task}/items/detail?key=2")["options"]["mood"] == "good"


def test_a_done_item_that_is_done_again_keeps_what_it_was(asker: Asker, installation: Installation) -> None:
    task = submit(asker, "a", "b")
    installation.worker("first").run()
    asker.post(f"/tasks/{task}/retry", {"items": ["1"]})
    installation.worker("second").run()
    detail = asker.get(f"/tasks/{task}/items/detail?key=1")
    assert (detail["output"], detail["previous"], detail["made_by"]) == ("A", "A", "second")
    assert asker.get(f"/tasks/{task}/items/detail?key=2")["made_by"] == "first"
    assert asker.get(f"/tasks/{task}/result") == "A B"
    assert [event["verb"] for event in asker.get(f"/tasks/{task}/events")].count("retry") == 1


def test_a_retry_that_cannot_be_is_refused(asker: Asker, installation: Installation) -> None:
    task = submit(asker, "a", "bad")
    installation.work()
    before = asker.get(f"/tasks/{task}")
    wishes: list[tuple[Any, int]] = [
        ({"items": ["9"]}, 404),
        ({"stage": "nothing"}, 404),
        ({"items": ["a\0"]}, 422),
        ({"stage": "\0"}, 422),
        ({"options": MARK}, 422),
        ({"options": {"a": [MARK]}}, 422),
        ({"options": {"a": "b\0"}}, 422),
        ({"options": {"\0": 1}}, 422),
        ({"items": "1"}, 422),
        ({"keys": ["1"]}, 422),
    ]
    for wish, status in wishes:
        assert asker.ask("POST", f"/tasks/{task}/retry", json=wish).status_code == status, wish
    odd = {"content-type": "application/json"}
    for body in (
        b'{"options": {"a": NaN}}',
        b'{"options": {"a": 1e999}}',
        b'{"options": {"a": "\\ud800"}}',
        b"\xff",
        b"{",
    ):
        assert asker.ask("POST", f"/tasks/{task}/retry", content=body, headers=odd).status_code == 422, body
    assert asker.get(f"/tasks/{task}") == before


def test_one_command_for_many_tasks_tells_what_it_did_and_what_refused(
    asker: Asker, installation: Installation
) -> None:
    done = submit(asker)
    installation.work()
    one, two = submit(asker, tags=["x"]), submit(asker, tags=["x"])
    wish = {"command": "pause", "tasks": [one, done, one, two]}
    preview = asker.post("/tasks/commands", {**wish, "dry_run": True})
    assert (preview["done"], [refused["id"] for refused in preview["refused"]]) == ([one, two], [done])
    assert "the task is completed" in preview["refused"][0]["reason"]
    assert ids(asker, state="paused") == []
    assert asker.post("/tasks/commands", wish)["done"] == [one, two]
    assert ids(asker, state="paused") == [two, one]
    assert asker.post("/tasks/commands", {"command": "resume", "tag": "x"})["done"] == [two, one]


def test_many_tasks_can_be_deleted_by_their_state(asker: Asker, installation: Installation) -> None:
    for _ in range(3):
        submit(asker)
    installation.work()
    kept = submit(asker)
    assert len(asker.post("/tasks/commands", {"command": "delete", "states": ["completed"]})["done"]) == 3
    assert ids(asker) == [kept]


def test_a_bulk_command_must_say_which_tasks_it_means(asker: Asker) -> None:
    task = submit(asker)
    for wish, status in (
        ({"command": "cancel"}, 422), ({"command": "explode", "tasks": [task]}, 422), ({"tasks": [task]}, 422),
        ({"command": "cancel", "text": "a\0"}, 422), ({"command": "cancel", "tasks": ["\0"]}, 422),
        ({"command": "cancel", "tasks": [task], "reason": "\0"}, 422),
    ):  # fmt: skip
        assert asker.ask("POST", "/tasks/commands", json=wish).status_code == status, wish
    assert asker.get(f"/tasks/{task}")["state"] == "active"


@pytest.mark.parametrize("command", ["retry", "accept", "refund", "external/check", "external/lost", "external/resend"])
def test_a_command_with_an_empty_list_of_items_does_not_apply_to_all(asker: Asker, command: str) -> None:
    task = submit(asker)
    refused = asker.ask("POST", f"/tasks/{task}/{command}", json={"items": []})
    assert refused.status_code == 422
    assert "`items` is empty" in refused.json()["detail"]


def test_waiting_ends_when_the_task_does(asker: Asker, installation: Installation) -> None:
    task = submit(asker)
    assert asker.get(f"/tasks/{task}/wait?seconds=0")["state"] == "active"
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(asker.get(f"/tasks/{task}/wait?seconds=25")))
    thread.start()
    eventually(lambda: asker.place.live.watchers)
    installation.work()
    thread.join(60)
    assert found[0]["state"] == "completed"
    assert asker.get(f"/tasks/{task}/wait")["state"] == "completed"
    assert asker.place.live.watchers == 0


def test_many_who_wait_leave_the_server_free(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = submit(sqlite_asker)
    ends: list[str] = []
    ask = f"/tasks/{task}/wait?seconds=25"
    threads = [threading.Thread(target=lambda: ends.append(sqlite_asker.get(ask)["state"])) for _ in range(40)]
    for thread in threads:
        thread.start()
    eventually(lambda: sqlite_asker.place.live.watchers == 40)
    assert sqlite_asker.get("/me")["name"] == "person"
    sqlite_installation.client.cancel(task)
    for thread in threads:
        thread.join(60)
    assert ends == ["cancelled"] * 40


def test_a_pipeline_of_files_runs_through_the_api(asker: Asker, installation: Installation) -> None:
    task = asker.post("/tasks", {"pipeline": pages.name, "files": [{"name": "a.txt", "text": "x\ny"}]}, status=201)
    report = asker.post("/tick", {"seconds": 20})
    assert report["finished"] == 4
    assert asker.ask("GET", f"/tasks/{task['id']}/result").text == "- x\n- y\n"
