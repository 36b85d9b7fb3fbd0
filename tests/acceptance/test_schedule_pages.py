"""The pages of schedules and webhooks, and the form of a gate, in a real browser: they fit, and their buttons work."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import fanfold as ff
from fanfold.model.pipelines.gates import Gate
from tests.acceptance.browser import fits, looking, work
from tests.installation import Installation
from tests.server.asking import served
from tests.waiting import eventually

printing = ff.Pipeline("printing", title="Printing")
TONE = ff.Option("tone", "choice", choices=("formal", "friendly"), help="How the letters sound.")
COPIES = ff.Option("copies", "number", default=2, help="How many copies are printed of each letter.")
NOTE = ff.Option("note", "text", default="", help="Printed below each letter.")


@printing.each
def draft(item: ff.ItemWork) -> Any:
    """A letter."""
    return item.input


@printing.merge(gate=Gate(TONE, COPIES, NOTE))
def bind(task: ff.TaskWork, results: ff.Results) -> Any:
    """All letters, and what was answered."""
    return {"letters": len(list(results)), "answer": task.answer()}


series = ff.Pipeline("series", title="Series", subtasks=[printing])


@series.each
def volume(item: ff.ItemWork) -> Any:
    """A volume, made by a task of its own."""
    return item.submit_subtask(printing, items=[item.input], name="letters", title=f"Letters of {item.key}").result()


KNOWN = (printing, series)


@pytest.fixture
def waiting(here: Installation) -> str:
    """A task at a gate that asks, two schedules with a run, and two webhooks, one of them disabled."""
    client = here.client
    task = client.submit(printing, items=["a", "b"], title="Letters of November")
    work(here)
    client.schedules.add(
        "nightly", "0 3 * * *", printing, items=["a"], zone="Europe/Berlin", title="Letters of the night"
    )
    client.schedules.add("every-five-minutes-on-weekdays", "*/5 8-18 * * 1-5", printing, items=["a"], overlap="queue")
    client.schedules.pause("every-five-minutes-on-weekdays")
    client.schedules.run("nightly")
    client.webhooks.add("chat", "https://example.com/hooks/a-long-path-with-a-token-in-it-0123456789abcdef")
    client.webhooks.add("books", "https://books.example.com/in", events=["completed"], pipeline="printing", owner="ann")
    here.store.transact(lambda tx: tx.webhooks.disable("books", "https://books.example.com/in", "410 Gone"))
    return task.id


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_schedules_webhooks_and_gates_fit_every_screen(
    browser: Browser, here: Installation, waiting: str, language: str, theme: Any
) -> None:
    parent = here.client.submit(series, items=["a", "b"], title="All letters")
    work(here)
    [child, _] = here.client.list(parent=parent.id)
    here.client.cancel(child.id)
    work(here)
    paths = {"list": "/schedules", "webhooks": "/webhooks", "gate": f"/tasks/{waiting}"}
    paths |= {"parent": f"/tasks/{parent.id}", "subtask": f"/tasks/{child.id}"}
    with served(here) as (address, _), looking(browser, address, language=language) as page:
        page.emulate_media(color_scheme=theme)
        for name, path in paths.items():
            answer = page.goto(path)
            assert answer is not None, path
            assert answer.status == 200, path
            fits(page, f"time-{name}-{language}-{theme}")


def test_a_gate_is_answered_in_the_page(browser: Browser, here: Installation, waiting: str) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{waiting}")
        page.locator("select[name$=tone]").select_option("friendly")
        page.locator("input[name$=copies]").fill("3")
        page.locator("form:has(select[name$=tone]) button").first.click()
        eventually(lambda: here.client.get(waiting).state != "waiting", 60)
        work(here)
    result = here.client.result(waiting)
    assert result["answer"] == {"tone": "friendly", "copies": 3, "note": ""}


def test_a_schedule_is_paused_and_run_in_the_page(browser: Browser, here: Installation, waiting: str) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/schedules")
        page.get_by_role("button", name="pause").first.click()
        eventually(lambda: here.client.schedules.get("nightly").paused, 60)
        page.goto("/schedules")
        before = len(here.client.list())
        page.get_by_role("button", name="run now").first.click()
        eventually(lambda: len(here.client.list()) == before + 1, 60)
    expect.set_options(timeout=5_000)
