"""The pages show degraded results, items that wait for a person, and sentences without terminal commands."""

import re

import pytest

import fanfold as ff
from fanfold.apps.pdf import pdf
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.server.web.frame.languages import Words, learn
from tests.cli.samples import words
from tests.engine.jobs import JobService
from tests.installation import Installation
from tests.server.asking import Asker
from tests.server.test_external import made

HTML = {"accept": "text/html"}


def known_pages(options: dict[str, object]) -> None:
    if options.get("pages") == "never":
        raise ff.Permanent("The option pages is 'never'.", code="bad_option")


locked = ff.Pipeline(
    "locked", options={"pages": "Which pages.", "ocr": "Whether.", "api_key": "No."}, check_options=known_pages
)


@locked.split
def open_it(task: ff.TaskWork) -> list[str]:
    """Has three pages."""
    if task.options.get("pages") == "90-99":
        raise ff.Permanent("The document has 3 pages, not 90.")
    return ["1", "2", "3"]


@locked.each
def turn(item: ff.ItemWork) -> str:
    """A page."""
    return str(item.input)


def degraded(installation: Installation) -> str:
    """The id of a completed task, two of whose four items are not what was asked for."""
    task = installation.client.submit(words, items=["one", "poor", "two", "poor"], title="mixed")
    installation.work()
    return task.id


def page(asker: Asker, path: str) -> str:
    answer = asker.ask("GET", f"/{path}", headers=HTML)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.text)


def test_the_grid_marks_what_is_degraded(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    assert asker.get(f"/tasks/{task}/cells")["letters"] == "dgdg"
    assert 'data-all="dgdg"' in page(asker, f"/tasks/{task}")
    assert "not loud enough" in page(asker, f"/tasks/{task}/cell?position=1&stage=shout")


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_run_of_items_is_marked_when_one_of_them_is(installation: Installation, width: int) -> None:
    task = installation.client.submit(words, items=["a", "b", "poor", "c", "d", "e"])
    installation.work()
    cells = WebQueries(installation.client.lookup).cells(task.id, most=6 // width)
    assert (cells.width, cells.letters) == (width, {1: "ddgddd", 2: "dgd", 3: "gd"}[width])


def test_what_is_degraded_is_told_in_list_head_and_among_what_needs_a_person(
    asker: Asker, installation: Installation
) -> None:
    task = degraded(installation)
    plain = installation.client.submit(words, items=["fine"], title="plain")
    installation.work()
    listed = page(asker, "/?show=needs")
    assert f'id="task-{task}"' in listed
    assert f'id="task-{plain.id}"' not in listed
    assert "2 items degraded" in listed
    assert '<span class="count count-needs">1</span>' in listed
    shown = page(asker, f"/tasks/{task}")
    assert "2 items degraded" in shown
    assert "2 × </span> not loud enough" in shown.replace("×</span>", "× </span>")
    assert 'name="degraded" value="true"' in shown
    assert [found["id"] for found in asker.get("/tasks", params={"needs_you": True})["tasks"]] == [task]
    assert page(asker, f"/tasks/{task}/items?degraded=true").count("not loud enough") == 2


def test_one_button_retries_just_what_is_degraded(asker: Asker, installation: Installation) -> None:
    task = degraded(installation)
    answer = asker.ask("POST", f"//tasks/{task}/retry", data={"degraded": "true"}, headers=HTML)
    assert answer.status_code == 303
    assert installation.states(installation.client.get(task), "shout") == "done pending done pending"
    installation.work()
    assert asker.get(f"/tasks/{task}")["state"] == "completed"


def test_an_application_names_its_items(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = degraded(sqlite_installation)
    words.unit = ("word", "words")
    try:
        assert "2 words degraded" in page(sqlite_asker, "/")
        assert "4 of 4 words done" in page(sqlite_asker, f"/tasks/{task}")
    finally:
        words.unit = ("item", "items")
    learn([pdf])
    assert (Words("en").items(1, ("page", "pages")), Words("zh").items(5, ("page", "pages"))) == ("1 page", "5 页")


@pytest.mark.parametrize(("verb", "left"), [("check", 1), ("lost", 0), ("resend", 0)])
def test_jobs_of_unknown_outcome_are_shown_with_what_can_be_said_of_them(
    asker: Asker, installation: Installation, verb: str, left: int
) -> None:
    service = JobService()
    task = made(installation, service)
    assert f'href="/tasks/{task}#held"' in page(asker, "/?show=needs")
    shown = page(asker, f"/tasks/{task}")
    assert "1 item waiting for you" in shown
    assert f"{task}/render/1" in shown
    assert f'action="/tasks/{task}/external/{verb}"' in shown
    assert "fanfold external" not in shown
    answer = asker.ask("POST", f"//tasks/{task}/external/{verb}", data={"item": "1", "stage": "render"}, headers=HTML)
    assert answer.status_code == 303
    installation.work()
    assert asker.get(f"/tasks/{task}")["held"] == left


def test_what_failed_is_retried_with_other_options(asker: Asker, installation: Installation) -> None:
    options = {"pages": "90-99", "ocr": True, "api_key": "sk-123456789"}
    task = installation.client.submit(installation.know(locked), options=options)
    installation.work()
    asker.place.pipelines = {"locked": locked}
    assert installation.client.get(task.id).state == "failed"
    shown = page(asker, f"/tasks/{task.id}")
    assert 'name="option:pages" value="90-99"' in shown
    assert "sk-123456789" not in shown
    wish = {"option:pages": "never", "option:ocr": "true", "option:api_key": "••••••"}
    refused = asker.ask("POST", f"//tasks/{task.id}/retry-with", data=wish, headers={"accept": "*/*"})
    assert (refused.status_code, installation.client.get(task.id).state) == (422, "failed")
    asker.ask("POST", f"//tasks/{task.id}/retry-with", data=wish | {"option:pages": ""}, headers=HTML)
    installation.work()
    done = installation.client.get(task.id)
    assert (done.state, done.total) == ("completed", 3)
    assert installation.client.item(task.id, "1", "open_it").options == {"pages": None}
