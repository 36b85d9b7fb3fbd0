"""Screenshots of what is not plain success, in both languages and themes, for desktop and phone; nothing may overflow."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import fanfold as ff
from fanfold.store.store import Store
from tests.acceptance.browser import away, fits, looking, work
from tests.acceptance.test_honest import letters
from tests.engine.jobs import JobService, raising
from tests.engine.sealed import seal, sealed
from tests.installation import Installation
from tests.server.asking import served

asked = ff.Pipeline("asked", unit=("page", "pages"))


@asked.each(retry=ff.Retry(limit=3))
def ask(item: ff.ItemWork) -> str:
    """Waits for a service, or for a person."""
    if item.input == "held":
        raise ff.HoldItem("the invoice names two amounts: which one is right?")
    raise ff.Temporary(f"{item.input} by openai", code=str(item.input), by="openai", after=40.0, counts=False)


mirrored = ff.Pipeline("mirrored")


@mirrored.each
def plain(item: ff.ItemWork) -> str:
    """Does nothing."""
    return str(item.input)


@mirrored.on_move
def refuse(connection: Any, change: ff.Change) -> None:
    """Writing the user's own record fails when the task ends."""
    if change.verb == "advance":
        raise RuntimeError("the table orders of the shop has no row 4711")


KNOWN = (letters, sealed, asked, mirrored)


@pytest.fixture
def states(here: Installation, tmp_path: Path) -> dict[str, str]:
    """Tasks in every state that a person should understand at a glance, by name."""
    submit = here.client.submit
    tasks = {
        "fallback": submit(letters, items=["clear", "smudged", "clear", "smudged"] * 5, title="letters of the archive"),
        "accepted": submit(letters, items=["clear", "smudged"], title="letters that are good enough"),
        "limited": submit(asked, items=["rate_limited"] * 3, title="annual report 2025, second edition, corrected.pdf"),
        "unreachable": submit(asked, items=["unreachable"] * 2, title="thesis.pdf"),
        "held": submit(asked, items=["held"], title="invoice.pdf"),
        "sealed": submit(sealed, seal(tmp_path / "contract.txt", "secret", "one two"), title="contract.pdf"),
        "moved": submit(mirrored, items=["a", "b"], title="orders"),
    }
    service = JobService()
    service.trouble.append(raising(TimeoutError("no answer")))
    tasks["paid"] = submit(here.know(service.pipeline(find=False)), items=["x"], title="photo, possibly paid")
    work(here)
    here.client.accept(tasks["accepted"].id)
    tasks["unserved"] = submit(letters, items=["clear"] * 3, title="nobody serves this")
    return {name: task.id for name, task in tasks.items()}


@pytest.mark.parametrize(("language", "theme"), [("en-US", "light"), ("zh-CN", "dark")])
def test_honest_states_fit_every_page(
    browser: Browser,
    here: Installation,
    states: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    language: str,
    theme: Any,
) -> None:
    ids = states
    paths = {name: f"/tasks/{id_}" for name, id_ in ids.items()}
    paths |= {"list": "/", "needs": "/?show=needs", "item": f"/tasks/{ids['fallback']}/item?key=2"}
    paths |= {"items": f"/tasks/{ids['accepted']}/items?degraded=true"}
    with served(here) as (address, _), looking(browser, address, language=language, complaints=("503",)) as page:
        page.emulate_media(color_scheme=theme)
        for state, path in paths.items():
            page.goto(path)
            if state == "sealed":
                page.locator("#other-options summary").click()
            fits(page, f"honest-{state}-{language}-{theme}")
        page.goto("/")
        with monkeypatch.context() as broken:
            broken.setattr(Store, "read", away)
            expect(page.locator("#connection")).to_be_visible()
            fits(page, f"honest-lost-{language}-{theme}")
        expect(page.locator("#connection")).to_be_hidden()
