"""Does a person see in the browser what is not plain success, and get on from there, by keyboard as well?"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import fanfold as ff
from tests.acceptance.browser import DESKTOP, PHONE, chromium, looking
from tests.engine.jobs import JobService, raising
from tests.installation import Installation
from tests.server.asking import served
from tests.waiting import eventually

AUDIT = Path(__file__).with_name("audit.js").read_text(encoding="utf-8")
letters = ff.Pipeline("letters", options={"provider": "Who answers.", "model": "Which."}, unit=("letter", "letters"))


@letters.each
def read(item: ff.ItemWork) -> str:
    """A letter; by fallback, unless another provider is asked."""
    if item.input == "smudged" and item.options.get("provider") != "ollama":
        item.degraded("guessed instead of read")
    return f"read by {item.options.get('provider', 'nobody')}\n" * 200


@letters.merge
def bundle(task: ff.TaskWork, results: ff.Results) -> str:
    """All of them."""
    return "".join(result.output for result in results)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Installation]:
    made = Installation(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data", None)
    made.know(letters)
    yield made
    made.store.close()


def work(here: Installation) -> None:
    """Do what is due, in a thread: the browser's own loop runs in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(here.work).result()


def test_fallbacks_are_seen_and_done_again_with_another_model(browser: Browser, here: Installation) -> None:
    task = here.client.submit(letters, items=["clear", "smudged", "clear", "smudged"], title="post")
    work(here)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        page.get_by_role("link", name=re.compile("Needs you")).click()
        row = page.locator("[data-row]", has_text="post")
        expect(row).to_contain_text("2 letters by fallback")
        row.get_by_role("link", name=re.compile("retry 2 with")).click()
        section = page.locator("#degraded")
        expect(section).to_contain_text("2 × guessed instead of read")
        expect(page.locator("#legend")).to_contain_text("by fallback 2")
        colours = page.locator("#grid[data-ready]").evaluate(
            """canvas => {
              const size = canvas.height;
              const { data } = canvas.getContext("2d").getImageData(0, size / 4, 2 * size, 1);
              return [0, 1].map(at => [...data.slice(4 * (at * size + size / 4)).slice(0, 4)].join()) }"""
        )
        assert colours[0] != colours[1]
        section.get_by_role("combobox", name="Provider").select_option("ollama")
        section.get_by_role("button", name="retry these 2").click()
        eventually(lambda: here.client.get(task.id).state == "active")
        expect(section).to_be_hidden()
        work(here)
        expect(page.locator("#task")).to_contain_text("completed")
        assert here.client.get(task.id).degraded == 0
        assert [here.client.item(task.id, key).options.get("provider") for key in "12"] == [None, "ollama"]
        page.goto("/?show=needs")
        expect(page.locator(".empty")).to_contain_text("Nothing needs you")


def test_a_job_of_unknown_outcome_is_decided_about_in_the_page(browser: Browser, here: Installation) -> None:
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    task = here.client.submit(here.know(service.pipeline(find=False)), items=["x"], title="photo")
    work(here)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/?show=needs")
        page.locator("[data-row]", has_text="photo").get_by_role("link", name="decide").click()
        held = page.locator("#held")
        expect(held).to_contain_text("1 item waiting for you")
        assert "fanfold external" not in page.content()
        held.get_by_role("button", name="it was not started").click()
        page.locator("#confirm").get_by_role("button", name="it was not started").click()
        eventually(lambda: here.client.get(task.id).held == 0)
        expect(held).to_be_hidden()
        work(here)
        expect(page.locator("#task")).to_contain_text("completed")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_page_can_be_used_with_a_keyboard_and_a_screen_reader(
    browser: Browser, here: Installation, size: dict[str, int]
) -> None:
    task = here.client.submit(letters, items=["clear", "smudged"] * 10, title="post")
    work(here)
    pages = ["/", "/?show=failed", f"/tasks/{task.id}", f"/tasks/{task.id}/item?key=2", f"/tasks/{task.id}/items"]
    pages += ["/workers", "/login", "/tasks/t-none", "/nothing"]
    with served(here) as (address, _), looking(browser, address, size=size, complaints=("404",)) as page:  # type: ignore[arg-type]
        for path in pages:
            page.goto(path)
            for fold in page.locator("details.fold > summary").all():
                fold.click()
                expect(page.locator("details[open] .fold-body", has_text="Loading …")).to_have_count(0)
            assert page.evaluate(AUDIT) == [], path
            page.goto(path)
            if page.locator("[autofocus]").count():
                continue
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.className") == "skip", path
            page.keyboard.press("Enter")
            page.keyboard.press("Tab")
            assert page.evaluate("document.getElementById('main').contains(document.activeElement)"), path
