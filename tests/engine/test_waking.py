"""A service wakes the item that waits for its job. It is a hint: nothing of the message is trusted."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.steering.wake import wake
from tests.engine.pipelines import one_step
from tests.installation import HandClock, Installation


def photo(installation: Installation, seen: dict[str, Any]) -> ff.Pipeline:
    """A step with an external job that is done once the test says so."""

    async def handler(task: Any) -> Any:
        def start(key: str, url: str | None) -> str:
            seen["url"] = url
            return f"job of {key}"

        def look(job: str) -> Any:
            seen["looks"] = seen.get("looks", 0) + 1
            return "picture" if seen.get("done") else ff.later(600)

        return await task.external(start=start, look=look, wake=True)

    return installation.know(one_step(handler, "photo"))


@pytest.fixture
def reachable(database_url: str, tmp_path: Any, clock: HandClock) -> Any:
    made = Installation(database_url, tmp_path / "data", clock, public_url="https://fanfold.example.com/")
    yield made
    made.store.close()


def test_a_wake_up_makes_the_item_due_now_and_three_are_one_look(reachable: Installation) -> None:
    seen: dict[str, Any] = {}
    task = reachable.client.submit(photo(reachable, seen))
    reachable.work()
    assert seen["url"].startswith("https://fanfold.example.com/api/v1/wake/")
    token = seen["url"].rpartition("/")[2]
    assert seen["looks"] == 1
    assert [wake(reachable.store, token) for _ in range(3)] == [True, False, False]
    reachable.work()
    assert seen["looks"] == 2
    seen["done"] = True
    assert wake(reachable.store, token)
    reachable.work()
    assert reachable.client.result(task.id) == "picture"
    assert not wake(reachable.store, token)


def test_a_token_is_not_in_the_database_and_a_wrong_one_wakes_nothing(reachable: Installation) -> None:
    seen: dict[str, Any] = {}
    reachable.client.submit(photo(reachable, seen))
    reachable.work()
    token = seen["url"].rpartition("/")[2]
    assert token not in repr(reachable.rows())
    with pytest.raises(ff.NotFound):
        wake(reachable.store, "x" * 500)
    [(stored,)] = reachable.sql("SELECT wake FROM externals")
    with pytest.raises(ff.NotFound):
        wake(reachable.store, stored)


def test_a_paused_task_and_an_item_that_waits_for_a_person_stay_as_they_are(reachable: Installation) -> None:
    seen: dict[str, Any] = {}
    task = reachable.client.submit(photo(reachable, seen))
    reachable.work()
    token = seen["url"].rpartition("/")[2]
    reachable.client.pause(task.id)
    wake(reachable.store, token)
    reachable.work()
    assert seen["looks"] == 1
    reachable.client.resume(task.id)
    reachable.sql("UPDATE items SET state = 'running', worker = 'x', available_at = NULL")
    assert not wake(reachable.store, token)


def test_without_a_public_address_there_is_no_url(installation: Installation) -> None:
    seen: dict[str, Any] = {}
    installation.client.submit(photo(installation, seen))
    installation.work()
    assert seen["url"] is None
