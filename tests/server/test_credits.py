"""Credits over HTTP and on the page: owners see and spend their own, an admin grants and refunds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import fanfold as ff
from tests.engine.pipelines import batch
from tests.installation import Installation
from tests.server.asking import Asker, token


@pytest.fixture
def shop(database_url: str, tmp_path: Path) -> Iterator[Installation]:
    """A server on which a picture costs 5 credits."""
    made = Installation(database_url, tmp_path / "data", None, credits="on")
    pipeline = batch("pictures", tolerate=9)
    pipeline.price(lambda work: ff.Price(per_item=5))
    made.know(pipeline)
    yield made
    made.store.close()


def headers(shop: Installation, name: str, **more: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token(shop, name, **more)}"}


def test_a_task_is_paid_for_and_without_enough_credits_answered_with_402(shop: Installation) -> None:
    server = Asker(shop)
    admin, ann = headers(shop, "root", role="admin"), headers(shop, "ann")
    with server.client:
        wish = {"pipeline": "pictures", "items": ["a", "bad"]}
        refused = server.ask("POST", "/tasks", json=wish, headers=ann)
        assert refused.status_code == 402
        told = refused.json()
        assert (told["code"], told["balance"], told["price"]) == ("not_enough_credits", 0, 10)
        assert server.ask("GET", "/tasks", headers=ann).json()["tasks"] == []
        order = {"amount": 12, "reason": "bought", "key": "order-17"}
        for _ in range(2):
            granted = server.ask("POST", "/credits/accounts/ann/grant", json=order, headers=admin)
            assert granted.status_code == 201
        quoted = server.ask("POST", "/pipelines/pictures/price", json={"items": ["a", "b"]}, headers=ann).json()
        assert quoted == {"price": 10, "charged": True}
        task = server.ask("POST", "/tasks", json=wish, headers=ann).json()["id"]
        assert server.ask("GET", "/credits/accounts/ann", headers=ann).json()["balance"] == 2
        shop.work()
        refunded = server.ask("POST", f"/tasks/{task}/refund", json={"items": ["1"]}, headers=admin)
        assert refunded.json() == {"refunded": 5}
        found = server.ask("GET", f"/credits/entries?task={task}", headers=ann).json()
        assert sorted((one["kind"], one["item"], one["amount"]) for one in found) == [
            ("charge", "1", -5), ("charge", "2", -5), ("refund", "1", 5), ("refund", "2", 5),
        ]  # fmt: skip
        again = server.ask("POST", f"/tasks/{task}/retry", json={"items": ["1"]}, headers=ann)
        assert again.status_code == 200, again.text


@pytest.mark.one_database
def test_members_cannot_see_or_change_the_credits_of_others(shop: Installation) -> None:
    server = Asker(shop)
    shop.client.credits.grant("bob", 5)
    task = shop.client.submit(shop.pipelines[0], items=["a"], owner="bob")
    ann = headers(shop, "ann")
    with server.client:
        assert server.ask("GET", "/credits", headers=ann).json() == []
        assert server.ask("GET", "/credits/entries", headers=ann).json() == []
        assert server.ask("GET", f"/credits/entries?task={task.id}", headers=ann).json() == []
        for method, path in (
            ("GET", "/credits/accounts/bob"), ("GET", "/credits/entries?owner=bob"),
            ("POST", "/credits/accounts/ann/grant"), ("POST", "/credits/accounts/bob/charge"),
            ("POST", f"/tasks/{task.id}/refund"),
        ):  # fmt: skip
            body = {"amount": 1} if method == "POST" and "accounts" in path else {}
            answer = server.ask(method, path, headers=ann, **({"json": body} if method == "POST" else {}))
            assert answer.status_code == 403, (path, answer.text)


@pytest.mark.one_database
def test_the_page_shows_balances_and_entries_and_grants_once(shop: Installation) -> None:
    server = Asker(shop)
    with server.client:
        page = server.client
        assert "Nobody has credits yet." in page.get("/credits").text
        form = {"owner": "ann", "amount": "20", "reason": "welcome", "key": "page-1"}
        for _ in range(2):
            assert page.post("/credits/grant", data=form).status_code == 303
        assert shop.client.credits.balance("ann") == 20
        shop.client.submit(shop.pipelines[0], items=["bad"], owner="ann")
        shop.work()
        shown = page.get("/credits?owner=ann").text
        assert all(one in shown for one in ("welcome", "+20", "-5", "+5", "not delivered: the task is completed"))
        assert "未交付" in page.get("/credits?lang=zh").text
        wrong = page.post("/credits/grant", data=form | {"amount": "1.5", "key": "page-2"})
        assert wrong.status_code == 422
        assert "whole number" in wrong.text


@pytest.mark.one_database
def test_the_gallery_says_what_a_task_costs_and_what_was_refunded(shop: Installation) -> None:
    made = batch("album", tolerate=9)
    made.view = "images"
    made.price(lambda work: ff.Price(per_item=5))
    shop.know(made)
    shop.client.credits.grant("ann", 10)
    task = shop.client.submit(made, items=["a", "bad"], owner="ann")
    shop.work()
    server = Asker(shop)
    with server.client:
        page = server.client.get(f"/tasks/{task.id}/pictures")
    assert "credits 5 · refunded 5" in " ".join(page.text.split())
