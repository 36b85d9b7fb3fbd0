"""The pages work under load, after errors, and for readers without access."""

import asyncio
import re
from collections.abc import Iterator
from typing import Any, cast

import httpx2
import pytest
from fastapi import Request
from fastapi.sse import ServerSentEvent
from starlette.types import Message

from fanfold.engine.handlers.task_and_item import ItemWork
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import DatabaseProblem
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.task import Task
from fanfold.server.api import tasks as many
from fanfold.server.api.shapes.task_requests import BulkRequest
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import ANYBODY
from fanfold.server.watching.live import Live
from fanfold.server.watching.memo import Once
from fanfold.server.watching.snapshots import Moment
from fanfold.server.web import login_page as login
from fanfold.server.web.frame import model_choices as choices
from fanfold.server.web.frame.languages import Words
from fanfold.server.web.task import failures as failing
from fanfold.server.web.task import page_stream as watching
from fanfold.server.web.task_list import new_task as submitting
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import BASE, Asker, token

PATIENCE_SECONDS = 60


@pytest.fixture
def place(sqlite_installation: Installation) -> AppState:
    return AppState(sqlite_installation.store, {one.name: one for one in sqlite_installation.pipelines})


@pytest.fixture
def guarded(sqlite_installation: Installation) -> Iterator[Asker]:
    made = Asker(sqlite_installation, demands_token=True)
    with made.client:
        yield made


def test_what_was_forgotten_is_made_anew() -> None:
    made: Once[int] = Once()
    about, numbers = object(), iter(range(5))
    assert [made.get(about, ("a",), lambda: next(numbers)) for _ in range(2)] == [0, 0]
    made.forget(about, ("b",))
    assert made.get(about, ("a",), lambda: next(numbers)) == 0
    made.forget(about, ("a",))
    assert made.get(about, ("a",), lambda: next(numbers)) == 1


def test_trouble_with_a_fragment_does_not_outlive_its_cause(place: AppState) -> None:
    task = place.client().submit(words, items=["a"])
    reader = watching.Reader(place, Words("en"), may_change=True)
    tried = iter([DatabaseProblem("The database is away."), None])

    def make() -> str:
        if trouble := next(tried):
            raise trouble
        return "well"

    async def read() -> str | None:
        assert await reader._rendered(task, "head", make) is None
        await reader._rendered(task, "head", make)
        return await reader._rendered(task, "head", make)

    assert asyncio.run(read()) == "well"


class FirstLook:
    """A live reader for which something happens just before its first poll, and nothing afterwards."""

    def __init__(self, place: AppState, task: Task) -> None:
        self.place = place
        self.task = task
        self.looked = False

    def watch(self, *_whom: Any) -> "FirstLook":
        """Watch."""
        return self

    def unwatch(self, *_whom: Any) -> None:
        """Watch no longer."""

    lost_since = locked_since = None
    follow = Live.follow

    async def next(self) -> Moment | None:
        """One update in which the event is not new."""
        if self.looked:
            return None
        self.looked = True
        return Moment(self.place.client().pause(self.task.id, "just before"))


def test_what_happens_just_before_the_first_look_is_told(place: AppState) -> None:
    task = place.client().submit(words, items=["a"])
    newest = WebQueries(place.client().lookup).latest_events(task.id, limit=1)[0].id
    place.live = cast(Live, FirstLook(place, task))
    request = Request({"type": "http", "headers": [], "query_string": b"", "path": "/"})

    async def read() -> list[ServerSentEvent]:
        told = watching.watch(request, ANYBODY, place, task, after=newest, last_event_id="")
        return [message async for message in told]

    rows = [message.raw_data or "" for message in asyncio.run(read()) if message.event == "event"]
    assert len(rows) == 1
    assert "just before" in rows[0]


def test_wrong_tokens_do_not_keep_others_waiting(guarded: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "PAUSE_SECONDS", 600)

    async def ask() -> int:
        transport = httpx2.ASGITransport(guarded.app)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client, asyncio.TaskGroup() as group:
            guesses = [group.create_task(client.post("/login", data={"token": f"ffk_{n}"})) for n in range(50)]
            async with asyncio.timeout(PATIENCE_SECONDS):
                answer = await client.get("/login")
            for guess in guesses:
                assert not guess.done()
                guess.cancel()
        return int(answer.status_code)

    assert asyncio.run(ask()) == 200


def test_a_valid_token_opens_the_pages_and_a_wrong_one_does_not(
    guarded: Asker, sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "PAUSE_SECONDS", 0)
    assert guarded.client.post("/login", data={"token": "ffk_wrong"}).status_code == 401
    secret = token(sqlite_installation, "ann")
    answer = guarded.client.post("/login", data={"token": f" {secret} ", "next": "//evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert guarded.client.get("/", headers={"accept": "text/html"}).status_code == 200


def test_who_may_not_submit_is_told_so_before_anything_is_read(guarded: Asker) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("The body was read.")

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8700"), (b"content-type", b"multipart/form-data; boundary=x")]
    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/submit", "raw_path": b"/submit", "query_string": b"", "headers": headers,
        "scheme": "http", "http_version": "1.1", "server": ("127.0.0.1", 8700), "client": ("127.0.0.1", 1), "root_path": "",
    }  # fmt: skip
    asyncio.run(guarded.app(scope, receive, send))
    assert sent[0]["status"] == 401


def test_a_form_that_cannot_be_read_is_refused(sqlite_asker: Asker) -> None:
    headers = {"content-type": "multipart/form-data"}
    answer = sqlite_asker.ask("POST", "//submit", content=b"--x\r\nnonsense", headers=headers)
    assert answer.status_code == 422


def test_an_unknown_task_does_not_keep_the_others_from_a_command(asker: Asker) -> None:
    one, two = (asker.post("/tasks", {"pipeline": "words", "items": ["a"]}, status=201)["id"] for _ in range(2))
    for dry_run in (True, False):
        wish = {"command": "pause", "tasks": [one, "t-nothing", two, one], "dry_run": dry_run}
        report = asker.post("/tasks/commands", wish)
        assert (report["done"], report["more"]) == ([one, two], False)
        assert [refused["id"] for refused in report["refused"]] == ["t-nothing"]
        assert "t-nothing" in report["refused"][0]["reason"]
    assert asker.get(f"/tasks/{two}")["state"] == "paused"


def test_a_filter_that_has_more_than_is_taken_says_so(asker: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "MOST_AT_ONCE", 2)
    client = asker.place.client()
    wish = BulkRequest(command="pause", pipeline="words", dry_run=True)
    for number, more in ((1, False), (2, False), (3, True)):
        client.submit(words, items=["a"])
        report = many.bulk(client, wish)
        assert (len(report.done), report.more) == (min(number, 2), more)


def test_the_page_previews_and_reports_what_the_api_does(sqlite_asker: Asker) -> None:
    client = sqlite_asker.place.client()
    one, two = (client.submit(words, items=["a"]) for _ in range(2))
    client.pause(two.id)
    form = {"command": "pause", "task": [one.id, two.id, "t-nothing"]}
    preview = sqlite_asker.ask("POST", "//bulk/preview", data=form, headers={"hx-request": "true"})
    assert preview.status_code == 200
    assert re.findall(r'name="task" value="([^"]+)"', preview.text) == [one.id]
    report = sqlite_asker.ask("POST", "//bulk", data=form, headers={"hx-request": "true"})
    assert report.status_code == 200
    assert client.get(one.id).state == "paused"
    assert report.text.count("<li>") == 2
    assert two.id in report.text
    assert "t-nothing" in report.text
    assert sqlite_asker.ask("POST", "//bulk", data={"command": "pause", "task": "\0"}).status_code == 422
    assert sqlite_asker.ask("POST", "//bulk", data={"command": "explode", "task": one.id}).status_code == 422


def test_the_same_providers_are_offered_for_new_tasks_and_for_retries(place: AppState) -> None:
    assert submitting.offered(place, place.client())["services"] == ()
    assert choices.all_choices()[0].name == "local"
    assert choices.choices(place, place.client().submit(words, items=["a"])) == ()


asked = Pipeline("asked", options={"provider": "Who is asked.", "model": "Which model."})


@asked.each
def ask(item: ItemWork) -> str:
    """Nothing is queried here."""
    return "answered"


def test_a_paused_task_of_one_item_goes_on_with_another_model_as_well(sqlite_installation: Installation) -> None:
    client = sqlite_installation.client
    task = client.submit(sqlite_installation.know(asked), items=["a"])
    client.pause(task.id, "the key was refused")
    asker = Asker(sqlite_installation)
    page = asker.ask("GET", f"//tasks/{task.id}").text
    assert "resume with" in page
    assert f'href="/tasks/{task.id}/items?stage=ask"' in page, "its one item can be reached as well"
    asker.ask("POST", f"//tasks/{task.id}/resume", data={"provider": "fake", "model": "large"})
    assert client.item(task.id, "1").options == {"provider": "fake", "model": "large"}


def test_a_paused_task_goes_on_with_another_model_for_what_is_not_done(sqlite_installation: Installation) -> None:
    sqlite_installation.know(asked)
    client = sqlite_installation.client
    task = client.submit(asked, items=["a", "b", "c"])
    worker = sqlite_installation.worker()
    worker.finish(*worker.claim(1))
    client.pause(task.id, "the key was refused")
    asker = Asker(sqlite_installation)
    assert "resume with" in asker.ask("GET", f"//tasks/{task.id}").text
    answer = asker.ask("POST", f"//tasks/{task.id}/resume", data={"provider": "fake", "model": "large"})
    assert answer.status_code == 303
    assert client.get(task.id).state == "active"
    said = [client.item(task.id, key).options for key in ("1", "2", "3")]
    assert said == [{}, *[{"provider": "fake", "model": "large"}] * 2]


def test_reasons_that_differ_in_numbers_only_are_one(sqlite_installation: Installation) -> None:
    client = sqlite_installation.client
    task = client.submit(words, items=["x"] * 7)
    worker = sqlite_installation.worker()
    claimed = worker.claim()
    for number, one in enumerate(claimed[:5]):
        worker.fail(one, message=f"block {number * 101} is broken (id 5f3e9a{number}b77)")
    worker.fail(claimed[5], message="no such word")
    found = failing.groups(client, task.id)
    shown = [(group.shown(Words("en")), group.count) for group in found]
    assert shown == [("block … is broken (id …)", 5), ("no such word", 1)]
    assert failing.keys_of(client, task.id, found[0].mark) == ("shout", ["1", "2", "3", "4", "5"])
    assert failing.keys_of(client, task.id, found[1].mark) == ("shout", ["6"])
