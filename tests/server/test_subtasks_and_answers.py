"""Subtasks and gates that ask, over HTTP and on the page."""

from __future__ import annotations

import pytest

from tests.cli.samples import double, volume
from tests.installation import Installation
from tests.server.asking import Asker

pytestmark = pytest.mark.one_database


@pytest.fixture
def at_the_gate(sqlite_installation: Installation, sqlite_asker: Asker) -> tuple[Asker, str]:
    """A server, and a task that waits for an answer after its subtask."""
    sqlite_installation.know(volume, double)
    known = sqlite_asker.place.pipelines
    assert isinstance(known, dict)
    known.update({"volume": volume, "double": double})
    task = sqlite_asker.post("/tasks", {"pipeline": "volume"}, status=201)["id"]
    sqlite_installation.work()
    return sqlite_asker, task


def test_a_subtask_that_was_redone_is_told_over_http_and_on_the_page(
    at_the_gate: tuple[Asker, str], sqlite_installation: Installation
) -> None:
    asker, task = at_the_gate
    (child,) = asker.get(f"/tasks?parent={task}")["tasks"]
    assert asker.get(f"/tasks/{task}")["changed_subtasks"] is None
    asker.post(f"/tasks/{child['id']}/rerun")
    sqlite_installation.work()
    found = asker.get(f"/tasks/{task}")
    assert found["changed_subtasks"].startswith(f"1 subtask was redone after its result was used here: {child['id']}.")
    assert "fanfold retry" not in found["changed_subtasks"]
    assert found["sentences"]["changed_subtasks"]["parameters"]["items"] == ["measure 1"]
    assert "1 subtask was redone" in asker.client.get(f"/tasks/{task}").text
    chinese = asker.client.get(f"/tasks/{task}", headers={"accept-language": "zh"}).text
    assert "1 个子任务在其结果被此处采用之后又重做了" in chinese


def test_an_answer_is_given_over_http_and_kept(
    at_the_gate: tuple[Asker, str], sqlite_installation: Installation
) -> None:
    asker, task = at_the_gate
    found = asker.get(f"/tasks/{task}")
    assert (found["subtasks"], found["asks"]["required"]) == ({"completed": 1}, ["tone"])
    (child,) = asker.get(f"/tasks?parent={task}")["tasks"]
    assert (child["parent"], child["parent_stage"], child["parent_item"]) == (task, "measure", "1")
    missing = asker.ask("POST", f"/tasks/{task}/resume", json={})
    assert (missing.status_code, missing.json()["code"]) == (422, "answer_needed")
    wrong = asker.ask("POST", f"/tasks/{task}/resume", json={"answer": {"tone": {"$file": "x"}}})
    assert wrong.status_code == 422
    other = asker.ask("POST", f"/tasks/{task}/resume", json={"answer": {"tone": "formal"}, "stage": "measure"})
    assert other.status_code == 409
    assert asker.post(f"/tasks/{task}/resume", {"answer": {"tone": "formal"}})["state"] == "active"
    sqlite_installation.work()
    (kept,) = asker.get(f"/tasks/{task}/answers")
    assert (kept["stage"], kept["answer"]) == ("issue", {"tone": "formal", "copies": 1})
    assert asker.ask("DELETE", f"/tasks/{child['id']}").status_code == 409


def test_the_page_asks_with_real_fields_and_links_subtasks_both_ways(
    at_the_gate: tuple[Asker, str], sqlite_installation: Installation
) -> None:
    asker, task = at_the_gate
    page = asker.client
    shown = page.get(f"/tasks/{task}").text
    assert 'name="option:tone" required' in shown
    assert "/resume" not in shown, "a button that could not work"
    assert f'href="/tasks/{task}#gate"' in page.get("/").text
    (child,) = asker.get(f"/tasks?parent={task}")["tasks"]
    assert f"/tasks/{child['id']}" in page.get(f"/tasks/{task}/subtasks").text
    assert f'href="/tasks/{task}"' in page.get(f"/tasks/{child['id']}").text
    refused = page.post(f"/tasks/{task}/answer", data={"option:tone": "", "option:copies": "2"})
    assert refused.status_code == 422
    assert 'name="stage" value="issue"' in shown
    stale = page.post(f"/tasks/{task}/answer", data={"option:tone": "plain", "stage": "measure"})
    assert stale.status_code == 409
    taken = page.post(f"/tasks/{task}/answer", data={"option:tone": "plain", "option:copies": "", "stage": "issue"})
    assert taken.status_code == 303
    sqlite_installation.work()
    assert "plain" in page.get(f"/tasks/{task}").text
    assert asker.get(f"/tasks/{task}")["state"] == "completed"
