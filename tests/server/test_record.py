"""A cell on the pages: shown with its evidence, decided about with typed values, and told in the review log."""

import csv
import html
import io
from typing import Any

import pytest

import fanfold as ff
from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.records import cell, documents, papers, record

HTML = {"accept": "text/html"}
SCRIPT = HTML | {"hx-request": "true"}


@pytest.fixture
def asker(sqlite_installation: Installation) -> Asker:
    sqlite_installation.know(papers)
    return Asker(sqlite_installation)


@pytest.fixture
def task(asker: Asker, sqlite_installation: Installation) -> str:
    found = sqlite_installation.client.submit(papers, items=documents(4), title="Sleep").id
    sqlite_installation.work()
    return found


def shown(asker: Asker, path: str, **headers: str) -> str:
    answer = asker.ask("GET", f"/{path}", headers=HTML | headers)
    assert answer.status_code == 200, answer.text
    return html.unescape(answer.text)


def decided(asker: Asker, task: str, column: str, **fields: Any) -> Any:
    found = asker.get(f"/tasks/{task}/table/cell?key=doc-4&column={column}")
    form = {"key": "doc-4", "stage": "extract", "column": column, "part": found["cell"]["part"], **fields}
    return asker.ask("POST", f"//tasks/{task}/record", data=form, headers=SCRIPT)


def value(asker: Asker, task: str, column: str) -> tuple[str, Any]:
    found = asker.get(f"/tasks/{task}/table/cell?key=doc-4&column={column}")["cell"]
    return found["state"], found["value"]


def test_a_cell_is_shown_with_its_quote_its_box_and_its_alternatives(asker: Asker, task: str) -> None:
    seen = shown(asker, f"/tasks/{task}/record?key=doc-4&column=sample_size", **{"hx-request": "true"})
    assert "the sample_size was 100" in seen
    assert "page 1 · line 17 · score 96" in seen
    assert '<rect x="0.1" y="0.25" width="0.6" height="0.05"/>' in seen
    assert f"/api/v1/tasks/{task}/items/image?key=doc-4&stage=extract&page=1" in seen
    assert "use this" in seen
    assert 'name="option:item" value="doc-4"' in seen
    assert 'name="option:column" value="sample_size"' in seen
    assert 'id="redo-model"' in seen
    plain = asker.ask("GET", f"//tasks/{task}/record?key=doc-4&column=sample_size", headers=HTML)
    assert plain.headers["location"] == f"/tasks/{task}/table?key=doc-4&row=1&cell=sample_size"


def test_an_edit_has_the_kind_of_the_value(asker: Asker, task: str) -> None:
    assert decided(asker, task, "sample_size", verdict="replace", value=" 128 ", kind="number").status_code == 200
    assert value(asker, task, "sample_size") == ("edited", 128)
    refused = decided(asker, task, "sample_size", verdict="replace", value="many", kind="number")
    assert (refused.status_code, value(asker, task, "sample_size")) == (422, ("edited", 128))
    decided(asker, task, "design", verdict="replace", value="7", kind="text")
    assert value(asker, task, "design") == ("edited", "7")
    decided(asker, task, "design", verdict="replace", value="true", kind="flag")
    assert value(asker, task, "design") == ("edited", True)
    decided(asker, task, "design", verdict="replace", value='["a", 1]', kind="json")
    assert value(asker, task, "design") == ("edited", ["a", 1])
    assert decided(asker, task, "design", verdict="replace", value="[", kind="json").status_code == 422
    decided(asker, task, "design", verdict="replace", kind="none")
    assert value(asker, task, "design") == ("edited", None)
    decided(asker, task, "design", verdict="undo")
    assert value(asker, task, "design") == ("ok", "cohort")
    decided(asker, task, "design", verdict="accept")
    assert value(asker, task, "design") == ("approved", "cohort")


def test_an_empty_cell_is_edited_as_the_others_of_its_column(asker: Asker, sqlite_installation: Installation) -> None:
    pipeline = ff.Pipeline("mixed", view="table")

    @pipeline.each
    def read(item: ff.ItemWork) -> Any:
        return record("a", 1) | {"fields": {"n": cell("n", item.input)}}

    pipeline.merge(name="join")(lambda task, results: None)
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=[None, 7]).id
    sqlite_installation.work()
    asker = Asker(sqlite_installation)
    asker.get(f"/tasks/{task}/table")
    seen = shown(asker, f"/tasks/{task}/record?key=1&column=n", **{"hx-request": "true"})
    assert 'name="kind" value="number"' in seen


def test_the_page_of_an_item_shows_its_record_without_scripts(asker: Asker, task: str) -> None:
    page = shown(asker, f"/tasks/{task}/item?key=doc-4")
    assert '<span class="cell-state cell-conflict">conflict</span>' in page
    assert "Study 4 of <sleep> & rest" in page
    assert f"/tasks/{task}/item?key=doc-4&stage=extract&row=1&column=sample_size" in page
    opened = shown(asker, f"/tasks/{task}/item?key=doc-4&stage=extract&column=sample_size")
    assert "the sample_size was 100" in opened
    form = {"key": "doc-4", "stage": "extract", "column": "title", "verdict": "accept"}
    form["part"] = asker.get(f"/tasks/{task}/table/cell?key=doc-4&column=title")["cell"]["part"]
    answer = asker.ask("POST", f"//tasks/{task}/record", data=form, headers=HTML)
    assert (answer.status_code, "column=title" in answer.headers["location"]) == (303, True)
    assert '"fields"' in shown(asker, f"/tasks/{task}/item?key=doc-4&tab=source")


def test_the_page_of_a_task_leads_to_its_table(asker: Asker, task: str) -> None:
    assert f'href="/tasks/{task}/table"' in shown(asker, f"/tasks/{task}")
    assert "审核记录" in shown(asker, f"/tasks/{task}/table", **{"accept-language": "zh"})


def test_a_viewer_sees_a_cell_and_cannot_decide(asker: Asker, task: str, sqlite_installation: Installation) -> None:
    asker.place.demands_token = True
    headers = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    seen = shown(asker, f"/tasks/{task}/record?key=doc-4&column=title", **{"hx-request": "true"}, **headers)
    assert "data-decide" not in seen
    form = {"key": "doc-4", "stage": "extract", "column": "title", "part": "x", "verdict": "accept"}
    assert asker.ask("POST", f"//tasks/{task}/record", data=form, headers=SCRIPT | headers).status_code == 403


def test_the_review_log_tells_who_decided_what_before_and_after(asker: Asker, task: str) -> None:
    decided(asker, task, "sample_size", verdict="accept")
    decided(asker, task, "design", verdict="replace", value="=cmd()", kind="text")
    decided(asker, task, "design", verdict="undo")
    answer = asker.ask("GET", f"/tasks/{task}/decisions.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.reader(io.StringIO(answer.text)))
    assert rows[0][7:] == ["decision", "before", "after"]
    assert [(row[2], row[4], row[5], *row[7:]) for row in rows[1:]] == [
        ("person", "paper0004.pdf", "sample_size", "accept", "100", "100"),
        ("person", "paper0004.pdf", "design", "replace", "cohort", "'=cmd()"),
        ("person", "paper0004.pdf", "design", "undo", "cohort", "cohort"),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        {"evidence": "none", "alternatives": "none"},
        {
            "evidence": [3, {"page": "three", "boxes": [{"x": "a"}], "score": "high"}],
            "alternatives": [1, {"value": {}}],
        },
        {"attempts": "two", "cost": 3, "model": 7, "reason": 5, "raw": {"a": 1}},
    ],
)
def test_whatever_an_application_writes_into_a_cell_can_be_shown(
    sqlite_installation: Installation, odd: dict[str, Any]
) -> None:
    pipeline = ff.Pipeline("odd", view="record")
    pipeline.each(name="read")(lambda item: record("a", 1) | {"fields": {"n": cell("n", 1) | odd}})
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=["x"]).id
    sqlite_installation.work()
    asker = Asker(sqlite_installation)
    shown(asker, f"/tasks/{task}/item?key=1&column=n")
    assert "/table" not in shown(asker, f"/tasks/{task}")
