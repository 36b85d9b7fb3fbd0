"""The table of a task in a real browser: looked through, filtered and decided about by keyboard and by mouse."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.browser import DESKTOP, PHONE, looking, save, work
from tests.acceptance.test_browsing import FAINT
from tests.acceptance.test_honest import AUDIT
from tests.installation import Installation
from tests.server.asking import served
from tests.server.records import documents, papers

KNOWN = (papers,)
READY = "#table[data-ready=yes]"


@pytest.fixture
def paper_task(here: Installation) -> str:
    """A finished table of 60 documents, one of which failed."""
    task = here.client.submit(papers, items=documents(60, bad=1), title="Sleep studies")
    work(here)
    return task.id


def opened(page: Page, task: str, query: str = "") -> None:
    page.goto(f"/tasks/{task}/table{query}")
    expect(page.locator(READY)).to_be_attached()


def test_a_person_reviews_cells_with_the_keyboard_alone(browser: Browser, here: Installation, paper_task: str) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, paper_task)
        expect(page.locator("#progress")).to_have_text("approved 0 of 236")
        page.locator('[data-at="0 1"]').focus()
        for key in ("ArrowDown", "ArrowRight", "Enter"):
            page.keyboard.press(key)
        expect(page.locator("#record-title")).to_contain_text("sample_size")
        expect(page.locator(".record-quote")).to_have_text("a total of 102 participants")
        expect(page.locator(".record-sheet[data-ready=yes] img")).to_be_visible()
        save(page, "table-record")
        page.keyboard.press("a")
        expect(page.locator('[data-at="1 2"]')).to_have_class(re.compile("cell-approved"))
        expect(page.locator("#progress")).to_have_text("approved 1 of 236")
        expect(page.locator('[data-at="1 2"]')).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#record-title")).to_contain_text("paper0003.pdf")
        page.keyboard.press("e")
        page.keyboard.type("77")
        page.keyboard.press("Enter")
        expect(page.locator('[data-at="2 2"] .cell-value')).to_have_text("77")
        page.keyboard.press("ArrowRight")
        expect(page.locator("#record-title")).to_contain_text("design")
        page.keyboard.press("n")
        expect(page.locator('[data-at="2 3"]')).to_have_class(re.compile("cell-edited"))
        page.keyboard.press("u")
        expect(page.locator('[data-at="2 3"]')).to_have_class(re.compile("cell-unsupported"))
        page.keyboard.press("Escape")
        expect(page.locator("#panel")).to_be_hidden()
        expect(page.locator('[data-at="2 3"]')).to_be_focused()
    decided = {(one.item, one.verdict, one.value) for one in here.client.decisions(paper_task)}
    assert decided == {("doc-2", "accept", None), ("doc-3", "replace", 77)}


def test_the_quote_is_boxed_where_it_stands_on_the_page(browser: Browser, here: Installation, paper_task: str) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, paper_task, "?key=doc-2&row=1&cell=sample_size")
        sheet = page.locator(".record-sheet[data-ready=yes]")
        expect(sheet).to_be_visible()
        box, picture = sheet.locator("rect").bounding_box(), sheet.locator("img").bounding_box()
        assert box is not None
        assert picture is not None
        assert box["x"] - picture["x"] == pytest.approx(0.1 * picture["width"], abs=3)
        assert box["y"] - picture["y"] == pytest.approx(0.25 * picture["height"], abs=3)
        assert box["width"] == pytest.approx(0.6 * picture["width"], abs=5)
        source = sheet.locator("img").get_attribute("src")
        assert source is not None
        assert "page=2" in source


def test_rows_are_filtered_and_the_filter_is_in_the_address(
    browser: Browser, here: Installation, paper_task: str
) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, paper_task)
        page.locator("label.chip.cell-conflict").click()
        expect(page.locator("#table-note")).to_have_text("Rows: 12")
        page.get_by_label("Document", exact=True).fill("paper0004")
        expect(page.locator("#table-note")).to_have_text("Rows: 1")
        assert "state=conflict" in page.url
        page.reload()
        expect(page.locator("#table-note")).to_have_text("Rows: 1")
        page.locator('[data-at="0 2"]').click()
        page.get_by_role("button", name="use this").click()
        expect(page.locator("#table-empty")).to_be_visible()
        page.goto(f"/tasks/{paper_task}/table?state=failed")
        expect(page.locator(".table-whole")).to_have_text("failed: The file is encrypted.")


def test_a_cell_is_redone_by_the_action_of_its_application(
    browser: Browser, here: Installation, paper_task: str
) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, paper_task)
        page.locator('[data-at="3 2"]').click()
        expect(page.locator("#record-title")).to_contain_text("sample_size")
        page.keyboard.press("r")
        expect(page.locator("#redo-model")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator('[data-at="3 1"].table-whole')).to_have_text("not done yet")
        work(here)
        expect(page.locator('[data-at="3 2"]')).to_have_class(re.compile("cell-conflict"))
    assert here.client.output(paper_task, "doc-4")["asked"] == "sample_size"


def test_thousands_of_rows_are_drawn_as_they_come_into_sight(browser: Browser, here: Installation) -> None:
    task = here.client.submit(papers, items=documents(3_000)).id
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, task)
        expect(page.locator("#table-note")).to_have_text("Rows: 3,000")
        assert page.locator(".table-body .table-row").count() < 80
        page.locator('[data-at="0 1"], .table-whole[data-at="0 1"]').first.focus()
        page.locator("#table").evaluate("table => { table.scrollTop = table.scrollHeight; }")
        expect(page.locator('[data-at="2999 0"]')).to_have_text("paper3000.pdf")
        assert page.locator(".table-body .table-row").count() < 80


@pytest.mark.parametrize(
    ("language", "size", "name", "scheme"),
    [
        ("en-US", DESKTOP, "desktop", "dark"),
        ("zh-CN", PHONE, "phone", "light"),
    ],
)
def test_the_table_can_be_read_and_used_by_everybody(
    browser: Browser, here: Installation, paper_task: str, scheme: str, size: object, name: str, language: str
) -> None:
    with served(here) as (address, _), looking(browser, address, size=size, language=language) as page:  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        opened(page, paper_task)
        save(page, f"table-{name}-{scheme}-{language}")
        assert page.evaluate(AUDIT) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator('[data-at="3 2"]').click()
        expect(page.locator(".record-sheet[data-ready=yes]")).to_be_visible()
        save(page, f"record-{name}-{scheme}-{language}")
        assert page.evaluate(AUDIT) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_the_record_of_an_item_can_be_read_and_used_by_everybody(
    browser: Browser, here: Installation, paper_task: str, size: object
) -> None:
    with served(here) as (address, _), looking(browser, address, size=size) as page:  # type: ignore[arg-type]
        page.goto(f"/tasks/{paper_task}/item?key=doc-4")
        page.get_by_role("link", name="sample_size").click()
        expect(page.locator(".record-quote").first).to_be_visible()
        expect(page.locator(".record-sheet img")).to_be_visible()
        save(page, f"item-record-{size['width']}")  # type: ignore[index]
        assert page.evaluate(AUDIT) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
