"""The files of one upload become one task if the pipeline makes items of them."""

import pytest

from tests.engine.test_parts_kept import listing
from tests.installation import Installation
from tests.server.asking import Asker

FILES = [("file", ("a.txt", b"one", "text/plain")), ("file", ("b.txt", b"two", "text/plain"))]


@pytest.fixture
def at(asker: Asker, installation: Installation) -> Asker:
    """A server that knows a pipeline which begins with items and takes files."""
    asker.place.pipelines = {"listing": installation.know(listing())}
    return asker


def test_files_sent_over_http_are_one_task_with_an_item_each(at: Asker, installation: Installation) -> None:
    answer = at.ask("POST", "/tasks", data={"pipeline": "listing"}, files=FILES)
    assert answer.status_code == 201, answer.text
    task = answer.json()
    assert task["total"] == 2
    installation.work()
    assert installation.client.result(task["id"]) == ["one", "two"]


def test_the_plain_form_sends_all_files_as_one_task_and_the_page_knows_that_it_may(at: Asker) -> None:
    page = at.ask("GET", "//").text
    assert 'data-together="1"' in page
    headers = {"Origin": "http://127.0.0.1:8700"}
    answer = at.ask("POST", "//submit", data={"pipeline": "listing"}, files=FILES, headers=headers)
    assert answer.status_code == 303
    assert len(at.get("/tasks")["tasks"]) == 1
