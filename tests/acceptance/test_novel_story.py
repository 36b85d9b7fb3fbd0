"""A novel in a real browser, from its upload to its download: gates, changes decided by keys, the merge, and its forms."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from fanfold.apps.proofread import proofread, translate
from tests.acceptance.browser import PHONE, looking, save, work
from tests.ai_protocol import Call
from tests.ai_server import AIServer
from tests.apps.proofread.answering import MARK, paragraphs, replacing, told
from tests.conftest import environment_of
from tests.installation import Installation
from tests.server.asking import served
from tests.waiting import eventually

KNOWN = (proofread, translate)
READY = "#changes[data-ready=yes]"
NOVEL = """Chapter 1. The Lighthouse

The keeper climbed the stairs at six oclock, as he did every evning.

"Is the lamp lit?" asked Mara. She had counted 212 steps.

Nobody answerd. Far below, the sea beat against the rocks.
"""
CORRECT = replacing(("oclock", "o'clock"), ("evning", "evening"), ("answerd", "answered"))
CHINESE = {
    "Chapter": "第一章 灯塔",
    "The keeper": "看守人像每天晚上一样，六点钟爬上了楼梯。",
    '"Is': "“灯亮了吗？”玛拉问。她数了 212 级台阶。",
    "Nobody": "没有人回答。下面很远的地方，大海拍打着礁石。",
}


def answered(call: Call) -> str:
    """A model that corrects, translates and collects one term."""
    if MARK not in call.prompt:
        return json.dumps(
            {"terms": [{"source": "Mara", "target": "马拉", "kind": "person", "note": ""}], "summary": ""}
        )
    found = paragraphs(call.prompt)
    if "You translate" not in call.prompt:
        return told({at: CORRECT(text) for at, text in found.items()})
    name = "玛拉" if "→ 玛拉" in call.prompt else "马拉"
    known = {at: next(one for start, one in CHINESE.items() if text.startswith(start)) for at, text in found.items()}
    return told({at: text.replace("玛拉", name) for at, text in known.items()})


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[AIServer]:
    with AIServer() as ai:
        ai.answer(answered)
        for name, value in environment_of(ai).items():
            monkeypatch.setenv(name, value)
        yield ai


@pytest.fixture
def novel(tmp_path: Path) -> Path:
    path = tmp_path / "novel.txt"
    path.write_text(NOVEL)
    return path


def uploaded(page: Page, here: Installation, path: Path, pipeline: str) -> str:
    """Upload a book; returns the id of its task."""
    page.goto("/")
    page.locator("#pipeline").select_option(pipeline)
    page.locator("#provider").select_option("fake")
    if pipeline == "translate":
        page.get_by_label("Into").fill("zh")
    page.locator("#files").set_input_files(path)
    expect(page.locator("a[href^='/tasks/t-']").first).to_be_visible()
    [task] = [one.id for one in here.client.list()]
    work(here)
    page.goto(f"/tasks/{task}")
    return task


def resumed(page: Page, here: Installation, until: str) -> None:
    """Press the button of the gate, and let the workers go on until the task is in this state again."""
    newest = here.client.list()[0].id
    gate = here.client.get(newest).stage
    page.locator("button[data-key=p], button[data-key=m]").first.click()

    def is_there() -> bool:
        work(here)
        task = here.client.get(newest)
        return task.state == until and (until == "completed" or task.stage != gate)

    eventually(is_there)
    page.reload()
    expect(page.locator(f"#task-head[data-state={until}]")).to_be_attached()


def downloaded(page: Page, form: str) -> bytes:
    """The result in a form, from the menu of the page."""
    page.locator("#download-menu summary").click()
    with page.expect_download() as download:
        page.locator("#download-menu a", has_text=form).first.click()
    return Path(download.value.path()).read_bytes()


def test_a_novel_from_its_upload_to_its_download(
    browser: Browser, here: Installation, service: AIServer, novel: Path
) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        task = uploaded(page, here, novel, "proofread")
        expect(page.locator("#task-head")).to_contain_text("paused")
        assert service.calls == []
        save(page, "novel-before-processing")
        resumed(page, here, "waiting")
        assert len(service.calls) == 1
        page.get_by_role("link", name="Changes").click()
        expect(page.locator(READY)).to_be_attached()
        current = page.locator(".change.is-current")
        for key, word, verdict in (("a", "oclock", "accept"), ("r", "evning", "reject"), ("e", "answerd", "replace")):
            page.keyboard.press("j")
            expect(current).to_contain_text(word)
            page.keyboard.press(key)
            if key == "e":
                page.keyboard.press("ControlOrMeta+a")
                page.keyboard.type("replied")
                page.keyboard.press("Enter")
            expect(current).to_have_class(re.compile(f"change-{verdict}"))
        save(page, "novel-decided")
        page.goto(f"/tasks/{task}")
        resumed(page, here, "completed")
        save(page, "novel-done")
        book = downloaded(page, "Book")
        assert book.decode() == NOVEL.replace("oclock", "o'clock").replace("answerd", "replied")
        page.reload()
        assert "replied" in downloaded(page, "Changes as a web page").decode()
        page.reload()
        assert downloaded(page, "Word with tracked changes").startswith(b"PK")
    assert len(service.paid) == 1
    with served(here) as (address, _), looking(browser, address, language="zh-CN", size=PHONE) as page:
        page.emulate_media(color_scheme="dark")
        page.goto(f"/tasks/{task}/changes")
        expect(page.locator(READY)).to_be_attached()
        save(page, "novel-changes-chinese-dark-phone")
        page.goto(f"/tasks/{task}")
        save(page, "novel-chinese-dark-phone")


def test_a_translation_waits_for_its_terms_to_be_approved(
    browser: Browser, here: Installation, service: AIServer, novel: Path, tmp_path: Path
) -> None:
    terms = tmp_path / "terms.csv"
    terms.write_text("source,target\nMara,玛拉\n")
    with served(here) as (address, _), looking(browser, address) as page:
        task = uploaded(page, here, novel, "translate")
        expect(page.locator("#task-head")).to_contain_text("paused")
        save(page, "novel-terms")
        assert b"Mara,\xe9\xa9\xac\xe6\x8b\x89" in downloaded(page, "Glossary")
        page.reload()
        page.locator("#action-glossary summary").click()
        page.locator("#action-glossary-glossary").fill(terms.read_text())
        save(page, "novel-terms-dialog")
        page.locator("#action-glossary button").last.click()
        eventually(lambda: here.client.decisions(task) != [])
        for state in ("waiting", "waiting", "completed"):
            page.goto(f"/tasks/{task}")
            resumed(page, here, state)
        save(page, "novel-translated")
        assert downloaded(page, "Book").decode() == "\n\n".join(CHINESE.values()) + "\n"
        page.reload()
        assert "她数了 212 级台阶" in downloaded(page, "Translation below").decode()
