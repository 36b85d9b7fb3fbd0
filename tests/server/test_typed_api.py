"""Typed values over HTTP and on the page: JSON is converted for the handler, and shown as readable JSON."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

import fanfold as ff
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.drawings import DOT
from tests.server.typed_pages import Chapter, Page, pages

HTML = {"accept": "text/html"}
WRITTEN = {"title": "One", "written": "1890-01-02"}
SHOWN = {"markdown": "# One\n\n02.01.1890", "price": "1.10", "scan": "AA=="}


@pytest.fixture
def at(asker: Asker, installation: Installation) -> Asker:
    """A server that knows the pipeline."""
    installation.know(pages)
    asker.place.pipelines = {"typed_pages": pages}
    return asker


def done(at: Asker, installation: Installation) -> str:
    """The id of a task that came in as JSON and is completed."""
    task = at.post("/tasks", {"pipeline": "typed_pages", "items": [{"key": "one", "input": WRITTEN}]}, status=201)
    installation.work()
    return str(task["id"])


def test_json_becomes_the_type_of_the_handler_and_goes_out_readable(at: Asker, installation: Installation) -> None:
    task = done(at, installation)
    assert installation.client.result(task) == [Page("# One\n\n02.01.1890", Decimal("1.10"))]
    assert at.get(f"/tasks/{task}/result") == [SHOWN]
    assert at.get(f"/tasks/{task}/items/output?key=one") == SHOWN
    item = at.get(f"/tasks/{task}/items/detail?key=one")
    assert (item["input"], item["output"]) == (WRITTEN, SHOWN)
    [line] = at.ask("GET", f"/tasks/{task}/results").text.splitlines()
    assert json.loads(line)["output"] == SHOWN
    [piece] = at.ask("GET", f"/tasks/{task}/emitted").text.splitlines()
    assert json.loads(piece) == {"key": "one", "value": "1890-01-02", "place": "1.1.0"}


def test_what_was_submitted_as_objects_is_shown_the_same(at: Asker, installation: Installation) -> None:
    chapter = Chapter("One", date(1890, 1, 2))
    task = installation.client.submit(pages, items=[chapter], options={"until": date(2026, 1, 2)})
    installation.work()
    assert at.get(f"/tasks/{task.id}/items/detail?key=1")["input"] == WRITTEN
    assert at.get(f"/tasks/{task.id}")["options"] == {"until": "2026-01-02"}
    shown = at.ask("GET", f"//tasks/{task.id}/item?key=1", headers=HTML).text
    assert "<h1" in shown or "One</h" in shown, "a field `markdown` is shown as Markdown"
    assert "$type" not in shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"title": "One"}, "Chapter needs a field `written`"),
        ({**WRITTEN, "more": 1}, "Chapter has no field `more`"),
        ({**WRITTEN, "written": "soon"}, "Chapter.written: 'soon' cannot be converted to date"),
        ({**WRITTEN, "title": 5}, "Chapter.title: 5 cannot be converted to str"),
        ("One", "'One' cannot be converted to Chapter"),
        ([WRITTEN], "cannot be converted to Chapter"),
    ],
)
def test_json_that_does_not_fit_is_refused_at_submit(
    at: Asker, installation: Installation, given: Any, said: str
) -> None:
    before = installation.rows()
    answer = at.post("/tasks", {"pipeline": "typed_pages", "items": [{"key": "k", "input": given}]}, status=422)
    assert (answer["code"], answer["detail"].startswith("The input of item k cannot be used: ")) == ("bad_value", True)
    assert said in answer["detail"]
    assert installation.rows() == before


def test_a_stranger_cannot_name_a_type(at: Asker, installation: Installation) -> None:
    named = {"$type": "path", "$value": "/etc/passwd"}
    task = at.post("/tasks", {"pipeline": "words", "items": [named]}, status=404)
    assert task["code"] == "not_found"
    plain = ff.Pipeline("plain")
    plain.each(name="look")(lambda item: [type(item.input).__name__, item.input])
    at.place.pipelines = {"plain": installation.know(plain)}
    made = at.post("/tasks", {"pipeline": "plain", "items": [named]}, status=201)
    installation.work()
    assert installation.client.result(made["id"]) == [["dict", named]]


def test_pictures_and_forms_of_the_application_get_typed_values(at: Asker, installation: Installation) -> None:
    task = done(at, installation)
    drawn = at.ask("GET", f"/tasks/{task}/items/image?key=one")
    assert (drawn.status_code, drawn.content) == (200, DOT)
    assert at.ask("GET", f"/tasks/{task}/result?form=prices").text == "1.10"
