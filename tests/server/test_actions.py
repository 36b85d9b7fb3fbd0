"""The actions of an application run over HTTP and from the page, for those who may change things."""

import pytest

import fanfold as ff
from tests.engine.offering import lines
from tests.installation import Installation
from tests.server.asking import Asker, token


@pytest.fixture
def at(asker: Asker, installation: Installation) -> Asker:
    """A server that knows the pipeline."""
    installation.know(lines)
    asker.place.pipelines = {"lines": lines}
    return asker


@pytest.fixture
def task(at: Asker, installation: Installation) -> ff.Task:
    """A completed task."""
    task = installation.client.submit(lines, items=["one"])
    installation.work()
    return installation.client.get(task.id)


def test_actions_are_listed_and_taken(at: Asker, task: ff.Task) -> None:
    names = [one["name"] for one in at.get(f"/tasks/{task.id}/actions")]
    assert names == ["approve", "stumble", "remove"]
    done = at.post(f"/tasks/{task.id}/actions/approve", {"options": {"note": "fine", "times": 2}})
    assert "approved 1 lines 2 times: fine" in done["message"]
    assert done["task"]["id"] == task.id
    [known] = at.get("/pipelines")
    assert known["actions"][0]["options_schema"]["properties"]["times"]["maximum"] == 9


@pytest.mark.parametrize(
    ("name", "options", "status", "code"),
    [
        ("approve", {"times": 10}, 422, "bad_option"),
        ("mend", {}, 409, "illegal_move"),
        ("praise", {}, 404, "no_action"),
        ("stumble", {}, 500, "action_failed"),
    ],
)
def test_what_cannot_be_done_is_a_problem_document(
    at: Asker, task: ff.Task, name: str, options: dict[str, object], status: int, code: str
) -> None:
    answer = at.ask("POST", f"/tasks/{task.id}/actions/{name}", json={"options": options})
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_who_may_only_look_takes_no_action(sqlite_installation: Installation) -> None:
    sqlite_installation.know(lines)
    task = sqlite_installation.client.submit(lines, items=["one"])
    sqlite_installation.work()
    asker = Asker(sqlite_installation, demands_token=True)
    headers = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer')}"}
    with asker.client:
        answer = asker.ask("POST", f"/tasks/{task.id}/actions/approve", json={}, headers=headers)
        assert answer.status_code == 403
        page = asker.ask("GET", f"//tasks/{task.id}", headers=headers).text
        assert "action-approve" not in page
    assert "do" not in [event.verb for event in sqlite_installation.client.events(task.id)]


def test_the_page_offers_an_action_with_real_fields(at: Asker, task: ff.Task, installation: Installation) -> None:
    page = at.ask("GET", f"//tasks/{task.id}").text
    assert 'id="action-approve"' in page
    assert 'id="action-mend"' not in page
    assert 'name="option:times" type="number" value="1" min="1" max="9"' in page
    form = {"option:note": "from the page", "option:times": "1"}
    answer = at.ask("POST", f"//tasks/{task.id}/do/approve", data=form)
    assert answer.status_code == 303
    reasons = [event.reason or "" for event in installation.client.events(task.id) if event.verb == "do"]
    assert len(reasons) == 1
    assert reasons[0].endswith("approved 1 lines 1 times: from the page")
