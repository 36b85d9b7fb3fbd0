"""The idempotency key is the same for every attempt, and a new one for work that is redone on purpose."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.model.values.idempotency import job_key
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
    assert paid.work() == ["a/x/g0.1"] * 2, "the same options again are the same work"


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


@pytest.mark.parametrize("redone", ["1212", "2121", "1122"])
def test_what_a_split_makes_anew_never_has_a_key_that_was_used_before(installation: Installation, redone: str) -> None:
    """Three phases; items of the first and the second are redone with other options, in turn."""
    keys: list[str] = []

    def note(work: Any) -> None:
        assert work.idempotency_key not in keys, f"{work.idempotency_key} was used for other work"
        keys.append(work.idempotency_key)

    def call(item: Any) -> str:
        note(item)
        return f"{item.input}{item.options.get('with', '')}"

    def bind(task: Any, results: Any) -> list[str]:
        note(task)
        return [result.output for result in results]

    def cut(task: Any) -> Any:
        note(task)
        return [ff.NewItem(f"q{number}", value) for number, value in enumerate(task.previous or ["x", "y"])]

    def publish(task: Any) -> Any:
        note(task)
        return task.previous

    made = installation.know(ff.Pipeline("phases"))
    for phase in "123":
        made.split(name=f"cut{phase}")(cut)
        made.each(name=f"call{phase}")(call)
        made.merge(name=f"bind{phase}")(bind)
    made.step(name="publish")(publish)
    task = installation.client.submit(made)
    installation.work()
    for number, phase in enumerate(redone):
        installation.client.retry(task.id, ["q0"], stage=f"call{phase}", options={"with": str(number)})
        installation.work()
    assert installation.client.get(task.id).state == "completed"
    first = {key.removeprefix(f"{task.id}/") for key in keys[:13]}
    assert {"cut1/1", "call1/q0", "call2/q1", "call3/q0", "bind3/1", "publish/1"} <= first


def test_items_whose_names_look_like_parts_of_a_key_have_keys_of_their_own(installation: Installation) -> None:
    keys: list[str] = []
    made = installation.know(ff.Pipeline("names"))
    made.each(name="call")(lambda item: keys.append(item.idempotency_key))
    names = ["a", "a/g0.1", "a/thumb", "a~2", "a%2Fthumb", "a%7E2"]
    task = installation.client.submit(made, items=[ff.NewItem(name, 1) for name in names])
    installation.work()
    installation.client.retry(task.id, ["a"])
    installation.work()
    keys += [job_key(f"{task.id}/call/a", name, number) for name, number in (("thumb", 1), ("job", 2), ("g0.1", 1))]
    assert len(set(keys)) == len(keys) == 10


def test_a_redo_of_a_good_result_leaves_the_options_of_people_alone(installation: Installation) -> None:
    seen: list[dict[str, Any]] = []
    made = installation.know(ff.Pipeline("options"))
    made.each(name="call")(lambda item: seen.append(item.options))
    task = installation.client.submit(made, items=[1], options={"fresh": False, "quality": 3})
    installation.work()
    installation.client.retry(task.id, ["1"])
    installation.work()
    assert seen == [{"fresh": False, "quality": 3}] * 2
    assert installation.client.item(task.id, "1").options == {}
