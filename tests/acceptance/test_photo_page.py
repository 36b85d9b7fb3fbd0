"""Pictures in a real browser: the gallery of a task, before and after, the watermark off, and one made again."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, expect

import fanfold as ff
from fanfold.apps.photo import photo
from tests import image_server
from tests.acceptance.browser import fits, looking, work
from tests.apps.photo.conftest import configure
from tests.image_server import ImageServer
from tests.installation import Installation
from tests.server.asking import served
from tests.waiting import eventually

KNOWN = (photo,)
pytestmark = pytest.mark.one_database


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageServer]:
    """A service whose third picture is withheld by its moderation."""
    with image_server.running() as server:
        server.size = (480, 360)
        server.choose = lambda prompt, seed: "moderated" if seed in (814, 100_817) else "good"
        configure(tmp_path, server.url)
        monkeypatch.chdir(tmp_path)
        yield server


def photograph() -> bytes:
    """Something to start from."""
    picture = Image.new("RGB", (480, 360), "#dde5ee")
    ImageDraw.Draw(picture).ellipse((140, 60, 340, 300), fill="#7788aa")
    sink = io.BytesIO()
    picture.save(sink, "JPEG")
    return sink.getvalue()


def finish(here: Installation, task: ff.Task) -> None:
    """Work, also on what waits for its next try."""

    def is_over() -> bool:
        work(here)
        return here.client.get(task.id).finished

    eventually(is_over)


def test_a_person_looks_at_pictures_and_makes_one_again(
    browser: Browser, here: Installation, images: ImageServer
) -> None:
    options = {"prompt": "a red dress, spring collection", "count": 4, "seed": 812}
    task = here.client.submit(photo, ff.Upload("model.jpg", photograph()), options=options, title="spring collection")
    finish(here, task)
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{task.id}")
        fits(page, "photo-task")
        page.get_by_role("link", name="Pictures").click()
        expect(page.locator(".gallery figure")).to_have_count(4)
        expect(page.locator(".gallery figure img")).to_have_count(3)
        expect(page.locator(".gallery figure").nth(2)).to_contain_text("withheld the picture")
        eventually(lambda: page.evaluate("[...document.images].every((one) => one.complete && one.naturalWidth > 0)"))
        fits(page, "photo-gallery")
        with page.expect_download() as archive:
            page.get_by_role("link", name="All pictures").click()
        assert archive.value.suggested_filename.endswith(".zip")
        page.locator(".gallery figure a").first.click()
        expect(page.locator(".pictures .marked img")).to_be_visible()
        expect(page.locator(".pictures .unmarked")).to_be_hidden()
        expect(page.locator(".pictures")).to_contain_text("812")
        page.get_by_text("without watermark").first.click()
        expect(page.locator(".pictures .unmarked img")).to_be_visible()
        expect(page.locator(".pictures .marked")).to_be_hidden()
        expect(page.locator(".pictures .after figcaption")).to_have_text("After without watermark", use_inner_text=True)
        expect(page.locator(".picture-steps li")).to_have_count(3)
        expect(page.locator(".picture-steps")).to_contain_text("watermarking")
        fits(page, "photo-item")
        page.locator("#picture-redo summary").click()
        page.locator("#redo-prompt").fill("a blue dress")
        page.locator("#picture-redo").get_by_role("button", name="redo").click()
        expect(page.locator(".state").first).not_to_have_text("completed")
        finish(here, task)
        page.reload()
        expect(page.locator(".pictures-facts")).to_contain_text("a blue dress")
        expect(page.locator(".gallery.small figure")).to_have_count(1)
        fits(page, "photo-redone")
    with served(here) as (address, _), looking(browser, address, language="zh-CN") as page:
        page.goto(f"/tasks/{task.id}/pictures")
        expect(page.locator("h1")).to_contain_text("图片")
        expect(page.locator(".gallery figure").nth(2)).to_contain_text("审核扣留了图片")
        fits(page, "photo-gallery-zh")
        page.locator(".gallery figure a").first.click()
        expect(page.locator(".pictures")).to_contain_text("提示词")
        fits(page, "photo-item-zh")
        page.emulate_media(color_scheme="dark")
        fits(page, "photo-item-zh-dark")
