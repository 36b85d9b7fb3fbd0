"""A task is one line of the list, the form for new tasks folds away, and results are rendered, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

import fanfold as ff
from tests.acceptance.browser import looking, work
from tests.acceptance.test_honest import AUDIT, letters
from tests.engine.sealed import sealed
from tests.installation import Installation
from tests.server.asking import served

written = ff.Pipeline("written", unit=("chapter", "chapters"))
BOOK = """# A book

Some <b>bold</b> text.

## The first part

<h2 id="task-head">The <em>second</em> part</h2>

| a | b |
|---|---|
| 1 | 2 |
"""


@written.step
def write(task: ff.TaskWork) -> ff.File:
    """A book."""
    return task.write("book.md", BOOK)


KNOWN = (letters, sealed, written)
DRAG = """([kind, name]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["one two"], name, { type: "text/plain" }));
  document.body.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
}"""
HEIGHTS = "rows => rows.map(row => row.getBoundingClientRect().height)"
WHOLE_ON_SCREEN = "rows => rows.filter(row => row.getBoundingClientRect().bottom <= innerHeight).length"


def many(here: Installation, folder: Path) -> None:
    """More tasks than fit on a screen, with every kind of row among them."""
    for number in range(20):
        here.client.submit(letters, items=["clear"] * (number + 1), title=f"volume {number}")
    here.client.submit(letters, items=["clear", "smudged"], title="degraded, with a title that does not fit " * 5)
    mixed, locked = folder / "mixed.txt", folder / "locked.txt"
    mixed.write_text("one bad two")
    locked.write_text("SEALED:x:y")
    for file in (mixed, locked):
        here.client.submit(sealed, file, tags=["of the archive", "2025"])
    work(here)
    paused = here.client.submit(letters, items=["clear"] * 3, title="paused")
    here.client.pause(paused.id, "a reason of some length, which would take more than one line if it were let " * 3)
    here.client.submit(letters, items=["clear"] * 300, title="unserved")


@pytest.mark.parametrize("width", [1280, 1000])
def test_a_task_is_one_line_and_a_screen_has_twenty(
    browser: Browser, here: Installation, tmp_path: Path, width: int
) -> None:
    many(here, tmp_path)
    with served(here) as (address, _), looking(browser, address, size={"width": width, "height": 900}) as page:
        page.goto("/")
        rows = page.locator("[data-row]")
        expect(rows).to_have_count(25)
        heights = rows.evaluate_all(HEIGHTS)
        assert all(32 <= height <= 36 for height in heights), heights
        assert rows.evaluate_all(WHOLE_ON_SCREEN) >= 20
        assert page.locator("[data-row][data-state=completed] .bar").count() == 0
        assert page.locator("[data-row][data-state=failed] .bar").count() == 0
        assert page.locator("[data-row][data-state=partial] .bar").count() == 1
        assert page.locator("[data-row][data-state=paused] .bar").count() == 1
        paused = page.locator("[data-row][data-state=paused]")
        assert opacity(paused.get_by_role("button", name="resume")) == "1", "what needs a person shows what to press"
        done = page.locator("[data-row]", has_text="volume 5")
        assert opacity(done.get_by_role("link", name="download")) == "0"
        done.locator("a.task-title").focus()
        assert opacity(done.get_by_role("link", name="download")) == "1"
        assert page.evaluate(AUDIT) == []


COVERED = """([first, second]) => first.getBoundingClientRect().left < second.getBoundingClientRect().right
  && second.getBoundingClientRect().left < first.getBoundingClientRect().right"""


@pytest.mark.parametrize("language", ["en-GB", "zh-CN"])
def test_no_button_covers_the_age_nor_one_that_is_always_shown_the_time(
    browser: Browser, here: Installation, tmp_path: Path, language: str
) -> None:
    many(here, tmp_path)
    size: ViewportSize = {"width": 1280, "height": 900}
    with served(here) as (address, _), looking(browser, address, size=size, language=language) as page:
        page.goto("/")
        expect(page.locator("[data-row]")).to_have_count(25)
        for state in ("partial", "failed", "completed", "paused", "active"):
            row = page.locator(f"[data-row][data-state={state}]").first
            for button in row.locator(".task-buttons > *").all():
                if button.evaluate("one => getComputedStyle(one).opacity") == "1":
                    assert not covers(page, button, row.locator(".task-time")), state
            row.hover()
            for button in row.locator(".task-buttons > *").all():
                assert not covers(page, button, row.locator(".task-age")), state


def covers(page: Page, one: Locator, other: Locator) -> bool:
    """Whether two parts of a row overlap."""
    return bool(page.evaluate(COVERED, [one.element_handle(), other.element_handle()]))


def opacity(found: Locator) -> str:
    """The opacity of a button: its own, or that of the form around it."""
    return str(found.evaluate("one => getComputedStyle(one.closest('.task-buttons > *')).opacity"))


def test_the_form_for_new_tasks_is_folded_once_there_are_tasks(
    browser: Browser, here: Installation, tmp_path: Path
) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        expect(page.locator("#upload")).to_be_visible()
        here.client.submit(letters, items=["clear"], title="the first")
        page.goto("/")
        expect(page.locator("#upload")).to_be_hidden()
        button = page.get_by_role("button", name="New task")
        expect(button).to_have_attribute("aria-expanded", "false")
        button.click()
        expect(page.locator("#upload")).to_be_visible()
        expect(button).to_have_attribute("aria-expanded", "true")
        page.keyboard.press("Escape")
        button.focus()
        page.keyboard.press("Space")
        expect(page.locator("#upload")).to_be_hidden()
        dragging(page, "dragenter")
        expect(page.locator("#upload")).to_be_visible()
        expect(page.locator("#veil")).to_be_visible()
        dragging(page, "dragleave")
        expect(page.locator("#upload")).to_be_hidden()
        page.goto("/?new=1")
        expect(page.locator("#upload")).to_be_visible()
        page.goto("/")
        page.locator("#pipeline").evaluate(
            "field => { field.value = 'sealed'; field.dispatchEvent(new Event('change', {bubbles: true})); }"
        )
        dragging(page, "dragenter")
        dragging(page, "drop")
        expect(page.locator("[data-row]", has_text="dropped.txt")).to_be_visible()


def dragging(page: Page, kind: str) -> None:
    """A file dragged over the window."""
    page.evaluate(DRAG, [kind, "dropped.txt"])


@pytest.mark.parametrize("width", [1280, 390])
def test_a_result_is_shown_as_it_looks_with_contents_and_its_source_one_click_away(
    browser: Browser, here: Installation, width: int
) -> None:
    task = here.client.submit(written, title="a book")
    work(here)
    with served(here) as (address, _), looking(browser, address, size={"width": width, "height": 800}) as page:
        page.goto(f"/tasks/{task.id}")
        assert page.locator("#task-head .bar").count() == 0
        page.locator("#fold-result summary").first.click()
        shown = page.locator("#result .markdown")
        expect(shown.get_by_role("heading", name="The second part")).to_be_visible()
        expect(shown.locator("table td").first).to_have_text("1")
        assert page.locator("#task-head").count() == 1, "no text brings an id of its own"
        assert page.locator("main h1").count() == 1
        contents = page.get_by_role("navigation", name="Contents")
        expect(contents.get_by_role("link")).to_have_text(["A book", "The first part", "The second part"])
        contents.get_by_role("link", name="The second part").click()
        assert page.evaluate("document.querySelector(':target').textContent") == "The second part"
        assert page.evaluate(AUDIT) == []
        page.get_by_role("button", name="source").click()
        expect(page.locator("#result pre")).to_contain_text("# A book")
        expect(shown).to_have_count(0)
        page.get_by_role("button", name="rendered").click()
        expect(shown).to_be_visible()
