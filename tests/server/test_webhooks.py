"""Webhooks over HTTP and on the page, for admins."""

from tests.installation import Installation
from tests.server.asking import Asker, token

WISH = {"url": "https://example.com/hook", "events": ["failed", "completed"]}


def test_a_webhook_is_put_tested_and_removed_over_http(asker: Asker) -> None:
    assert asker.ask("PUT", "/webhooks/ops", json=WISH).json()["events"] == ["failed", "completed"]
    assert [one["name"] for one in asker.get("/webhooks")] == ["ops"]
    assert asker.post("/webhooks/ops/test", status=201)["pipeline"] == "webhooks"
    assert [one["pipeline"] for one in asker.get("/tasks")["tasks"]] == ["webhooks"]
    assert asker.get("/tasks?deliveries=false")["tasks"] == []
    assert asker.ask("DELETE", "/webhooks/ops").status_code == 204
    assert asker.ask("POST", "/webhooks/ops/test").status_code == 404
    assert asker.ask("PUT", "/webhooks/ops", json=WISH | {"url": "file:///etc"}).status_code == 422


def test_the_page_adds_tests_and_removes(sqlite_asker: Asker) -> None:
    page = sqlite_asker.client
    form = {"name": "ops", "url": "https://example.com/hook", "events": ["failed"]}
    assert page.post("/webhooks/add", data=form).status_code == 303
    assert "https://example.com/hook" in page.get("/webhooks").text
    assert page.post("/webhooks/add", data=form | {"url": "ftp://x"}).status_code == 422
    assert page.post("/webhooks/ops/test").headers["location"].startswith("/tasks/t-")
    assert page.post("/webhooks/ops/remove").status_code == 303
    assert sqlite_asker.get("/webhooks") == []


def test_only_an_admin_may_see_and_change_them(sqlite_installation: Installation) -> None:
    server = Asker(sqlite_installation)
    headers = {"authorization": f"Bearer {token(sqlite_installation, 'bob')}"}
    assert server.ask("PUT", "/webhooks/ops", json=WISH, headers=headers).status_code == 403
    assert server.ask("GET", "/webhooks", headers=headers).status_code == 403
