"""A result is available in its application's forms over HTTP and from the page, and failures are reported."""

import re
import tempfile
from pathlib import Path

import pytest

import fanfold as ff
from tests.engine.offering import lines
from tests.engine.test_forms import begun
from tests.installation import Installation
from tests.server.asking import Asker

pytestmark = pytest.mark.one_database

HTML = {"accept": "text/html"}


@pytest.fixture
def at(asker: Asker, installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asker:
    """A server that knows the pipeline."""
    installation.know(lines)
    asker.place.pipelines = {"lines": lines}
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return asker


@pytest.fixture
def task(at: Asker, installation: Installation) -> ff.Task:
    """A completed task."""
    task = installation.client.submit(lines, items=["one", "two"], title="红书.txt")
    installation.work()
    return installation.client.get(task.id)


def test_a_result_is_sent_in_a_form_and_removed_afterwards(at: Asker, task: ff.Task, tmp_path: Path) -> None:
    answer = at.ask("GET", f"/tasks/{task.id}/result?form=table")
    assert (answer.status_code, answer.text) == (200, "1,1 one\n2,2 two\n")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert "%E7%BA%A2%E4%B9%A6.csv" in answer.headers["content-disposition"]
    assert "sandbox" in answer.headers["content-security-policy"]
    part = at.ask("GET", f"/tasks/{task.id}/result?form=table", headers={"range": "bytes=2-4"})
    assert (part.status_code, part.text) == (206, "1 o")
    beyond = at.ask("GET", f"/tasks/{task.id}/result?form=table", headers={"range": "bytes=99-"})
    assert beyond.status_code == 416
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("form", "status", "code"),
    [("xlsx", 404, "no_form"), ("broken", 500, "form_failed"), ("refused", 500, "form_failed")],
)
def test_what_cannot_be_given_is_a_problem_document(
    at: Asker, task: ff.Task, form: str, status: int, code: str
) -> None:
    answer = at.ask("GET", f"/tasks/{task.id}/result?form={form}")
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.json()["code"] == code
    assert form in answer.json()["detail"]


def test_a_server_without_the_code_says_so(at: Asker, task: ff.Task) -> None:
    at.place.pipelines = {}
    answer = at.ask("GET", f"/tasks/{task.id}/result?form=table")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_pipeline")
    assert "The code of the pipeline lines is not known here" in answer.json()["detail"]
    assert "start the server with it" in answer.json()["detail"]
    assert "--target" not in answer.json()["detail"]


def test_a_task_without_a_result_has_no_forms(at: Asker, installation: Installation) -> None:
    task = installation.client.submit(lines, items=["one"])
    answer = at.ask("GET", f"/tasks/{task.id}/result?form=table")
    assert (answer.status_code, answer.json()["code"]) == (409, "task_stopped")
    assert "download-menu" not in at.ask("GET", f"//tasks/{task.id}", headers=HTML).text


def test_the_pipeline_tells_its_forms_and_the_page_offers_them(at: Asker, task: ff.Task) -> None:
    [known] = at.get("/pipelines")
    table = {"name": "table", "label": "Table", "media_type": "text/csv", "ending": ".csv", "partial": True}
    assert known["forms"][0] == table
    page = at.ask("GET", f"//tasks/{task.id}", headers=HTML).text
    menu = page[page.index("download-menu") :]
    assert re.findall(r"result\?form=(\w+)", menu)[:2] == ["table", "packed"]
    assert "Table" in menu


def test_results_so_far_can_be_downloaded_while_the_task_runs(at: Asker, installation: Installation) -> None:
    task = begun(installation)
    answer = at.ask("GET", f"/tasks/{task.id}/result?form=table&partial=1")
    assert (answer.status_code, answer.text) == (200, "1,1 one\n")
    refused = at.ask("GET", f"/tasks/{task.id}/result?form=packed&partial=1")
    assert (refused.status_code, refused.json()["code"]) == (409, "task_stopped")
    page = at.ask("GET", f"//tasks/{task.id}", headers=HTML).text
    menu = page[page.index("download-menu") :]
    assert "so far: 1 of 3" in menu
    assert re.findall(r"result\?form=(\w+)&amp;partial=1", menu) == ["table"]
