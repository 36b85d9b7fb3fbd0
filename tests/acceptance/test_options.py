"""Options have real fields, are checked before an upload, and a password fixes a failure, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.browser import DESKTOP, PHONE, looking, save, work
from tests.engine.sealed import seal, sealed
from tests.installation import Installation
from tests.server.asking import served

KNOWN = (sealed,)
PASSWORD = "open-sesame-7531"


def test_a_wrong_option_is_told_before_the_upload_and_a_password_opens_the_file(
    browser: Browser, here: Installation, tmp_path: Path
) -> None:
    book = seal(tmp_path / "book.txt", PASSWORD, "one two")
    with served(here) as (address, _), looking(browser, address, complaints=("422",)) as page:
        sent: list[str] = []
        page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
        page.goto("/")
        page.get_by_text("More options").click()
        expect(page.locator("#free")).to_be_hidden()
        page.get_by_label("Times").fill("10")
        page.locator("#files").set_input_files(book)
        expect(page.locator("#upload-problem")).to_contain_text("must be from 1 to 9")
        assert not [one for one in sent if one.endswith("/tasks")], "nothing was uploaded"
        page.get_by_label("Times").fill("2")
        expect(page.locator("#upload-problem")).to_be_hidden()
        page.get_by_label("Password").fill(PASSWORD)
        page.locator("#files").set_input_files(book)
        expect(page.locator("[data-row]", has_text="book.txt")).to_be_visible()
        assert PASSWORD not in page.evaluate("JSON.stringify(localStorage)")
    work(here)
    [task] = here.client.list()
    assert (task.state, here.client.result(task.id)) == ("completed", "ONE TWO ONE TWO")
    assert PASSWORD not in str(here.rows())


@pytest.mark.parametrize("language", ["en-US", "zh-CN"])
def test_a_failure_for_want_of_a_password_has_its_way_out_on_the_page(
    browser: Browser, here: Installation, tmp_path: Path, language: str
) -> None:
    task = here.client.submit(sealed, seal(tmp_path / "book.txt", PASSWORD, "one two"))
    work(here)
    with served(here) as (address, _), looking(browser, address, language=language, complaints=("422",)) as page:
        page.goto(f"/tasks/{task.id}")
        page.locator("#other-options summary").click()
        for name, size in (("desktop", DESKTOP), ("phone", PHONE)):
            page.set_viewport_size(size)
            save(page, f"password-{language}-{name}")
        page.locator("#option-password").fill("wrong-one")
        page.locator("#other-options button").click()
        expect(page.get_by_text("does not open book.txt")).to_be_visible()
        page.locator("#option-password").fill(PASSWORD)
        page.locator("#other-options button").click()
        expect(page.locator("#task-head")).not_to_have_attribute("data-state", "failed")
        expect(page.get_by_text("does not open book.txt")).to_have_count(0, timeout=5_000)
    work(here)
    assert here.client.result(task.id) == "ONE TWO"


def test_the_key_for_a_retry_leads_to_the_option_that_helps(
    browser: Browser, here: Installation, tmp_path: Path
) -> None:
    task = here.client.submit(sealed, seal(tmp_path / "book.txt", PASSWORD, "one two"))
    work(here)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/")
        page.keyboard.press("j")
        page.keyboard.press("r")
        field = page.locator("#failures .help-with input[type=password]")
        expect(field).to_be_focused()
        page.locator("#task-title").click()
        page.keyboard.press("r")
        expect(field).to_be_focused()
        field.fill(PASSWORD)
        page.keyboard.press("Enter")
        expect(page.locator("#task-head")).not_to_have_attribute("data-state", "failed")
    work(here)
    assert here.client.result(task.id) == "ONE TWO"


def test_other_options_of_a_retry_are_shown_in_place_of_the_old_ones(
    browser: Browser, here: Installation, tmp_path: Path
) -> None:
    task = here.client.submit(sealed, seal(tmp_path / "book.txt", PASSWORD, "one two"), options={"times": 3})
    work(here)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{task.id}")
        page.locator("#fold-facts summary").click()
        expect(page.locator("#fold-facts")).to_contain_text("times3")
        page.locator("#other-options summary").click()
        page.locator("#option-times").fill("2")
        page.locator("#option-password").fill(PASSWORD)
        page.locator("#other-options button").click()
        expect(page.locator("#fold-facts")).to_contain_text("times2")
    work(here)
    assert here.client.result(task.id) == "ONE TWO ONE TWO"


def test_an_upload_that_failed_can_be_tried_again(browser: Browser, here: Installation, tmp_path: Path) -> None:
    book = tmp_path / "book.txt"
    book.write_text("one")
    with served(here) as (address, _), looking(browser, address, complaints=("500", "ERR_FAILED")) as page:
        page.goto("/")
        page.route("**/api/v1/tasks", lambda route: route.abort(), times=1)
        page.locator("#files").set_input_files(book)
        failed = page.locator(".upload-item")
        expect(failed).to_contain_text("The connection was lost.")
        failed.get_by_role("button", name="Try again").click()
        expect(page.locator("[data-row]", has_text="book.txt")).to_be_visible()
        expect(failed).to_have_count(0)
