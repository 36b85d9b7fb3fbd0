"""A budget is set, shown and raised over HTTP and in the page."""

import pytest

from fanfold.model.money.amounts import PARTS
from fanfold.model.text.sentences import say
from fanfold.server.web.frame.languages import Words
from fanfold.store.rows.money.budgets import task_scope
from tests.installation import Installation
from tests.server.asking import Asker, token
from tests.server.test_honest import HTML, page


def spent(installation: Installation, task_id: str, dollars: int) -> None:
    """Have a task spend so much, as calls do."""
    with installation.store.write() as tx:
        scope = task_scope(tx.tasks.resolve(task_id).number)
        tx.budgets.reserve([scope], dollars * PARTS, 60)
        tx.budgets.settle([scope], dollars * PARTS, dollars * PARTS)


def paused(asker: Asker, installation: Installation) -> str:
    """A task that its budget has paused."""
    task = str(asker.post("/tasks", {"pipeline": "words", "items": ["a", "b"], "budget": 2}, status=201)["id"])
    spent(installation, task, 2)
    reason = say("budget_spent", spent="$2.00", cap="$2.00", next="$1.00", task=task)
    installation.client.pause(task, reason)
    return task


def test_the_api_tells_and_raises_a_budget(asker: Asker, installation: Installation) -> None:
    task = paused(asker, installation)
    budget = asker.get(f"/tasks/{task}/budget")
    assert (budget["cap"], budget["spent"], budget["left"], budget["strict"]) == (2.0, 2.0, 0.0, False)
    assert asker.get(f"/tasks/{task}")["sentences"]["wait_reason"]["parameters"]["why"]["code"] == "budget_spent"
    changed = asker.ask("PATCH", f"/tasks/{task}/budget", json={"by": "1.50", "strict": True})
    assert (changed.status_code, changed.json()["state"]) == (200, "active")
    budget = asker.get(f"/tasks/{task}/budget")
    assert (budget["cap"], budget["left"], budget["strict"]) == (3.5, 1.5, True)
    wrong = asker.ask("PATCH", f"/tasks/{task}/budget", json={"by": 1, "to": 2})
    assert wrong.status_code == 422
    assert asker.ask("PATCH", "/tasks/t-none/budget", json={"by": 1}).status_code == 404


def test_the_page_shows_the_budget_and_raises_it(asker: Asker, installation: Installation) -> None:
    task = paused(asker, installation)
    shown = page(asker, f"/tasks/{task}")
    assert "$2.00 of $2.00" in shown
    assert f'action="/tasks/{task}/budget"' in shown
    pressed = asker.ask("POST", f"//tasks/{task}/budget", data={"by": "2"}, headers=HTML)
    assert pressed.status_code == 303
    assert "$2.00 of $4.00" in page(asker, f"/tasks/{task}")
    assert installation.client.get(task).state == "active"


def test_the_page_speaks_chinese_about_it(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = paused(sqlite_asker, sqlite_installation)
    shown = sqlite_asker.ask("GET", f"//tasks/{task}", headers={**HTML, "accept-language": "zh"}).text
    assert "已花费 $2.00，预算 $2.00" in shown
    assert "预算已用完" in shown
    assert Words("zh")("raise the budget") in shown


def test_who_may_only_look_cannot_raise_it(sqlite_asker: Asker, sqlite_installation: Installation) -> None:
    task = paused(sqlite_asker, sqlite_installation)
    viewer = {"authorization": f"Bearer {token(sqlite_installation, 'eve', 'viewer', '*')}"}
    for method, path in (("PATCH", f"/tasks/{task}/budget"), ("POST", f"//tasks/{task}/budget")):
        body = {"json": {"by": 1}} if method == "PATCH" else {"data": {"by": "1"}}
        assert sqlite_asker.ask(method, path, headers=viewer, **body).status_code == 403
    assert sqlite_installation.client.budget(task).cap == 2.0
    assert (
        f'action="/tasks/{task}/budget"' not in sqlite_asker.ask("GET", f"//tasks/{task}", headers=HTML | viewer).text
    )


@pytest.mark.parametrize("budget", ["5.50", 5.5, "$5.50"])
def test_a_form_and_a_document_take_a_budget(
    sqlite_asker: Asker, sqlite_installation: Installation, budget: object
) -> None:
    made = sqlite_asker.post("/tasks", {"pipeline": "words", "items": ["a"], "budget": budget}, status=201)
    assert sqlite_installation.client.budget(made["id"]).cap == 5.5
    fields = {"pipeline": "words", "values": '["a"]', "budget": str(budget)}
    sent = sqlite_asker.ask("POST", "//submit", data=fields, headers=HTML)
    assert sent.status_code == 303
    assert sqlite_installation.client.budget(sent.headers["location"].rpartition("/")[2]).cap == 5.5
    wrong = sqlite_asker.ask("POST", "/tasks", json={"pipeline": "words", "items": ["a"], "budget": "much"})
    assert wrong.status_code == 422
