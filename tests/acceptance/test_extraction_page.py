"""An extraction in a real browser: an archive is uploaded, its table fills, cells are decided about, the workbook is saved."""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fanfold.apps.extract import extract
from tests.acceptance.browser import looking, save, work
from tests.ai_server import AIServer
from tests.apps.extract.answering import served as answering
from tests.apps.pdf.making import make_pdf
from tests.conftest import environment_of
from tests.installation import Installation
from tests.server.asking import served
from tests.waiting import eventually

KNOWN = (extract,)
READY = "#table[data-ready=yes]"
TEMPLATE = "n: integer — How many people took part?\nwhere_the_people_were_recruited: Where?\nfunder: Who paid?"
ANSWERS = {
    "n": (1240, "We enrolled 1,240 people"),
    "where_the_people_were_recruited": ("Sweden", "at two sites in Sweden"),
}
EDGES = "[...document.querySelectorAll('%s')].map((cell) => Math.round(cell.getBoundingClientRect().left))"
TABS = 6


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AIServer]:
    """A service that knows two of three values."""
    with AIServer() as ai:
        ai.answer(answering(ANSWERS))
        for name, value in environment_of(ai).items():
            monkeypatch.setenv(name, value)
        yield ai


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Two papers as PDF in an archive."""
    path = tmp_path / "papers.zip"
    with zipfile.ZipFile(path, "w") as file:
        for number in (1, 2):
            text = f"Paper {number}\n\nWe enrolled 1,240 people at two sites in Sweden."
            file.write(make_pdf(tmp_path / f"paper-{number}.pdf", ["A title page", text]), f"paper-{number}.pdf")
    return path


def opened(page: Page, task: str, query: str = "") -> None:
    page.goto(f"/tasks/{task}/table{query}")
    expect(page.locator(READY)).to_be_attached()


@pytest.mark.usefixtures("service")
def test_the_whole_way_from_an_archive_to_a_reviewed_workbook(
    browser: Browser, here: Installation, archive: Path, tmp_path: Path
) -> None:
    here.client.templates.save("extract", "trials", TEMPLATE)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        page.locator("#pipeline").select_option("extract")
        page.get_by_label("Use a kept template").select_option("trials")
        page.locator("#provider").select_option("fake")
        save(page, "extract-form")
        page.locator("#files").set_input_files(archive)
        expect(page.locator("a[href^='/tasks/t-']").first).to_be_visible()
        [task] = [one.id for one in here.client.list()]
        opened(page, task)
        expect(page.locator(".table-whole").first).to_have_text("not done yet")
        work(here)
        expect(page.locator('[data-at="1 1"] .cell-value')).to_have_text("1240")
        expect(page.locator(".table-top h1")).to_contain_text("completed")
        assert page.evaluate(EDGES % ".table-head .table-cell") == page.evaluate(
            EDGES % ".table-body .table-row:first-child .table-cell"
        )
        reviewed(page)
        eventually(lambda: merged(here, task))
        save(page, "extract-reviewed")
        page.locator('[data-at="1 2"]').click()
        expect(page.locator("#record-title")).to_contain_text("where_the_people")
        page.keyboard.press("r")
        expect(page.locator("#redo-model")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator('[data-at="1 1"].table-whole')).to_have_text("not done yet")
        work(here)
        expect(page.locator('[data-at="1 2"] .cell-value')).to_have_text("Sweden")
        expect(page.locator(".table-top h1")).to_contain_text("completed")
        page.locator("#download-menu summary").click()
        with page.expect_download() as download:
            page.locator("#download-menu a", has_text="Excel").first.click()
        download.value.save_as(tmp_path / "table.xlsx")
    sheet = pytest.importorskip("openpyxl").load_workbook(tmp_path / "table.xlsx").worksheets[0]
    assert [[cell.value for cell in row][1:4] for row in sheet.iter_rows(min_row=2)] == [
        [1241, "Sweden", None],
        [1240, "Sweden", "nobody"],
    ]


def merged(here: Installation, task: str) -> bool:
    """Whether the decisions are merged; the merge waits for more of them."""
    work(here)
    return here.client.get(task).state == "completed"


def reviewed(page: Page) -> None:
    """Look at the evidence of a cell on its page; edit it, approve one, and decide about an absent one."""
    page.locator('[data-at="0 1"]').click()
    sheet = page.locator(".record-sheet[data-ready=yes]")
    expect(sheet).to_be_visible()
    assert "page=2" in str(sheet.locator("img").get_attribute("src"))
    expect(sheet.locator("rect")).to_have_count(1)
    save(page, "extract-evidence")
    page.keyboard.press("e")
    page.locator("#record-input").fill("1241")
    page.keyboard.press("Enter")
    expect(page.locator('[data-at="0 1"]')).to_have_class(re.compile("cell-edited"))
    expect(page.locator('[data-at="0 1"]')).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#record-title")).to_contain_text("where_the_people")
    page.keyboard.press("a")
    expect(page.locator('[data-at="0 2"]')).to_have_class(re.compile("cell-approved"))
    page.locator('[data-at="1 3"]').click()
    expect(page.locator("#record-title")).to_contain_text("funder")
    page.keyboard.press("e")
    page.locator("#record-input").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.locator('[data-at="1 3"]')).to_have_class(re.compile("cell-edited"))


@pytest.mark.usefixtures("service")
def test_without_a_template_the_form_says_so_and_a_reason_is_shown_in_the_readers_language(
    browser: Browser, here: Installation, archive: Path
) -> None:
    options = {"template": TEMPLATE.replace("integer", "string"), "model": "fake:fake-large"}
    task = here.client.submit(extract, items=[{"text": "Nothing of it."}], options=options)
    work(here)
    complaints = ("422",)
    with served(here) as (address, _), looking(browser, address, language="zh-CN", complaints=complaints) as page:
        page.goto("/?new=1")
        page.locator("#pipeline").select_option("extract")
        expect(page.locator("textarea[id$=template]")).to_be_visible()
        page.locator("#files").set_input_files(archive)
        expect(page.locator("#upload-problem")).to_contain_text("提取需要模板")
        opened(page, task.id, "?key=1&row=1&cell=funder")
        expect(page.locator(".record-reason")).to_have_text("文档中没有说明")


@pytest.mark.usefixtures("service")
def test_six_tabs_show_one_running_table_and_all_see_its_end(
    browser: Browser, here: Installation, archive: Path
) -> None:
    task = here.client.submit(extract, archive, options={"template": TEMPLATE, "model": "fake:fake-large"})
    with served(here) as (address, _), looking(browser, address) as first:
        pages = [first, *(first.context.new_page() for _ in range(TABS - 1))]
        for page in pages:
            opened(page, task.id)
            expect(page.locator(".table-whole").first).to_have_text("not done yet")
        work(here)
        for page in pages:
            expect(page.locator('[data-at="1 1"] .cell-value')).to_have_text("1240")
            expect(page.locator(".table-top h1")).to_contain_text("completed")
