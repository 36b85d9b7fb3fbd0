"""Schedules and start times over HTTP and on the page."""

from tests.installation import Installation
from tests.server.asking import Asker, token

WISH = {"cron": "0 3 * * *", "zone": "Europe/Berlin", "pipeline": "words", "items": ["a", "b"]}


def test_a_schedule_is_added_steered_and_removed_over_http(asker: Asker) -> None:
    made = asker.ask("PUT", "/schedules/nightly", json=WISH)
    assert made.status_code == 201, made.text
    assert [one["name"] for one in asker.get("/schedules")] == ["nightly"]
    assert len(asker.get("/schedules/nightly/next?count=3")) == 3
    task = asker.post("/schedules/nightly/run", {}, status=201)
    assert task["total"] == 2
    assert asker.get("/schedules/nightly")["runs"][0]["task"] == task["id"]
    assert asker.post("/schedules/nightly/pause", {})["paused"] is True
    assert asker.post("/schedules/nightly/resume", {})["paused"] is False
    assert asker.ask("DELETE", "/schedules/nightly").status_code == 204
    assert asker.ask("GET", "/schedules/nightly").status_code == 404


def test_a_schedule_over_http_and_on_the_page_has_a_budget(sqlite_asker: Asker) -> None:
    added = sqlite_asker.ask("PUT", "/schedules/nightly", json=WISH | {"budget": 1.5, "strict_budget": True}).json()
    assert added["budget"] == 1.5
    task = sqlite_asker.post("/schedules/nightly/run", {}, status=201)
    budget = sqlite_asker.get(f"/tasks/{task['id']}/budget")
    assert (budget["cap"], budget["strict"]) == (1.5, True)
    page = sqlite_asker.client
    form = {"name": "weekly", "cron": "0 3 * * 1", "pipeline": "words", "values": '["a"]', "budget": "0.75"}
    assert page.post("/schedules/add", data=form, follow_redirects=False).status_code == 303
    assert sqlite_asker.get("/schedules/weekly")["budget"] == 0.75
    assert "$0.75" in page.get("/schedules").text
    wrong = page.post("/schedules/add", data=form | {"name": "other", "budget": "much"})
    assert wrong.status_code == 422
    assert 'value="much"' in wrong.text


def test_a_wrong_schedule_is_a_problem_document(sqlite_asker: Asker) -> None:
    answer = sqlite_asker.ask("PUT", "/schedules/x", json=WISH | {"cron": "every day"})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad_cron")
    answer = sqlite_asker.ask("PUT", "/schedules/x", json=WISH | {"pipeline": "nothing"})
    assert answer.status_code == 404


def test_text_in_a_schedule_is_never_a_path(sqlite_asker: Asker) -> None:
    wish = {"cron": "0 3 * * *", "pipeline": "pages", "inputs": ["/etc/passwd"], "options": {"count": 1}}
    assert sqlite_asker.ask("PUT", "/schedules/x", json=wish).status_code == 201
    task = sqlite_asker.post("/schedules/x/run", {}, status=201)
    assert task["inputs"] == ["/etc/passwd"]


def test_a_task_is_submitted_for_later_over_http(sqlite_asker: Asker) -> None:
    task = sqlite_asker.post("/tasks", {"pipeline": "words", "items": ["a"], "delay": 3600}, status=201)
    assert (task["state"], task["needs_you"]) == ("waiting", None)
    late = {"pipeline": "words", "items": ["a"], "run_at": "2199-01-01T00:00:00+02:00"}
    assert sqlite_asker.post("/tasks", late, status=201)["start_at"].startswith("2198-12-31T22:00")
    wrong = sqlite_asker.ask("POST", "/tasks", json=late | {"run_at": "2199-01-01T00:00:00"})
    assert wrong.status_code == 422


def test_the_page_lists_adds_and_steers_schedules(sqlite_asker: Asker) -> None:
    page = sqlite_asker.client
    form = {
        "name": "nightly",
        "cron": "0 3 * * *",
        "zone": "UTC",
        "pipeline": "words",
        "values": '["a"]',
        "options": "",
    }
    assert page.post("/schedules/add", data=form, follow_redirects=False).status_code == 303
    assert "nightly" in page.get("/schedules").text
    wrong = page.post("/schedules/add", data=form | {"name": "other", "cron": "never"})
    assert wrong.status_code == 422
    assert "cron expression" in wrong.text
    assert page.post("/schedules/nightly/pause", follow_redirects=False).status_code == 303
    assert sqlite_asker.get("/schedules/nightly")["paused"] is True
    ran = page.post("/schedules/nightly/run", follow_redirects=False)
    assert ran.headers["location"].startswith("/tasks/t-")
    assert page.post("/schedules/nightly/remove", follow_redirects=False).status_code == 303
    assert sqlite_asker.get("/schedules") == []


def test_a_viewer_changes_nothing_and_an_owner_sees_only_their_own(sqlite_installation: Installation) -> None:
    server = Asker(sqlite_installation)
    secrets = {
        name: {"authorization": f"Bearer {token(sqlite_installation, name, role, owner)}"}
        for name, role, owner in (("admin", "admin", None), ("viewer", "viewer", None), ("bob", "member", "bob"))
    }
    add = {"json": WISH | {"owner": "ann"}}
    assert server.ask("PUT", "/schedules/nightly", **add, headers=secrets["admin"]).status_code == 201
    assert server.ask("POST", "/schedules/nightly/run", headers=secrets["viewer"]).status_code == 403
    assert server.get("/schedules", headers=secrets["bob"]) == []
    assert server.ask("POST", "/schedules/nightly/run", headers=secrets["bob"]).status_code == 404
    assert server.ask("PUT", "/schedules/other", **add, headers=secrets["bob"]).status_code == 403
