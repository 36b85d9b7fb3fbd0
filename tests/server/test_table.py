"""The table of a task: its rows in windows, filtered, with decisions at once, also while the task runs."""

import json
from typing import Any

import pytest

import fanfold as ff
from fanfold.server.tables import item_index
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.records import cell, documents, evidence, papers, record


@pytest.fixture
def asker(installation: Installation) -> Asker:
    installation.know(papers)
    return Asker(installation)


def worked(installation: Installation, count: int, bad: int = 0) -> str:
    task = installation.client.submit(papers, items=documents(count, bad))
    installation.work()
    return task.id


def names(found: Any) -> list[str]:
    return [row["document"] for row in found["rows"]]


def test_rows_come_in_windows_in_the_order_of_the_items(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 12)
    first = asker.get(f"/tasks/{task}/table?limit=5")
    assert first["columns"] == ["title", "sample_size", "design", "outcome"]
    assert (first["total"], first["next"], first["unread"], first["documents"]) == (12, 5, 0, {"done": 12})
    rest = asker.get(f"/tasks/{task}/table?limit=200&offset=5")
    assert names(first) + names(rest) == [f"paper{number:04}.pdf" for number in range(1, 13)]
    assert rest["next"] is None
    [found] = first["rows"][0]["fields"]["sample_size"]["evidence"]
    assert found == evidence("a total of 101 participants", 2, 81.0)


def test_rows_are_filtered_by_state_column_and_document(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 10, bad=1)
    path = f"/tasks/{task}/table"
    assert names(asker.get(f"{path}?state=weak")) == ["paper0002.pdf", "paper0007.pdf"]
    assert names(asker.get(f"{path}?state=weak&state=conflict&document=000")) == [
        "paper0002.pdf", "paper0004.pdf", "paper0007.pdf", "paper0009.pdf",
    ]  # fmt: skip
    assert names(asker.get(f"{path}?state=weak&column=design")) == []
    [only] = asker.get(f"{path}?document=PAPER0003&column=design")["rows"]
    assert list(only["fields"]) == ["design"]
    [failed] = asker.get(f"{path}?state=failed")["rows"]
    assert (failed["document"], failed["error"], failed["fields"]) == ("bad0.pdf", "The file is encrypted.", {})
    assert asker.ask("GET", f"{path}?state=nonsense").status_code == 422


def test_a_table_grows_while_the_task_runs(asker: Asker, installation: Installation) -> None:
    task = installation.client.submit(papers, items=documents(3)).id
    found = asker.get(f"/tasks/{task}/table")
    assert names(found) == ["paper0001.pdf", "paper0002.pdf", "paper0003.pdf"]
    assert (found["documents"], found["cells"], found["rows"][0]["state"]) == ({"open": 3}, {}, "pending")
    worker = installation.worker()
    worker.finish(*worker.claim(free=1), output=json.dumps(record("paper0001.pdf", 1)))
    asker.place.tables.of(installation.client.lookup, task)._rest = 0
    found = asker.get(f"/tasks/{task}/table?state=open")
    assert (found["documents"], names(found)) == ({"done": 1, "open": 2}, ["paper0002.pdf", "paper0003.pdf"])
    installation.work()
    asker.place.tables.of(installation.client.lookup, task)._rest = 0
    assert asker.get(f"/tasks/{task}/table")["documents"] == {"done": 3}


def test_a_decision_changes_the_cell_and_the_figures_at_once(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 3)
    row = asker.get(f"/tasks/{task}/table")["rows"][1]
    part = {name: one["part"] for name, one in row["fields"].items()}
    wishes = [
        {"item": row["key"], "part": part["sample_size"], "verdict": "accept"},
        {"item": row["key"], "part": part["design"], "verdict": "replace", "value": "case series"},
        {"item": row["key"], "part": part["title"], "verdict": "replace", "value": None},
    ]
    asker.post(f"/tasks/{task}/decisions", {"decisions": wishes})
    found = asker.get(f"/tasks/{task}/table")
    fields = found["rows"][1]["fields"]
    assert {name: (one["state"], one["value"]) for name, one in fields.items()} == {
        "title": ("edited", None), "sample_size": ("approved", 102), "design": ("edited", "case series"),
        "outcome": ("absent", None),
    }  # fmt: skip
    assert fields["design"]["before"] == {"value": "cohort", "state": "ok"}
    assert (fields["design"]["decision"]["actor"], found["reviewed"]) == ("person", 3)
    assert (found["cells"]["edited"], found["cells"]["approved"]) == (2, 1)
    assert names(asker.get(f"/tasks/{task}/table?state=approved")) == ["paper0002.pdf"]
    undo = wishes[1] | {"verdict": "undo", "value": None}
    asker.post(f"/tasks/{task}/decisions", {"decisions": [undo]})
    assert asker.get(f"/tasks/{task}/table")["rows"][1]["fields"]["design"]["state"] == "ok"


def test_a_redone_document_has_its_new_cells(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 2, bad=1)
    assert asker.get(f"/tasks/{task}/table")["documents"] == {"done": 1, "failed": 1}
    installation.client.retry(task, ["doc-2"], options={"mended": True})
    installation.work()
    asker.place.tables.of(installation.client.lookup, task)._rest = 0
    found = asker.get(f"/tasks/{task}/table")
    assert (found["documents"], found["rows"][1]["fields"]["title"]["state"]) == ({"done": 2}, "ok")


def test_problems_are_listed_with_their_reasons(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 5, bad=1)
    found = asker.get(f"/tasks/{task}/problems")
    assert [(one["document"], one["column"], one["state"], one["reason"]) for one in found["problems"]] == [
        ("paper0002.pdf", "sample_size", "weak", None),
        ("paper0003.pdf", "design", "unsupported", "The quote is not in the document."),
        ("paper0004.pdf", "sample_size", "conflict", None),
        ("bad0.pdf", None, "failed", "The file is encrypted."),
    ]
    assert asker.get(f"/tasks/{task}/problems?offset=3")["total"] == 4
    assert asker.get(f"/tasks/{task}/problems?limit=1")["next"] == 1


def test_a_cell_is_told_in_full_and_briefly(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 4)
    found = asker.get(f"/tasks/{task}/table/cell?key=doc-4&column=sample_size")
    assert (found["document"], found["cell"]["alternatives"][0]["value"]) == ("paper0004.pdf", 99)
    short = asker.get(f"/tasks/{task}/table?brief=true")["rows"][3]["fields"]["sample_size"]
    assert short == {"value": 100, "state": "conflict", "part": found["cell"]["part"]}
    for query in ("key=doc-4&column=nothing", "key=doc-4&column=design&row=2", "key=nobody&column=design"):
        assert asker.ask("GET", f"/tasks/{task}/table/cell?{query}").status_code == 404


def test_rows_inside_documents_and_files_given_twice_are_rows_of_their_own(
    asker: Asker, installation: Installation
) -> None:
    pipeline = ff.Pipeline("arms", view="table")

    @pipeline.each
    def read(item: ff.ItemWork) -> Any:
        made = record("a.pdf", 1)
        made["rows"] = [{"key": str(n), "fields": {"arm": cell("arm", f"arm {n}")}} for n in (1, 2)]
        made["document"]["rows"] = [
            {"name": name, "source": name, "columns": {"year": "2020"}} for name in ("a.pdf", "b.pdf")
        ]
        return made

    task = installation.client.submit(installation.know(pipeline), items=["x"]).id
    installation.work()
    found = asker.get(f"/tasks/{task}/table")
    assert [(row["document"], row["row"], row["fields"]["arm"]["value"]) for row in found["rows"]] == [
        ("a.pdf", 1, "arm 1"), ("a.pdf", 2, "arm 2"), ("b.pdf", 3, "arm 1"), ("b.pdf", 4, "arm 2"),
    ]  # fmt: skip
    assert found["rows"][0]["columns"] == {"year": "2020"}
    assert found["columns"][-1] == "arm"


@pytest.mark.parametrize(
    "output", [7, "text", {"fields": 3}, {"fields": {"a": 1}}, {"fields": {}, "rows": [None, 3]}, None]
)
def test_an_output_of_another_shape_is_a_row_without_cells(sqlite_installation: Installation, output: Any) -> None:
    pipeline = ff.Pipeline("odd", view="table")
    pipeline.each(name="read")(lambda item: output)
    task = sqlite_installation.client.submit(sqlite_installation.know(pipeline), items=["x"]).id
    sqlite_installation.work()
    [row] = Asker(sqlite_installation).get(f"/tasks/{task}/table")["rows"]
    assert (row["key"], row["fields"]) == ("1", {})


def test_a_look_reads_a_bounded_number_of_outputs_and_the_next_goes_on(
    asker: Asker, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = worked(installation, 7)
    monkeypatch.setattr(item_index, "READ_AT_ONCE", 3)
    index = asker.place.tables.of(installation.client.lookup, task)
    index.look(seconds=0)
    assert index.unread == 4
    assert asker.get(f"/tasks/{task}/table")["unread"] == 0


def test_a_window_reads_only_the_outputs_that_it_shows(asker: Asker, installation: Installation) -> None:
    task = worked(installation, 30)
    asker.get(f"/tasks/{task}/table")
    with installation.statements() as heard:
        asker.get(f"/tasks/{task}/table?state=weak&limit=2&offset=2")
    assert len([one for one in heard if "item_data" in one]) == 1


def test_the_tables_of_other_owners_are_not_found(asker: Asker, installation: Installation) -> None:
    from tests.server.asking import token

    task = worked(installation, 1)
    headers = {"authorization": f"Bearer {token(installation, 'eve')}"}
    asker.place.demands_token = True
    for path in ("table", "problems", "table/cell?key=doc-1&column=title"):
        assert asker.ask("GET", f"/tasks/{task}/{path}", headers=headers).status_code == 404
