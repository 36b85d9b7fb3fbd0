"""Templates over HTTP and on the pages: saved, checked, versioned, reused and listed with their tasks."""

import html
from typing import Any

import pytest

from tests.engine.with_templates import survey
from tests.installation import Installation
from tests.server.asking import Asker, token

AGE = {"age": "How old?"}
HTML = {"accept": "text/html"}


@pytest.fixture
def asker(installation: Installation) -> Asker:
    installation.know(survey)
    return Asker(installation)


def saved(asker: Asker, body: Any = AGE, name: str = "people", **more: Any) -> Any:
    answer = asker.ask("PUT", f"/templates/fields/{name}", json={"body": body, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_template_is_saved_read_and_deleted_over_http(asker: Asker) -> None:
    assert saved(asker, note="first")["version"] == 1
    assert saved(asker)["version"] == 1
    assert saved(asker, AGE | {"name": "Who?"})["version"] == 2
    assert asker.get("/templates/fields/people")["version"] == 2
    assert asker.get("/templates/fields/people@1")["body"] == AGE
    assert [one["version"] for one in asker.get("/templates/fields/people/versions")] == [2, 1]
    assert [one["name"] for one in asker.get("/templates?kind=fields")] == ["people"]
    assert ("fields", "fields") in [(one["name"], one["option"]) for one in asker.get("/templates/kinds")]
    assert asker.ask("DELETE", "/templates/fields/people").status_code == 204
    assert asker.ask("GET", "/templates/fields/people").status_code == 404


def test_a_template_that_cannot_be_used_is_answered_with_all_its_problems(asker: Asker) -> None:
    answer = asker.ask("PUT", "/templates/fields/people", json={"body": {"age": 7, "size": "large"}})
    said = answer.json()
    assert (answer.status_code, said["code"]) == (422, "bad_template")
    assert said["problems"] == ["The field age has no question.", "The field size has no question."]
    checked = asker.post("/templates/fields/check", {"body": {"age": 7}})
    assert checked == {"problems": ["The field age has no question."]}
    assert asker.get("/templates") == []


def test_a_task_is_submitted_with_a_template_by_name(asker: Asker) -> None:
    saved(asker)
    wish = {"pipeline": "survey", "items": ["ann"], "options": {"fields": "people@1"}}
    task = asker.post("/tasks", wish, status=201)
    assert task["options"]["fields"] == '{"age":"How old?"}'
    assert [(one["task"], one["version"]) for one in asker.get("/templates/fields/people/tasks")] == [(task["id"], 1)]
    check = asker.ask("POST", "/pipelines/survey/check", json={"options": {"fields": "people"}})
    assert check.status_code == 204
    missing = asker.ask("POST", "/tasks", json=wish | {"options": {"fields": "nobody"}})
    assert (missing.status_code, missing.json()["code"]) == (404, "no_template")


def test_a_viewer_reads_templates_and_only_an_admin_deletes_them(installation: Installation, asker: Asker) -> None:
    saved(asker)
    asker.place.demands_token = True
    for role, status in (("viewer", 403), ("member", 200), ("admin", 200)):
        headers = {"authorization": f"Bearer {token(installation, role, role)}"}
        assert len(asker.get("/templates", headers=headers)) == 1
        answer = asker.ask("PUT", "/templates/fields/people", json={"body": AGE}, headers=headers)
        assert answer.status_code == status
        deleted = asker.ask("DELETE", "/templates/fields/people", headers=headers)
        assert deleted.status_code == (204 if role == "admin" else 403)


def test_the_page_lists_writes_and_changes_templates(asker: Asker) -> None:
    assert "There are no templates yet." in page(asker, "/templates")
    new = page(asker, "/templates/one?kind=fields")
    assert "Questions by name." in new
    assert '{"age": "How old?"}' in html.unescape(new)
    answer = post(asker, body='{"age": "How old?"}', note="first")
    assert (answer.status_code, answer.headers["location"]) == (303, "/templates/one?kind=fields&name=people")
    shown = page(asker, "/templates/one?kind=fields&name=people")
    assert "Save as version 2" in shown
    assert "/?new=true&amp;pipeline=survey&amp;option=fields&amp;template=people%401" in shown
    assert post(asker, body="How old?").status_code == 422
    assert "people" in page(asker, "/templates")


def test_the_page_shows_what_was_written_again_with_every_mistake(asker: Asker) -> None:
    answer = post(asker, name="two words", body='{"age": 1, "size": 2}')
    assert answer.status_code == 422
    assert "cannot name a template" in answer.text
    answer = post(asker, body='{"age": 1, "size": 2}')
    assert html.unescape(answer.text).count("has no question.") == 2
    assert "&#34;size&#34;: 2" in answer.text
    assert asker.get("/templates") == []


def test_the_page_of_a_template_lists_its_tasks(asker: Asker) -> None:
    saved(asker)
    wish = {"pipeline": "survey", "items": ["ann"], "options": {"fields": "people"}, "title": "Of Ann"}
    task = asker.post("/tasks", wish, status=201)
    shown = page(asker, "/templates/one?kind=fields&name=people")
    assert f'<a href="/tasks/{task["id"]}">Of Ann</a>' in shown
    assert post(asker, path="delete").headers["location"] == "/templates"
    assert asker.get("/templates") == []


def test_a_server_without_such_pipelines_does_not_offer_templates(installation: Installation) -> None:
    assert 'href="/templates"' not in page(Asker(installation), "/")


def page(asker: Asker, path: str) -> str:
    answer = asker.ask("GET", f"/{path}", headers=HTML)
    assert answer.status_code == 200, answer.text
    return answer.text


def post(asker: Asker, path: str = "save", name: str = "people", **fields: str) -> Any:
    return asker.ask("POST", f"//templates/{path}", data={"kind": "fields", "name": name, **fields}, headers=HTML)
