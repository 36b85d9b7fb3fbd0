"""The page does what people need, from submit to result, in a real browser with real workers."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.acceptance.browser import DESKTOP, PHONE, looking, save, work
from tests.acceptance.test_serving import serve
from tests.ai_server import AIServer
from tests.apps.pdf.making import make_pdf
from tests.cli.conftest import shell_on
from tests.cli.samples import words
from tests.cli.shell import Shell
from tests.conftest import environment_of
from tests.installation import Installation
from tests.server.asking import served, token
from tests.waiting import eventually

TEXT = "Fanfold paper comes folded, page on page, in one long strip; a printer pulls it through without an end. "
FAINT = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
TWO_FRAMES = """() => new Promise(done => {
  const from = performance.now();
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - from)));
})"""
MODEL = f"# A model's view\n\n{TEXT * 4}"


@pytest.fixture
def shell(database_url: str, tmp_path: Path) -> Iterator[Shell]:
    """Commands in processes of their own."""
    yield from shell_on(database_url, tmp_path / "data")


@pytest.fixture
def sqlite_shell(tmp_path: Path) -> Iterator[Shell]:
    """The same on SQLite only."""
    yield from shell_on(f"sqlite:///{tmp_path / 'fanfold.db'}", tmp_path / "data")


def book(folder: Path, name: str = "book.pdf", pages: int = 3) -> Path:
    return make_pdf(folder / name, [f"Page {n}. " + TEXT * 5 for n in range(1, pages + 1)])


@pytest.mark.one_database
def test_drop_a_pdf_watch_it_look_at_a_page_redo_it_with_a_model_and_download(
    browser: Browser, shell: Shell, ai: AIServer, tmp_path: Path
) -> None:
    ai.answer(MODEL)
    _, address = serve(shell, **environment_of(ai))
    with looking(browser, address) as page:
        page.goto("/")
        page.locator("#files").set_input_files(book(tmp_path))
        row = page.locator("[data-row]", has_text="book.pdf")
        expect(row).to_contain_text("completed")
        row.locator("a.task-title").click()
        expect(page.locator("#task")).to_contain_text("3 of 3 pages done")

        page.locator("#grid[data-ready]").click(position={"x": 8, "y": 8})
        expect(page.locator(".markdown")).to_contain_text("Page 1.")
        expect(page.locator("img")).to_have_js_property("complete", True)
        assert page.locator("img").first.evaluate("image => image.naturalWidth") > 500
        page.keyboard.press("ArrowRight")
        expect(page.locator(".markdown")).to_contain_text("Page 2.")
        assert "key=2" in page.url

        page.locator("#retry-menu summary").click()
        page.locator("#item-provider").select_option("fake")
        page.get_by_role("button", name="retry this item").click()
        expect(page.locator("#tab-changes")).to_be_visible()
        page.locator("#tab-changes").click()
        expect(page.locator(".changes")).to_contain_text("A model's view")
        expect(page.locator("ins").first).to_be_visible()
        expect(page.locator("del").first).to_be_visible()
        expect(page.locator("#item")).to_contain_text("fake-large")

        page.keyboard.press("Escape")
        expect(page.locator("#task")).to_contain_text("completed")
        page.locator("#fold-result summary").click()
        with page.expect_download() as download:
            page.locator("#result .downloads a").first.click()
        text = Path(download.value.path()).read_text(encoding="utf-8")
    assert download.value.suggested_filename == "book.md"
    assert "A model's view" in text
    assert text.count("<!-- Page") == 3


def test_a_failing_provider_is_seen_understood_and_got_round(
    browser: Browser, sqlite_shell: Shell, ai: AIServer, tmp_path: Path
) -> None:
    ai.always("401")
    _, address = serve(sqlite_shell, **environment_of(ai))
    with looking(browser, address) as page:
        page.goto("/")
        page.locator("#provider").select_option("fake")
        page.locator("#files").set_input_files(book(tmp_path))
        row = page.locator("[data-row]", has_text="book.pdf")
        expect(row).to_contain_text("paused")
        page.get_by_role("link", name=re.compile("Needs you")).click()
        expect(row).to_contain_text("401")
        ai.always("answer")
        ai.answer(MODEL)
        row.get_by_role("button", name="resume").click()
        page.get_by_role("link", name=re.compile("^All")).click()
        expect(row).to_contain_text("completed")
        expect(row).to_contain_text("$")


def partly_failed(here: Installation, words_of: list[str]) -> str:
    """A task of the words pipeline that has come to rest."""
    here.know(words)
    task = here.client.submit(words, items=words_of, title="<img src=x onerror=alert(1)> & “words”")
    work(here)
    return task.id


def test_what_failed_is_grouped_by_reason_and_retried_from_there(browser: Browser, here: Installation) -> None:
    id_ = partly_failed(here, ["one", "bad", "two", "bad"])
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{id_}")
        failures = page.locator("#failures")
        expect(failures).to_contain_text("2 ×")
        expect(failures).to_contain_text("no such word")
        failures.get_by_role("button", name="retry these").first.click()
        expect(failures).to_be_hidden()
        assert here.client.get(id_).state == "active"
        work(here)
        expect(failures).to_contain_text("2 ×")
        expect(page.get_by_role("button", name="merge anyway")).to_be_visible()
        page.keyboard.press("m")
        page.locator("#confirm").get_by_role("button", name="Merge").click()
        eventually(lambda: here.client.get(id_).stage == "join")
        work(here)
        expect(page.locator("#task")).to_contain_text("completed")


def test_many_tasks_are_steered_at_once_after_a_look_at_what_would_happen(browser: Browser, here: Installation) -> None:
    here.know(words)
    tasks = [here.client.submit(words, items=["x"], title=f"number {n}") for n in range(5)]
    here.client.pause(tasks[0].id)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        for box in page.locator("[data-row] input[type=checkbox]").all():
            box.check()
        page.get_by_role("combobox", name="Command").select_option("pause")
        page.get_by_role("button", name="Preview").click()
        dialog = page.locator("dialog[open]")
        expect(dialog).to_contain_text("4")
        expect(dialog).to_contain_text("number 0")
        dialog.get_by_role("button", name=re.compile("pause", re.IGNORECASE)).click()
        eventually(lambda: {task.state for task in here.client.list()} == {"paused"})
        expect(page.get_by_role("link", name=re.compile("Needs you"))).to_contain_text("5")


def test_many_tasks_are_offered_only_what_fits_them(browser: Browser, here: Installation) -> None:
    partly_failed(here, ["one", "bad"])
    for n in range(2):
        here.client.submit(words, items=["x"], title=f"number {n}")
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        offered = page.get_by_role("combobox", name="Command")
        page.locator("[data-row]", has_text="number 0").get_by_role("checkbox").check()
        page.locator("[data-row]", has_text="number 1").get_by_role("checkbox").check()
        expect(offered).to_have_value("pause")
        assert texts(offered) == ["pause (2)", "cancel (2)"]
        page.locator("[data-row][data-state=partial]").get_by_role("checkbox").check()
        expect(offered).to_have_value("retry")
        assert "retry (1)" in texts(offered)
        assert "pause (2)" in texts(offered)


def texts(choice: Locator) -> list[str]:
    """What can be chosen."""
    return list(choice.evaluate("one => [...one.options].filter(each => !each.disabled).map(each => each.textContent)"))


def test_the_list_is_live_and_keeps_what_was_selected(browser: Browser, here: Installation) -> None:
    here.know(words)
    first = here.client.submit(words, items=["x"], title="the first")
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        row = page.locator("[data-row]", has_text="the first")
        row.get_by_role("checkbox").check()
        here.client.submit(words, items=["y"], title="the second")
        expect(page.locator("[data-row]", has_text="the second")).to_be_visible()
        here.client.pause(first.id)
        expect(row).to_contain_text("paused")
        expect(row.get_by_role("checkbox")).to_be_checked()


def test_a_lost_connection_is_told_and_taken_up_again(browser: Browser, here: Installation) -> None:
    here.know(words)
    task = here.client.submit(words, items=["x", "y"], title="the one")
    with looking(browser, "http://127.0.0.1", complaints=("ERR_CONNECTION", "ERR_INCOMPLETE", "ERR_")) as page:
        with served(here) as (address, _):
            page.goto(f"{address}/tasks/{task.id}")
            expect(page.locator("#connection")).to_be_hidden()
        expect(page.locator("#connection")).to_be_visible()
        work(here)
        with served(here, port=int(address.rpartition(":")[2])):
            expect(page.locator("#connection")).to_be_hidden()
            expect(page.locator("#task")).to_contain_text("completed")


def test_a_token_opens_the_page_of_its_owner_and_a_viewer_gets_no_buttons(browser: Browser, here: Installation) -> None:
    here.know(words)
    here.client.submit(words, items=["x"], title="of Ann", owner="ann")
    here.client.submit(words, items=["x"], title="of Bob", owner="bob")
    ann, eve = token(here, "ann"), token(here, "eve", "viewer", "ann")
    wrong = ("401",)
    with served(here, demands_token=True) as (address, _), looking(browser, address, complaints=wrong) as page:
        page.goto("/")
        for secret in ("ffk_wrong", ann):
            page.locator("input[type=password]").fill(secret)
            page.keyboard.press("Enter")
        expect(page.locator("[data-row]")).to_have_count(1)
        expect(page.locator("[data-row]")).to_contain_text("of Ann")
        expect(page.locator("[data-row]").get_by_role("button", name="pause")).to_be_visible()
        page.get_by_role("button", name=re.compile("log out", re.IGNORECASE)).click()
        page.locator("input[type=password]").fill(eve)
        page.keyboard.press("Enter")
        expect(page.locator("[data-row]")).to_contain_text("of Ann")
        expect(page.locator("[data-row]").get_by_role("button", name="pause")).to_have_count(0)
        expect(page.locator("#files")).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_fits_is_readable_and_speaks_both_languages(
    browser: Browser, here: Installation, scheme: str
) -> None:
    id_ = partly_failed(here, ["one", "bad", "a-word-that-is-very-long-" * 8, "two"])
    here.client.submit(words, items=["x"] * 40, title="x" * 300, tags=["a tag"])
    pages = {"tasks": "/", "task": f"/tasks/{id_}", "item": f"/tasks/{id_}/item?key=1", "items": f"/tasks/{id_}/items"}
    pages |= {"workers": "/workers", "login": "/login", "error": "/tasks/t-none"}
    with served(here) as (address, _):
        looks = (("en-US", DESKTOP), ("zh-CN", PHONE), ("en-US", PHONE), ("zh-CN", DESKTOP))
        half = looks[:2] if scheme == "light" else looks[2:]
        for language, size in looks if "FANFOLD_SCREENSHOTS" in os.environ else half:
            with looking(browser, address, size=size, language=language, complaints=("404",)) as page:
                page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
                for name, path in pages.items():
                    page.goto(path)
                    for fold in page.locator("details.fold > summary").all():
                        fold.click()
                    save(page, f"{name}-{scheme}-{language}-{size['width']}")
                    where = f"{name} {scheme} {language} {size['width']}"
                    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                    assert wide <= 0, f"{where}: {wide} px too wide"
                    assert page.evaluate("document.documentElement.lang")[:2] == language[:2], where
                    assert bool(re.search("[\u4e00-\u9fff]", page.locator("main").inner_text())) == (
                        language == "zh-CN"
                    ), where
                    assert page.evaluate(FAINT) == [], where


def test_a_task_of_ten_thousand_items_stays_light(browser: Browser, here: Installation) -> None:
    here.know(words)
    task = here.client.submit(words, items=["x"] * 10_000, title="large")
    worker = here.worker()
    claimed = worker.claim(6_000)
    worker.finish(*claimed[:5_000])
    with served(here) as (address, _), looking(browser, address) as page:
        answer = page.goto(f"/tasks/{task.id}")
        assert answer is not None
        assert len(answer.body()) < 60_000
        expect(page.locator("#task")).to_contain_text("5\u202f000")
        messages: list[int] = []
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.eventSourceMessageReceived", lambda event: messages.append(len(event["data"])))
        page.wait_for_timeout(1_000)
        messages.clear()
        worker.fail(*claimed[5_000:5_500])
        expect(page.locator("#failures")).to_contain_text("500 ×")
        assert 0 < sum(messages) < 30_000, messages
        assert min(page.evaluate(TWO_FRAMES) for _ in range(5)) < 500
        page.locator("#grid[data-ready]").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator("#item")).to_be_visible()
