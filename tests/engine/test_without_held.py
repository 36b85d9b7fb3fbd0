"""A task whose items wait for a person can continue without them; the reason is kept."""

from collections import Counter
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.many_items import merge_without_held as merging
from fanfold.engine.tasks.moving.advance import advance
from fanfold.errors import IllegalMove
from tests.engine.test_hold import Puzzled, submit
from tests.installation import Installation


class Chain:
    """Two stages of items and a merge; the items named are held, or fail."""

    def __init__(self, installation: Installation, keys: str = "abcd", **rules: Any) -> None:
        self.installation, self.client = installation, installation.client
        self.calls: Counter[str] = Counter()
        self.unclear: set[str] = set()
        self.broken: set[str] = set()
        made = ff.Pipeline("chain")
        made.each(name="one", retry=ff.Retry(limit=0), **rules)(self.work)
        made.each(name="two", retry=ff.Retry(limit=0))(self.work)
        made.merge(name="bind")(self.bind)
        self.task = self.client.submit(installation.know(made), items=[ff.NewItem(key, key) for key in keys])

    def work(self, item: Any) -> str:
        name = f"{item._claimed.stage}/{item.key}"
        self.calls[name] += 1
        if name in self.unclear:
            raise ff.HoldItem(f"is {name} paid already?")
        if name in self.broken:
            raise ff.Permanent("broken")
        return f"{item.input}+"

    def bind(self, _task: Any, results: Any) -> Any:
        return [result.output for result in results]

    def run(self) -> tuple[str, str, int, int]:
        self.installation.work()
        now = self.client.get(self.task.id)
        return now.state, now.stage, now.held, now.missing

    def merge(self) -> tuple[str, str, int, int]:
        self.client.merge(self.task.id)
        return self.run()

    def gaps(self) -> list[tuple[str, str | None]]:
        return [(gap.key, gap.error_message) for gap in self.client.missing(self.task.id)]


def test_merge_goes_on_without_what_is_held_and_keeps_the_reason(installation: Installation) -> None:
    puzzled = Puzzled("b")
    task = submit(installation, puzzled)
    installation.work()
    now = installation.client.get(task.id)
    assert "merge" in now.available_commands
    assert now.wait_reason == (
        "1 item waits for you: is b paid already? You can retry it, merge without it or cancel the task"
    )
    installation.client.merge(task.id)
    assert installation.completed(task) == ["a", "c"]
    now = installation.client.get(task.id)
    assert (now.missing, now.held, now.failed) == (1, 0, 1)
    [gap] = installation.client.missing(task.id)
    assert (gap.key, gap.error_message) == ("b", "is b paid already?")
    [item] = [one for one in installation.client.items(task.id) if one.key == "b"]
    assert (item.state, item.held, item.error_code, item.failures) == ("failed", None, "held", 0)
    told = [(event.verb, event.source, event.target, event.reason) for event in installation.client.events(task.id)]
    assert ("fail", "waiting", "failed", "left out of the merge: is b paid already?") in told


def test_what_was_passed_can_still_be_retried(installation: Installation) -> None:
    puzzled = Puzzled("b")
    task = submit(installation, puzzled)
    installation.work()
    installation.client.merge(task.id)
    installation.completed(task)
    puzzled.unclear.clear()
    installation.client.retry(task.id)
    assert installation.completed(task) == ["a", "b", "c"]
    assert installation.client.get(task.id).missing == 0


def test_merge_skips_no_stage_and_passes_what_failed_as_well(installation: Installation) -> None:
    chain = Chain(installation)
    chain.unclear, chain.broken = {"one/b"}, {"one/c"}
    assert chain.run() == ("active", "one", 1, 0)
    assert chain.merge() == ("completed", "bind", 0, 2)
    assert chain.client.result(chain.task.id) == ["a++", "d++"]
    assert chain.gaps() == [("b", "is one/b paid already?"), ("c", "broken")]
    assert max(chain.calls.values()) == 1


def test_merge_passes_only_what_is_held_when_it_is_given(installation: Installation) -> None:
    chain = Chain(installation)
    chain.unclear = {"one/b", "two/c"}
    assert chain.run() == ("active", "one", 1, 0)
    assert chain.merge() == ("active", "two", 1, 1)
    assert chain.merge() == ("completed", "bind", 0, 2)
    assert chain.client.result(chain.task.id) == ["a++", "d++"]


def test_merge_waits_for_what_is_being_worked_on_and_does_not_excuse_it(installation: Installation) -> None:
    chain = Chain(installation)
    chain.unclear, chain.broken = {"one/b"}, {"one/d"}
    worker = installation.worker()
    turn = worker.turn(free=3)
    settled = [worker.call(row, one) for row, one in turn.claimed]
    [a, b, c] = settled
    worker.settle(a, b)
    assert chain.client.get(chain.task.id).held == 1
    chain.client.merge(chain.task.id)
    now = chain.client.get(chain.task.id)
    assert (now.state, now.stage, now.held) == ("active", "one", 0)
    worker.settle(c)
    assert chain.run()[:2] == ("partial", "one"), "d failed later: nobody has passed that"
    assert chain.merge() == ("completed", "bind", 0, 2)


def test_a_stage_that_fails_fast_goes_on_without_what_is_held(installation: Installation) -> None:
    chain = Chain(installation, fail_fast=True)
    chain.unclear = {"one/b"}
    chain.run()
    assert chain.merge() == ("completed", "bind", 0, 1)


def test_many_held_items_are_given_up_in_short_transactions(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "AT_ONCE", 2)
    chain = Chain(installation, "abcdefgh", fail_fast=True)
    chain.unclear = {f"one/{key}" for key in "abcdefg"}
    assert chain.run()[2] == 7
    given_up: list[int] = []
    give_up = merging._give_up

    def counted(*arguments: Any) -> int:
        given_up.append(give_up(*arguments))
        return given_up[-1]

    monkeypatch.setattr(merging, "_give_up", counted)
    assert chain.merge() == ("completed", "bind", 0, 7)
    assert max(given_up) == 2
    assert sum(given_up) == 7
    assert chain.client.result(chain.task.id) == ["h++"]


def test_a_merge_that_died_halfway_is_gone_on_with_by_the_next(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "AT_ONCE", 2)
    chain = Chain(installation, "abcdefgh")
    chain.unclear = {f"one/{key}" for key in "abcdefg"}
    chain.run()
    give_up, left = merging._give_up, [2]

    def dying(*arguments: Any) -> int:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("killed")
        return give_up(*arguments)

    monkeypatch.setattr(merging, "_give_up", dying)
    with pytest.raises(RuntimeError):
        chain.client.merge(chain.task.id)
    assert chain.run() == ("active", "one", 3, 0)
    monkeypatch.setattr(merging, "_give_up", give_up)
    assert chain.merge() == ("completed", "bind", 0, 7)


def test_a_step_that_is_held_cannot_be_merged_without(installation: Installation) -> None:
    made = ff.Pipeline("stepwise")

    @made.step
    def pay(_task: Any) -> None:
        raise ff.HoldItem("paid?")

    made.split(name="cut")(lambda task: [1])
    made.each(name="work")(lambda item: item.input)
    made.merge(name="bind")(lambda task, results: None)
    task = installation.client.submit(installation.know(made))
    installation.work()
    now = installation.client.get(task.id)
    assert "merge" not in now.available_commands
    assert now.wait_reason == "1 item waits for you: paid? You can retry it or cancel the task"
    with pytest.raises(IllegalMove, match="cannot continue without pay"):
        installation.client.merge(task.id)


def test_an_active_task_with_nothing_held_merges_by_itself(installation: Installation) -> None:
    task = submit(installation, Puzzled())
    assert "merge" not in installation.client.get(task.id).available_commands
    with pytest.raises(IllegalMove, match="none of its items waits for a person"):
        installation.client.merge(task.id)


def test_a_held_item_with_an_external_job_of_unknown_outcome_can_be_left_out(installation: Installation) -> None:
    made, calls = ff.Pipeline("abroad"), []

    @made.each
    async def work(item: Any) -> Any:
        def start(key: str) -> str:
            calls.append(key)
            raise ConnectionResetError("cut off while it was sent")

        return await item.external(start=start, look=lambda job: job) if item.key == "b" else item.key

    made.merge(name="bind")(lambda task, results: [result.output for result in results])
    task = installation.client.submit(installation.know(made), items=[ff.NewItem(key) for key in "ab"])
    installation.work()
    now = installation.client.get(task.id)
    assert now.held == 1
    assert "merge without it" in (now.wait_reason or "")
    installation.client.merge(task.id)
    assert installation.completed(task) == ["a"]
    assert len(calls) == 1
    assert installation.client.external_jobs(task.id), "still listed, for who wants to know what became of it"


def test_nothing_that_an_earlier_attempt_has_in_hand_counts_once_a_person_went_on_without_it(
    installation: Installation,
) -> None:
    chain = Chain(installation)
    chain.unclear = {"one/b"}
    chain.run()
    [(item, lease)] = installation.sql("SELECT id, lease FROM items WHERE stage = 'one' AND key = 'b'")
    chain.client.merge(chain.task.id)
    with installation.store.write() as tx:
        assert not tx.settling.remember(item, lease, "{}")


def test_a_worker_that_looks_while_many_are_given_up_does_not_fail_the_task(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "AT_ONCE", 2)
    chain = Chain(installation, "abcdefgh", fail_fast=True)
    chain.unclear = {f"one/{key}" for key in "abcdefg"}
    chain.run()
    give_up = merging.give_up_held

    def looked_at(tx: Any, row: Any, actor: str) -> int:
        if not tx.counting.counts([row.number])[row.number]["one"]["failed"]:
            return give_up(tx, row, actor)
        raise RuntimeError("killed")

    monkeypatch.setattr("fanfold.engine.tasks.steering.commands.give_up_held", looked_at)
    with pytest.raises(RuntimeError):
        chain.client.merge(chain.task.id)
    advance(installation.store, {}, 1, "worker")
    assert chain.run()[:2] == ("active", "one")
