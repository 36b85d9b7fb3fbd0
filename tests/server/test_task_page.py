"""The page of a task shows its state, offers what is possible, and does it."""

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Cells, Task
from fanfold.server.requests.hiding import HIDDEN, without_secrets
from fanfold.server.web.frame.positions import in_ranges, in_runs, parsed
from fanfold.server.web.task import result_view as outcome
from fanfold.server.web.task.page_stream import cells_message
from fanfold.server.web.task.task_fragments import spans_of
from tests.engine.pipelines import one_step
from tests.installation import Installation
from tests.server.asking import Asker, token

HOSTILE = '"><script>alert(1)</script>&/?#%中'
wild = ff.Pipeline("wild", options={"provider": "Who does it."})


@wild.split
def cut(task: ff.TaskWork) -> Iterator[ff.NewItem]:
    """Items with keys that nobody would choose."""
    yield ff.NewItem(key=HOSTILE, input={"api_key": "s3cret"})
    for number in range(5):
        yield ff.NewItem(key=f"n{number}", input=number)


@wild.each(retry=ff.Retry(limit=0))
def work(item: ff.ItemWork) -> str:
    """Some fail, for two reasons."""
    if item.key in ("n1", "n2") and not item.options.get("provider"):
        raise ff.Permanent("<b>no\r\nsuch</b>\nthing", code="odd")
    if item.key == HOSTILE:
        raise ff.Permanent("broken", code="other")
    return f"# {item.key}\n\n<script>alert(2)</script>"


@wild.merge
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """All in one."""
    return "".join(result.output for result in results)


class Wild:
    """A task with failed items, and a browser without scripts."""

    def __init__(self, installation: Installation) -> None:
        installation.know(wild)
        self.installation = installation
        self.asker = Asker(installation)
        self.client = Client(store=installation.store, pipelines=installation.pipelines)
        self.task = self.client.submit(wild, title="<i>wild</i>", options={"token": "s3cret", "provider": ""})
        installation.work()

    def page(self, path: str = "", **query: Any) -> str:
        """A page about the task."""
        answer = self.asker.ask(
            "GET", f"//tasks/{self.task.id}{path}?{urlencode(query)}", headers={"accept": "text/html"}
        )
        assert answer.status_code == 200, answer.text
        return str(answer.text)

    def post(self, command: str, status: int = 303, headers: dict[str, str] | None = None, **form: Any) -> Any:
        """A form that was sent."""
        answer = self.asker.ask("POST", f"//tasks/{self.task.id}/{command}", data=form, headers=headers or {})
        assert answer.status_code == status, answer.text
        return answer

    def now(self) -> Task:
        """The task as it is."""
        return self.client.get(self.task.id)

    def states(self) -> dict[str, str]:
        """The state of each item."""
        return {item.key: item.state for item in self.client.items(self.task.id, stage="work")}


@pytest.fixture
def page(sqlite_installation: Installation) -> Iterator[Wild]:
    made = Wild(sqlite_installation)
    with made.asker.client:
        yield made


@pytest.mark.parametrize("path", ["", "/items", "/timeline", "/events", "/calls", "/result"])
def test_hostile_titles_keys_and_messages_are_only_text(page: Wild, path: str) -> None:
    html = page.page(path)
    for hostile in ("<script>alert", "<i>wild", "<b>no", "s3cret"):
        assert hostile not in html


def test_hostile_items_are_only_text(page: Wild) -> None:
    for key in (HOSTILE, "n0"):
        html = page.page("/item", key=key, stage="work")
        assert "<script>alert" not in html
        assert "s3cret" not in html
    assert "<h1>n0</h1>" in page.page("/item", key="n0", stage="work", tab="rendered")
    assert "&lt;script&gt;" in page.page("/item", key="n0", stage="work", tab="source")


def test_no_page_has_inline_scripts_or_styles(page: Wild) -> None:
    for path in ("", "/items", "/timeline", "/events", "/result"):
        html = page.page(path)
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", html)


def test_the_buttons_are_the_available_commands(page: Wild) -> None:
    offered = set(re.findall(rf'action="/tasks/{page.task.id}/(\w+)"', page.page()))
    assert offered == set(page.now().plain_commands)


def test_who_may_only_look_gets_no_buttons(sqlite_installation: Installation) -> None:
    made = Wild(sqlite_installation)
    made.asker = Asker(sqlite_installation, demands_token=True)
    secret = token(sqlite_installation, "eye", "viewer", "*")
    with made.asker.client:
        answer = made.asker.ask("GET", f"//tasks/{made.task.id}", headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 200
    assert f'action="/tasks/{made.task.id}' not in answer.text


def test_one_reason_is_retried_alone_and_with_another_provider(page: Wild) -> None:
    mark = re.search(r'name="group" value="(\w+)"', page.page())
    assert mark
    page.post("retry", group=mark[1], provider="local", model=" ")
    assert page.states()[HOSTILE] == ItemState.FAILED
    assert page.states()["n1"] == page.states()["n2"] == ItemState.PENDING
    assert page.client.item(page.task.id, "n1", "work").options == {"provider": "local"}


def test_a_reason_that_is_gone_is_refused(page: Wild) -> None:
    page.post("retry", status=422, group="0" * 24)
    assert page.now().state == "partial"


def test_chosen_cells_are_retried_those_that_failed_or_all(page: Wild) -> None:
    page.post("retry", positions="0-2", which="failed", stage="work")
    states = page.states()
    assert [states[key] for key in (HOSTILE, "n0", "n1", "n2")] == ["pending", "done", "pending", "failed"]
    page.post("retry", positions="1,3-5", which="all", stage="work")
    assert set(page.states().values()) == {"pending"}


def test_a_command_answers_a_script_with_nothing_and_a_form_with_a_page(page: Wild) -> None:
    answer = page.post("merge", status=204, headers={"hx-request": "true"})
    assert answer.headers["hx-trigger"] == "fanfold:changed"
    page.installation.work()
    assert page.post("delete").headers["location"] == "/"


def test_an_item_is_found_by_its_position(page: Wild) -> None:
    answer = page.asker.ask("GET", f"//tasks/{page.task.id}/item?stage=work&position=0")
    assert answer.status_code == 303
    assert urlencode({"key": HOSTILE, "stage": "work"}) in answer.headers["location"]
    assert page.asker.ask("GET", f"//tasks/{page.task.id}/item?stage=work&position=99").status_code == 404


def test_an_item_that_was_done_again_shows_its_changes(page: Wild) -> None:
    assert "tab=changes" not in page.page("/item", key="n0", stage="work")
    page.post("retry", item="n0", stage="work")
    page.installation.work()
    assert "Nothing has changed" in page.page("/item", key="n0", stage="work", tab="changes")


def test_items_are_listed_page_by_page(page: Wild) -> None:
    assert ">n4</a>" in page.page("/items", stage="work")
    after = page.page("/items", stage="work", after="n1")
    assert ">n1</a>" not in after
    assert ">n2</a>" in after
    assert ">n0</a>" not in page.page("/items", stage="work", state="failed")


def test_events_before_one_that_cannot_be_are_refused(page: Wild) -> None:
    answer = page.asker.ask("GET", f"//tasks/{page.task.id}/events?before={10**20}")
    assert answer.status_code == 422
    assert ">" in page.page("/events", before=2**62)


def test_only_the_newest_calls_are_shown(page: Wild) -> None:
    with page.installation.store.write() as tx:
        (item,) = tx.reading.ids(tx.tasks.resolve(page.task.id).number, "work", ["n0"])
        said = {"item": item, "lease": 1, "provider": "p", "seconds": 1.0}
        outcomes = ["taken", "cached", "failed"]
        tx.calls.add([{"model": f"m{n}-", "outcome": outcomes[n % 3], **said} for n in range(250)])
    html = page.page("/calls")
    assert "The newest 200 of 250 calls." in html
    assert re.findall(r"p:m(\d+)-", html) == [str(n) for n in range(249, 49, -1)]


def test_stages_are_asked_for_once_while_a_task_stays_where_it_is(page: Wild) -> None:
    client, task = page.client, page.now()
    assert [span.stage for span in spans_of(client, task)] == ["cut", "work"]
    with page.installation.statements() as sent:
        assert spans_of(client, task) is spans_of(client, task)
    assert sent == []


@pytest.mark.parametrize(
    ("value", "name", "beginning"),
    [
        ("\\\n\x01" * 3_000, "result.txt", "\\\n\x01"),
        (["row"] * 3_000, "result.json", '["row","row",'),
        ("short", "result.txt", "short"),
    ],
)
def test_of_a_large_result_only_the_beginning_is_read(
    sqlite_installation: Installation, monkeypatch: pytest.MonkeyPatch, value: Any, name: str, beginning: str
) -> None:
    monkeypatch.setattr(outcome, "BEGINNING", 4_000)
    object.__setattr__(sqlite_installation.settings, "inline_bytes", 1_000)
    task = sqlite_installation.client.submit(sqlite_installation.know(one_step(lambda task: value)))
    sqlite_installation.work()
    client, now = sqlite_installation.client, sqlite_installation.client.get(task.id)
    whole = outcome.outcome(client, now)
    if len(value) > 1_000:
        monkeypatch.setattr(Client, "result", None)
    found = outcome.outcome(client, now, most_bytes=2_000)
    assert found.downloads[0].name == whole.downloads[0].name == name
    assert found.beginning.startswith(beginning)
    assert found.is_cut == whole.is_cut == (len(value) > 1_000)
    assert len(found.beginning) <= outcome.BEGINNING


@pytest.mark.parametrize("length", range(1, 20))
def test_a_text_that_breaks_off_within_an_escape_is_still_text(length: int) -> None:
    text = '\\"\x01中\n'
    assert text.startswith(outcome.string_of(json.dumps(text, ensure_ascii=False)[:-1][:length]))


def test_the_pages_speak_chinese(page: Wild) -> None:
    html = page.page("", lang="zh")
    assert "时间线" in html
    assert "Timeline" not in html


def test_cells_are_told_in_few_bytes() -> None:
    cells = Cells("work", 10_000, 1, "d" * 9_000 + "f" + "p" * 999)
    assert json.loads(cells_message(cells, None))["all"] == "9000df999p"
    changed = dict.fromkeys(range(100, 200), "d") | {205: "f", 207: "r", 208: "r"}
    assert json.loads(cells_message(cells, changed)) == {"c": {"d": "100-199", "f": "205", "r": "207-208"}}


@pytest.mark.parametrize("positions", [[], [0], [0, 1, 2], [0, 2, 3, 9]])
def test_ranges_are_read_as_they_were_written(positions: list[int]) -> None:
    written = in_ranges(positions)
    read = [at for first, last in (parsed(written) if written else []) for at in range(first, last + 1)]
    assert read == positions


@pytest.mark.parametrize("ranges", ["x", "1-", "-1", "5-1", "0-10000", "1,,2", "999999999-0,0-999999998", "1" * 20])
def test_ranges_that_make_no_sense_are_refused(ranges: str) -> None:
    with pytest.raises(ff.BadInput):
        parsed(ranges)


def test_runs_have_their_lengths() -> None:
    assert in_runs("") == ""
    assert in_runs("dddrpp") == "3dr2p"


def test_values_of_options_that_look_like_secrets_are_hidden() -> None:
    shown = without_secrets({"api_key": "x", "a": {"password": "y"}, "password_env": "NAME", "max_tokens": 5})
    assert shown == {"api_key": HIDDEN, "a": {"password": HIDDEN}, "password_env": "NAME", "max_tokens": 5}
