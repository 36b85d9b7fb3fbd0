"""Is the idempotency key the same for every attempt, and another one for work that is redone on purpose?"""

from typing import Any

import pytest

import fanfold as ff
from tests.engine.pipelines import book
from tests.installation import HandClock, Installation


class Paid:
    """Split, two stages of items and a merge; every call notes its idempotency key."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.keys: list[str] = []
        self.broken: set[str] = set()
        made = ff.Pipeline("paid")
        made.split(name="cut")(lambda task: [ff.NewItem("x", "x"), ff.NewItem("y", "y")])
        made.each(name="a", retry=ff.Retry(limit=1, first=0))(self.call)
        made.each(name="b", retry=ff.Retry(limit=0))(self.call)
        made.merge(name="bind")(self.bind)
        installation.know(made)
        self.task = installation.client.submit(made)

    def call(self, item: Any) -> str:
        self.keys.append(item.idempotency_key.removeprefix(f"{item.task_id}/"))
        if item.key in self.broken:
            raise RuntimeError("broken")
        return f"{item.input}{item.options.get('with', '')}"

    def bind(self, task: Any, results: Any) -> list[str]:
        self.keys.append(task.idempotency_key.removeprefix(f"{task.task_id}/"))
        return [result.output for result in results]

    def work(self) -> list[str]:
        """The keys used until nothing is due."""
        self.keys = []
        self.installation.work()
        return sorted(self.keys)


@pytest.fixture
def paid(installation: Installation) -> Paid:
    return Paid(installation)


def test_all_attempts_share_the_plain_key(paid: Paid) -> None:
    paid.broken = {"x"}
    assert paid.work() == ["a/x", "a/x", "a/y"]


def test_a_plain_retry_of_a_failure_keeps_the_key(paid: Paid) -> None:
    paid.broken = {"x"}
    paid.work()
    paid.broken = set()
    paid.installation.client.retry(paid.task.id)
    assert paid.work() == ["a/x", "b/x", "b/y", "bind/1"]


def test_a_redo_of_a_result_has_a_new_key_and_so_has_what_follows_from_it(paid: Paid, clock: HandClock) -> None:
    paid.work()
    clock.advance(1)
    paid.installation.client.retry(paid.task.id, ["x"], stage="a")
    assert paid.work() == ["a/x/g0.1", "b/x/g0.1", "bind/1/g0.1"]
    clock.advance(1)
    paid.installation.client.retry(paid.task.id, ["x"], stage="b")
    assert paid.work() == ["b/x/g0.2", "bind/1/g0.2"]


def test_a_failure_that_is_retried_with_other_options_has_a_new_key(paid: Paid) -> None:
    paid.broken = {"x"}
    paid.work()
    paid.installation.client.retry(paid.task.id, options={"with": "!"})
    assert paid.work() == ["a/x/g0.1"] * 2
    paid.installation.client.retry(paid.task.id, options={"with": "!"})
    assert paid.work() == ["a/x/g0.1"] * 2, "the same options again are no other work"


def test_options_for_what_was_never_begun_need_no_new_key(installation: Installation) -> None:
    pipeline = installation.know(book())
    task = installation.client.submit(pipeline, options={"texts": ["a", "b"]})
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    installation.client.retry(task.id, ["p1"], options={"instead": "z"})
    assert [(one.key, one.generation) for one in worker.claim()] == [("p1", 0), ("p2", 0)]


def test_a_rerun_has_new_keys_for_everything(paid: Paid) -> None:
    paid.work()
    paid.installation.client.rerun(paid.task.id)
    assert paid.work() == [f"{key}/g1.0" for key in ("a/x", "a/y", "b/x", "b/y", "bind/1")]
