"""Costs are shown over HTTP and in the page, to each owner only their own."""

import pytest

from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.test_honest import HTML, page


@pytest.fixture
def spent(installation: Installation) -> str:
    """A task that has paid for something today."""
    task = installation.client.submit(installation.pipelines[0], items=["a"], owner="ann")
    [claimed] = installation.worker("w").claim(1)
    known = {"item": claimed.id, "lease": 1, "provider": "fake", "model": "large", "outcome": "taken", "seconds": 1.0}
    with installation.store.write() as tx:
        tx.calls.add([known | {"cost": 0.41, "input_tokens": 1_000, "purpose": "fallback"}])
    return task.id


def test_the_api_tells_the_books(asker: Asker, installation: Installation, spent: str) -> None:
    found = asker.get("/costs", params={"by": "model"})
    assert (found["by"], found["total"]["cost"]) == ("model", 0.41)
    assert [(row["name"], row["fallbacks"]) for row in found["rows"]] == [("fake:large", 0.41)]
    assert asker.get("/costs", params={"since": "2999-01-01"})["rows"] == []
    assert asker.ask("GET", "/costs", params={"by": "colour"}).status_code == 422
    other = {"authorization": f"Bearer {token(installation, 'bob')}"}
    assert asker.ask("GET", "/costs", headers=other).json()["rows"] == [], "others' books are not his to see"


def test_the_page_shows_the_books_and_a_chart(asker: Asker, spent: str) -> None:
    shown = page(asker, "/costs")
    assert spent in shown
    assert "$0.41" in shown
    assert shown.count('class="chart-bar"') == 30
    assert "fake:large" in page(asker, "/costs?by=model")
    assert "Nothing was spent yet." in page(asker, "/costs?since=2999-01-01")
    chinese = asker.ask("GET", "//costs", headers={**HTML, "accept-language": "zh"}).text
    assert "按任务汇总的费用" in chinese
