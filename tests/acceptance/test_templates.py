"""Templates in a real browser: written, refused with every mistake, changed, and used to start a task."""

import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.browser import DESKTOP, PHONE, looking, save
from tests.acceptance.test_browsing import FAINT
from tests.acceptance.test_honest import AUDIT
from tests.engine.with_templates import survey
from tests.installation import Installation
from tests.server.asking import served

KNOWN = (survey,)
REFUSED = "422"
"""The browser writes into its console that the server has refused the form."""


def test_a_person_writes_a_template_and_starts_a_task_with_it(browser: Browser, here: Installation) -> None:
    with served(here) as (address, _), looking(browser, address, complaints=(REFUSED,)) as page:
        page.goto("/")
        page.get_by_role("link", name="Templates").click()
        page.get_by_role("link", name="New template: Fields").click()
        page.get_by_label("Name").fill("people")
        page.get_by_label("Content").fill('{"age": 1, "size": 2}')
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("The field size has no question.")
        expect(page.get_by_label("Content")).to_have_value('{"age": 1, "size": 2}')
        page.get_by_label("Content").fill('{"age": "How old?"}')
        page.get_by_role("button", name="Save").click()
        page.get_by_role("link", name="Start a task with it: Survey").click()
        expect(page.locator("#pipeline")).to_have_value("survey")
        expect(page.locator('[name="option:survey:fields"]')).to_have_value("people@1")
        page.get_by_label("Items or inputs, as JSON").fill('["ann"]')
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#uploads, #task-title").first).to_be_attached()
        page.wait_for_function("fetch('/api/v1/tasks').then(a => a.json()).then(found => found.tasks.length === 1)")
        page.goto("/templates/one?kind=fields&name=people")
        expect(page.get_by_role("region", name="Tasks that used it").get_by_role("link")).to_have_count(1)
    [task] = here.client.list()
    assert task.options["fields"] == '{"age":"How old?"}'


@pytest.mark.parametrize(("scheme", "size", "name"), [("light", DESKTOP, "desktop"), ("dark", PHONE, "phone")])
def test_the_pages_of_templates_can_be_read_and_used_by_everybody(
    browser: Browser, here: Installation, scheme: str, size: object, name: str
) -> None:
    here.client.templates.save("fields", "people", {"age": "How old?"}, note="the beginning")
    here.client.submit(survey, items=["ann"], options={"fields": "people"}, title="A survey")
    with served(here) as (address, _), looking(browser, address, size=size) as page:  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for path in ("/templates", "/templates/one?kind=fields&name=people"):
            page.goto(path)
            expect(page.locator("html.scripted")).to_be_attached()
            save(page, f"templates-{name}-{scheme}{'-one' if 'one' in path else ''}")
            assert page.evaluate(AUDIT) == []
            assert page.evaluate(FAINT) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
