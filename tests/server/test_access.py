"""Everyone can reach their own tasks and nothing else: tokens, roles and owners, on every route."""

from collections.abc import Iterator
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine import tokens
from fanfold.engine.client import Client
from fanfold.model.task import Task
from fanfold.server import app
from fanfold.server.api import operating
from fanfold.server.app import API
from fanfold.server.requests.authentication import COOKIE
from fanfold.server.web import pages
from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker, token

pytestmark = pytest.mark.one_database

ROUTES = "?key=1&position=0&name=markdown"


class Street:
    """A server that demands tokens, with a task of Ann's, and people who ask it."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.asker = Asker(installation, demands_token=True)
        self.ann = Client(store=installation.store, owner="ann", pipelines=installation.pipelines)
        self.task = self.ann.submit(words, items=["one", "bad"], title="the secret of Ann", tags=["private"])
        installation.work()
        self.secrets = {
            "ann": token(installation, "ann"),
            "bob": token(installation, "bob"),
            "eve": token(installation, "eve", "viewer", "ann"),
            "root": token(installation, "root", "admin"),
            "eye": token(installation, "eye", "viewer", "*"),
        }

    def ask(self, who: str, method: str, path: str, **rest: Any) -> Any:
        """One request with a token."""
        given = {"authorization": f"Bearer {self.secrets[who]}", **rest.pop("headers", {})}
        return self.asker.ask(method, path, headers=given, **rest)

    def now(self) -> Task:
        """Ann's task as it is."""
        return self.ann.get(self.task.id)


@pytest.fixture
def street(installation: Installation) -> Iterator[Street]:
    made = Street(installation)
    with made.asker.client:
        yield made


def every_route() -> list[tuple[str, str]]:
    """(method, path) of all routes of the server."""
    found = [(API + route.path, route) for module in app.MODULES for route in flat(module.router)]
    found += [(route.path, route) for router in (operating.plain, pages.router) for route in flat(router)]
    return [(method, path) for path, route in found for method in sorted(route.methods - {"HEAD", "OPTIONS"})]


def flat(router: Any) -> Iterator[Any]:
    """The routes of a router and of the routers in it."""
    for route in router.routes:
        if inner := getattr(route, "original_router", None):
            yield from flat(inner)
        else:
            yield route


def about_a_task() -> list[tuple[str, str]]:
    found = [(method, path) for method, path in every_route() if "{task_id}" in path]
    assert len(found) > 30
    return found


def filled(street: Street, path: str) -> str:
    """A path with the task's id, and something for every other gap."""
    for name, value in (("{task_id}", street.task.id), ("{command}", "cancel"), ("{name}", "x"), ("{code}", "en")):
        path = path.replace(name, value)
    return f"/{path}{ROUTES}"


def test_no_route_shows_or_touches_the_task_of_another_owner(street: Street) -> None:
    before = street.installation.rows("tokens", "workers")
    for method, path in about_a_task():
        answer = street.ask(
            "bob", method, filled(street, path), data={"command": "cancel"} if method == "POST" else None
        )
        # Before it looks for the task, this route asks for a role that no owner has.
        refused = (403,) if path == f"{API}/tasks/{{task_id}}/refund" else (404, 405, 422)
        assert answer.status_code in refused, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        assert "secret of Ann" not in answer.text
    assert street.installation.rows("tokens", "workers") == before


def test_no_route_but_login_and_health_answers_without_a_token(street: Street) -> None:
    open_to_all = ("/login", "/health", "/language/{code}", "/logout", "/api/v1/wake/{token}")
    for method, path in every_route():
        if path in open_to_all or "{path" in path:
            continue
        answer = street.asker.ask(method, filled(street, path))
        assert answer.status_code == 401, f"{method} {path}: {answer.status_code}"
        assert answer.json()["code"] == "unauthorized"
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_viewer_looks_and_changes_nothing(street: Street) -> None:
    before = street.installation.rows("tokens", "workers")
    assert street.ask("eve", "GET", f"/tasks/{street.task.id}").json()["title"] == "the secret of Ann"
    for method, path in every_route():
        if method == "GET" or path in ("/login", "/logout", "/language/{code}"):
            continue
        answer = street.ask("eve", method, filled(street, path), json={"pipeline": "words", "command": "pause"})
        assert answer.status_code in (403, 404, 405, 415, 422), f"{method} {path}: {answer.status_code}"
    assert street.installation.rows("tokens", "workers") == before


def test_lists_counts_labels_and_bulk_commands_are_those_of_the_owner(street: Street) -> None:
    assert street.ask("bob", "GET", "/tasks").json()["tasks"] == []
    assert street.ask("bob", "GET", "/tasks?owner=ann").json()["tasks"] == []
    assert street.ask("bob", "GET", "/counts").json() == {}
    assert street.ask("bob", "GET", "/labels").json() == {"tags": [], "owners": ["bob"]}
    wish = {"command": "delete", "states": ["partial", "failed", "completed"]}
    assert street.ask("bob", "POST", "/tasks/commands", json=wish).json()["done"] == []
    answer = street.ask("bob", "POST", "/tasks/commands", json={"command": "delete", "tasks": [street.task.id]})
    assert (answer.status_code, answer.json()["done"]) == (200, [])
    assert [refused["id"] for refused in answer.json()["refused"]] == [street.task.id]
    assert "secret of Ann" not in answer.text
    assert [task["id"] for task in street.ask("ann", "GET", "/tasks").json()["tasks"]] == [street.task.id]
    assert [task["id"] for task in street.ask("root", "GET", "/tasks?owner=ann").json()["tasks"]] == [street.task.id]
    assert street.now().state == "partial"


def test_a_member_submits_tasks_of_its_own_owner_only(street: Street) -> None:
    mine = street.ask("bob", "POST", "/tasks", json={"pipeline": "words", "items": ["x"], "key": "k"}).json()
    assert mine["owner"] == "bob"
    answer = street.ask("bob", "POST", "/tasks", json={"pipeline": "words", "items": ["x"], "owner": "ann"})
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    hers = street.ask("ann", "POST", "/tasks", json={"pipeline": "words", "items": ["x"], "key": "k"})
    assert hers.status_code == 201
    assert hers.json()["id"] != mine["id"]
    for_ann = street.ask("root", "POST", "/tasks", json={"pipeline": "words", "items": ["x"], "owner": "ann"})
    assert for_ann.json()["owner"] == "ann"


@pytest.mark.parametrize("path", ["/workers", "/metrics", "/doctor", "//metrics"])
def test_figures_of_all_owners_are_for_those_who_see_all(street: Street, path: str) -> None:
    assert street.ask("ann", "GET", path).status_code == 403
    assert street.ask("eye", "GET", path).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/tokens"), ("POST", "/tokens"), ("DELETE", "/tokens/ann"), ("POST", "/prune"), ("POST", "/tick")],
)
def test_only_an_admin_manages_the_installation(street: Street, method: str, path: str) -> None:
    for who in ("ann", "eve", "eye"):
        assert street.ask(who, method, path, json={"name": "new"}).status_code == 403
    assert street.ask("root", method, path, json={"name": "new", "days": 1, "seconds": 1}).status_code in (
        200,
        201,
        204,
        422,
    )


def test_a_timer_starts_ticks_and_nothing_else(street: Street) -> None:
    headers = {"authorization": f"Bearer {tokens.create(street.installation.store, 'cron', role='timer').secret}"}
    ticked = street.asker.ask("POST", "/tick", json={"seconds": 20, "tasks_per_stage": 1}, headers=headers)
    assert ticked.status_code == 200
    assert {"advanced", "waiting", "next_due_seconds"} <= ticked.json().keys()
    for method, path in (
        ("GET", "/tasks"), ("POST", "/tasks"), ("GET", "/workers"), ("GET", "/tokens"), ("POST", "/prune"),
        ("POST", f"/tasks/{street.task.id}/cancel"), ("GET", "/credits"),
    ):  # fmt: skip
        assert street.asker.ask(method, path, json={}, headers=headers).status_code == 403, path
    with pytest.raises(ff.BadInput, match="has no owner"):
        tokens.create(street.installation.store, "other", role="timer", owner="ann")


def test_commands_carry_the_name_of_the_token(street: Street) -> None:
    street.ask("ann", "POST", f"/tasks/{street.task.id}/merge")
    merged = [event for event in street.ann.events(street.task.id) if event.verb == "merge"]
    assert [event.actor for event in merged] == ["ann"]


@pytest.mark.parametrize(
    "secret", ["", "ffk_", "ffk_" + "x" * 43, "Bearer", "x" * 10_000, "ffk_' OR 1=1 --", "ffk_\udcff"]
)
def test_a_token_that_is_none_opens_nothing(street: Street, secret: str) -> None:
    given = {"authorization": f"Bearer {secret}".encode("utf-8", "surrogateescape")}
    assert street.asker.ask("GET", "/tasks", headers=given).status_code == 401


def test_a_revoked_and_an_expired_token_open_nothing(street: Street) -> None:
    tokens.revoke(street.installation.store, "ann")
    assert street.ask("ann", "GET", "/tasks").status_code == 401
    street.installation.sql("UPDATE tokens SET expires_at = created_at WHERE name = 'bob'")
    assert street.ask("bob", "GET", "/tasks").status_code == 401


def test_a_token_is_kept_as_a_hash_and_shown_once(street: Street) -> None:
    kept = repr(street.installation.rows())
    listed = street.ask("root", "GET", "/tokens").text
    for secret in street.secrets.values():
        assert secret not in kept
        assert secret not in listed
    assert tokens.hashed(street.secrets["ann"]) in kept
    assert tokens.hashed(street.secrets["ann"]) not in listed


def test_the_cookie_of_the_page_is_as_good_as_the_header(street: Street) -> None:
    street.asker.client.cookies.set(COOKIE, street.secrets["ann"])
    assert street.asker.get(f"/tasks/{street.task.id}")["owner"] == "ann"


def test_on_a_loopback_address_nobody_needs_a_token_but_a_wrong_one_is_refused(installation: Installation) -> None:
    asker = Asker(installation)
    with asker.client:
        assert asker.get("/me") == {"name": "person", "owner": None, "role": "admin"}
        secret = token(installation, "ann")
        assert asker.get("/me", headers={"authorization": f"Bearer {secret}"})["owner"] == "ann"
        wrong = asker.ask("GET", "/me", headers={"authorization": "Bearer ffk_wrong"})
        assert wrong.status_code == 401
