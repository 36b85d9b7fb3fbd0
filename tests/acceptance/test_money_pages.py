"""The pages about money in a real browser: budget, estimate, sample, costs, limits and batches fit, and their buttons work."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

import fanfold as ff
from tests.acceptance.browser import fits, looking, work
from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.installation import Installation
from tests.server.asking import served

reviews = ff.Pipeline(
    "reviews", options={"provider": "The provider.", "model": "The model."}, unit=("review", "reviews")
)
reports = ff.Pipeline("reports", options={"provider": "The provider.", "model": "The model."})


@reviews.each(retry=ff.Retry(limit=0))
async def ask(item: ff.ItemWork) -> str:
    """Ask one question for each review."""
    return (await item.ask(f"Is this friendly? {item.input}")).text


@reports.each(retry=ff.Retry(limit=0))
async def summarise(item: ff.ItemWork) -> str:
    """Ask one question for each report."""
    return (await item.ask(f"Summarise: {item.input}")).text


@reviews.estimate
def expected_calls(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
    """One call for each review."""
    return [ff.ExpectedCall(input_tokens=500, output_tokens=500, count=len(work.items or ()))]


KNOWN = (reviews, reports)


@pytest.fixture
def tasks(here: Installation, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A task that has used up its budget, one that has done its sample, and one whose questions wait in a batch."""
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_REQUESTS_PER_MINUTE", "600")
    ai.answer(Reply(text="yes", input_tokens=500, output_tokens=500))
    submit = here.client.submit
    made = {
        "budget": submit(
            reviews, items=[f"the tea was {n}" for n in range(12)], budget=4.5, title="reviews of the tea house"
        ),
        "sampled": submit(
            reports, items=[f"report {n}" for n in range(40)], sample=3, title="annual reports 1985 to 2025"
        ),
    }
    work(here)
    made["batched"] = submit(reports, items=["a", "b", "c"], options={"lane": "batch"}, title="letters, at half price")
    work(here)
    return {name: task.id for name, task in made.items()}


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_the_pages_about_money_fit_every_screen(
    browser: Browser, here: Installation, tasks: dict[str, str], language: str, theme: Any
) -> None:
    paths = {name: f"/tasks/{id_}" for name, id_ in tasks.items()}
    paths |= {"costs": "/costs", "costs-by-day": "/costs?by=day", "limits": "/workers", "new": "/?new=true"}
    with served(here) as (address, _), looking(browser, address, language=language) as page:
        page.emulate_media(color_scheme=theme)
        for state, path in paths.items():
            page.goto(path)
            if state == "new":
                estimate(page)
            fits(page, f"money-{state}-{language}-{theme}")


def estimate(page: Page) -> None:
    """Ask for an estimate before the start."""
    page.locator("#pipeline").select_option("reviews")
    page.locator("#provider").select_option("fake")
    page.locator("#values").fill('["the tea was cold", "the tea was hot"]')
    page.locator("#estimate-button").click()
    expect(page.locator("#estimate")).to_contain_text("$2.00")


def test_a_sample_is_started_understood_and_continued_in_the_page(
    browser: Browser, here: Installation, ai: AIServer
) -> None:
    ai.answer(Reply(text="yes", input_tokens=500, output_tokens=500))
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto("/?new=true")
        page.locator("#pipeline").select_option("reports")
        page.locator("#provider").select_option("fake")
        page.locator("#values").fill('["a", "b", "c", "d", "e", "f"]')
        page.locator("#sample").fill("2")
        page.locator("#start").click()
        until(lambda: len(here.client.list()) == 1, page)
        work(here)
        [task] = here.client.list()
        page.goto(f"/tasks/{task.id}")
        expect(page.locator("#sampled")).to_contain_text("about $6.00")
        page.locator("#sampled button").click()
        expect(page.locator("#sampled")).to_have_count(0)
        work(here)
        assert here.client.get(task.id).state == "completed"
    assert len(ai.paid) == 6


def test_a_used_up_budget_is_raised_in_the_page(browser: Browser, here: Installation, tasks: dict[str, str]) -> None:
    with served(here) as (address, _), looking(browser, address) as page:
        page.goto(f"/tasks/{tasks['budget']}")
        expect(page.locator("#budget")).to_contain_text("$4.00 of $4.50")
        expect(page.locator("#budget")).to_contain_text("about $12.00 at the end")
        expect(page.locator("#budget-by")).to_have_value("7.50")
        expect(page.locator(".primary:visible")).to_have_text(["raise the budget"])
        page.locator("#budget-by").fill("20")
        page.locator("#budget button").click()
        expect(page.locator("#budget")).to_contain_text("$4.00 of $24.50")
        work(here)
        expect(page.locator("#budget")).to_contain_text("$12.00 of $24.50")


def until(condition: Callable[[], bool], page: Page) -> None:
    """Wait while the page works."""
    with ThreadPoolExecutor(1) as pool:
        while not pool.submit(condition).result():
            page.wait_for_timeout(100)
