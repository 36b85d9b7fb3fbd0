"""The cost of a task is estimated over HTTP and in the page before it starts."""

import json

import pytest

import fanfold as ff
from tests.ai_protocol import Reply
from tests.ai_server import AIServer
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.test_honest import HTML, page


async def ask(item: ff.ItemWork) -> str:
    """What most handlers do."""
    return (await item.ask(str(item.input))).text


@pytest.fixture
def asker(installation: Installation, ai: AIServer) -> Asker:
    """A server with a pipeline that declares its calls: one for each item, and one for each byte of its files."""
    pipeline = batch("declared", handler=ask)

    @pipeline.estimate
    def expected(work: ff.EstimateWork) -> list[ff.ExpectedCall]:
        count = len(work.items or ()) + sum(file.stat().st_size for file in work.files)
        return [ff.ExpectedCall(input_tokens=500, output_tokens=500, count=count)]

    installation.know(pipeline, batch("silent", handler=ask))
    return Asker(installation)


def test_the_api_estimates_what_would_be_submitted(asker: Asker, installation: Installation) -> None:
    made = asker.post("/estimate", {"pipeline": "declared", "items": [1, 2, 3]})
    assert [lane["expected"] for lane in made["lanes"]] == [3.0, None]
    assert (made["model"], made["calls"], made["sentence"]["code"]) == ("fake:fake-large", 3, "estimate_declared")
    fields = {"pipeline": "declared", "items": "[1]"}
    sent = asker.ask("POST", "/estimate", data=fields, files={"file": ("four.txt", b"four")})
    assert (sent.status_code, sent.json()["calls"]) == (200, 5)
    unknown = asker.post("/estimate", {"pipeline": "silent", "items": [1]})
    assert (unknown["lanes"][0]["expected"], unknown["sentence"]["code"]) == (None, "estimate_unknown")
    assert "--sample" not in unknown["why"], "there is no terminal here"
    assert asker.ask("POST", "/estimate", json={"pipeline": "nosuch"}).status_code == 404
    assert installation.client.list() == [], "nothing was submitted"


def test_the_page_offers_an_estimate_before_the_start(asker: Asker, installation: Installation) -> None:
    assert 'id="estimate-button"' in page(asker, "/?new=true")
    fields = {"pipeline": "declared", "items": json.dumps([1, 2])}
    shown = asker.ask("POST", "//estimate", data=fields, files={"file": ("a.txt", b"a")}, headers=HTML)
    assert shown.status_code == 200
    assert "about $3.00" in shown.text
    assert "($1.50 to $6.00)" in shown.text
    zh = {**HTML, "accept-language": "zh"}
    chinese = asker.ask("POST", "//estimate", data=fields, files={"file": ("a.txt", b"a")}, headers=zh)
    assert "约 $3.00" in chinese.text
    viewer = {"authorization": f"Bearer {token(installation, 'eve', 'viewer', '*')}"}
    assert asker.ask("POST", "/estimate", json=fields, headers=viewer).status_code == 403


def test_the_api_takes_a_sample_and_tells_what_the_whole_task_costs(
    asker: Asker, installation: Installation, ai: AIServer
) -> None:
    ai.answer(Reply(text="yes", input_tokens=500, output_tokens=500))
    task = asker.post("/tasks", {"pipeline": "silent", "items": list(range(8)), "sample": 2}, status=201)
    installation.work()
    paused = asker.get(f"/tasks/{task['id']}")
    assert (paused["state"], paused["done"], len(ai.paid)) == ("paused", 2, 2)
    made = asker.get(f"/tasks/{task['id']}/estimate")
    assert (made["sampled"], made["items"], made["spent"]) == (2, 8, 2.0)
    assert made["lanes"][0]["expected"] == 8.0
    shown = page(asker, f"/tasks/{task['id']}")
    assert "about $8.00" in shown
    assert "do the rest" in shown
    assert asker.ask("POST", f"//tasks/{task['id']}/resume", headers=HTML).status_code == 303
    installation.work()
    assert asker.get(f"/tasks/{task['id']}")["state"] == "completed"
    assert "do the rest" not in page(asker, f"/tasks/{task['id']}")


def test_the_form_takes_a_sample(asker: Asker, installation: Installation) -> None:
    fields = {"pipeline": "silent", "values": "[1, 2, 3]", "sample": "2"}
    assert asker.ask("POST", "//submit", data=fields, headers=HTML).status_code == 303
    [task] = installation.client.list()
    assert installation.client.lookup.row(task.id).sample == 2
    for wrong in ("-1", "many", "1.5"):
        refused = asker.ask("POST", "//submit", data=fields | {"sample": wrong}, headers=HTML)
        assert refused.status_code in (400, 422), wrong
    assert len(installation.client.list()) == 1
