"""The changes of a book in a real browser: stepped through, filtered and decided about by keyboard and by mouse."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import fanfold as ff
from fanfold.apps.proofread import proofread
from tests.acceptance.browser import DESKTOP, PHONE, looking, save, work
from tests.acceptance.test_browsing import FAINT
from tests.acceptance.test_honest import AUDIT
from tests.installation import Installation
from tests.server.asking import served
from tests.server.novels import chunks, novel, translated
from tests.waiting import eventually

KNOWN = (novel, translated, proofread)
READY = "#changes[data-ready=yes]"
STORY = "第一章 雨\n\n　　他说:“你来了...”\n\n　　雨停了--天亮了,他走了。\n\n第二章 晴\n\n　　天晴了,风也停了。\n"


@pytest.fixture
def story(here: Installation, tmp_path: Path) -> ff.Task:
    """A finished proofreading by rules alone, which needs no model."""
    path = tmp_path / "rain.txt"
    path.write_text(STORY, encoding="utf-8")
    task = here.client.submit(proofread, path, options={"rules_only": True}, straight_through=True)
    work(here)
    return here.client.get(task.id)


def opened(page: Page, task: str, query: str = "") -> None:
    page.goto(f"/tasks/{task}/changes{query}")
    expect(page.locator(READY)).to_be_attached()


def text_of(here: Installation, task: str) -> str:
    """The merged book. The merge waits until nobody has decided for half a second."""

    def is_merged() -> bool:
        work(here)
        return here.client.get(task).state == "completed"

    eventually(is_merged)
    result: Any = here.client.result(task)
    return str(result["file"].read_text())


def test_a_person_reviews_a_book_with_the_keyboard_alone(browser: Browser, here: Installation, story: ff.Task) -> None:
    corrected = (
        "第一章 雨\n\n　　他说：“你来了……”\n\n　　雨停了——天亮了，他走了。\n\n第二章 晴\n\n　　天晴了，风也停了。\n"
    )
    assert text_of(here, story.id) == corrected
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{story.id}")
        page.get_by_role("link", name="Changes").click()
        expect(page.locator("#progress")).to_have_text("decided 0 of 5")
        current = page.locator(".change.is-current")
        page.keyboard.press("j")
        expect(current).to_contain_text(": → ：")
        page.keyboard.press("a")
        expect(current).to_have_class(re.compile("change-accept"))
        page.keyboard.press("j")
        expect(current).to_contain_text("... → ……")
        page.keyboard.press("r")
        expect(current).to_have_class(re.compile("change-reject"))
        expect(page.locator(".pair-after").first).to_have_text("　　他说：“你来了...”")
        page.keyboard.press("j")
        page.keyboard.press("e")
        page.keyboard.type("，然后")
        page.keyboard.press("Enter")
        expect(current).to_have_class(re.compile("change-replace"))
        expect(current).to_be_focused()
        expect(page.locator("#progress")).to_have_text("decided 3 of 5")
        page.keyboard.press("k")
        expect(current).to_contain_text("... → ……")
        page.keyboard.press("d")
        expect(page.locator("#changes")).to_have_class(re.compile("without-marks"))
        page.keyboard.press("d")
        save(page, "changes-story")
        page.locator("label.chip", has_text="undecided").click()
        expect(page.locator("#note")).to_contain_text("Changes in this list: 2")
        page.get_by_label("Chapter").select_option("第二章 晴")
        expect(page.locator("#note")).to_contain_text("Changes in this list: 1")
        page.reload()
        expect(page.locator("#note")).to_contain_text("Changes in this list: 1")
        page.get_by_role("button", name="reject all").click()
        page.get_by_role("button", name="Yes").click()
        expect(page.locator("#progress")).to_have_text("decided 4 of 5")
    decided = [(one.verdict.value, one.value, one.actor) for one in here.client.decisions(story.id)]
    assert sorted(decided, key=str) == [
        ("accept", None, "person"), ("reject", None, "person"), ("reject", None, "person"), ("replace", "，然后", "person"),
    ]  # fmt: skip
    assert text_of(here, story.id) == (
        "第一章 雨\n\n　　他说：“你来了...”\n\n　　雨停了，然后天亮了，他走了。\n\n第二章 晴\n\n　　天晴了,风也停了。\n"
    )


def test_thousands_of_paragraphs_are_drawn_as_they_come_into_sight(browser: Browser, here: Installation) -> None:
    task = here.client.submit(novel, items=chunks(1_000), title="A long novel").id
    work(here)
    with served(here) as (address, _), looking(browser, address) as page:
        opened(page, task)
        expect(page.locator("#progress")).to_have_text("decided 0 of 4,000")
        expect(page.locator("#note")).to_contain_text("paragraphs: 2,250")
        assert page.locator(".pair").count() < 200
        page.keyboard.press("j")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        expect(page.get_by_text("¶ 1000.3", exact=True)).to_be_visible()
        assert page.locator(".pair").count() < 250
        page.get_by_label("Search in changes").fill("……")
        expect(page.locator("#note")).to_contain_text("paragraphs: 1,000")


def test_a_translated_paragraph_is_one_change_without_marks_in_the_text(browser: Browser, here: Installation) -> None:
    task = here.client.submit(translated, items=["x"]).id
    work(here)
    with served(here) as (address, _), looking(browser, address, language="zh-CN") as page:
        opened(page, task)
        marks = page.locator(".mark")
        expect(marks).to_have_count(4)
        lines = marks.evaluate_all("all => all.map((one) => getComputedStyle(one).textDecorationLine)")
        assert set(lines) == {"none"}
        page.keyboard.press("j")
        page.keyboard.press("r")
        expect(page.locator(".pair-after").first).to_have_text("雨下得很急。他没有回家。")
        expect(page.locator(".change.is-current")).to_contain_text("模型: gpt-test")
        expect(page.locator(".change-proposal")).to_have_text("It rained hard. He did not go home.")
        save(page, "changes-translated")


@pytest.mark.parametrize(
    ("scheme", "size", "language"),
    [("light", DESKTOP, "en-US"), ("dark", PHONE, "zh-CN")],
)
def test_the_changes_can_be_read_and_used_by_everybody(
    browser: Browser, here: Installation, scheme: Any, size: Any, language: str
) -> None:
    task = here.client.submit(novel, items=chunks(6, lost=1), title="Rain and houses").id
    work(here)
    with served(here) as (address, _), looking(browser, address, size=size, language=language) as page:
        page.emulate_media(color_scheme=scheme)
        opened(page, task)
        for key in ("j", "a", "j", "r", "j", "e"):
            page.keyboard.press(key)
            if key in "ar":
                expect(page.locator(".change.is-current [aria-pressed=true]")).to_be_visible()
        expect(page.locator(".change-edit")).to_be_visible()
        save(page, f"changes-{size['width']}-{scheme}-{language}")
        assert page.evaluate(AUDIT) == []
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
