"""Small tasks whose stages end in one turn move with one commit, each by its own results and under its own lock."""

from collections.abc import Callable
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.moving import advance_together
from fanfold.engine.worker.attempt.attempt_result import Settlement
from tests.engine.pipelines import batch
from tests.installation import HandWorker, Installation, number_of

TASKS = 6


class ReadyTasks:
    """Tasks of two items, which are all claimed and called, but not settled."""

    def __init__(self, installation: Installation, **inputs: list[str]) -> None:
        self.installation = installation
        wanted = inputs or {f"task-{number}": ["a", "b"] for number in range(TASKS)}
        pipeline = installation.know(batch())
        submit = installation.client.submit
        self.tasks: dict[str, ff.Task] = {
            name: submit(pipeline, items=texts, title=name) for name, texts in wanted.items()
        }
        self.worker: HandWorker = installation.worker()
        self.settlements: list[Settlement] = [
            self.worker.call(row, one) for row, one in self.worker.turn(free=100).claimed
        ]

    def states(self) -> dict[str, str]:
        return {name: self.installation.client.get(task.id).state for name, task in self.tasks.items()}


class Writes:
    """Counts write transactions, and can do something before one of them."""

    def __init__(self, installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.before: dict[int, Callable[[], None]] = {}
        self._write = installation.store.write
        monkeypatch.setattr(installation.store, "write", self)

    def __call__(self) -> Any:
        self.count += 1
        self.before.pop(self.count, lambda: None)()
        return self._write()


def test_tasks_whose_stages_end_in_one_turn_move_with_one_commit(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = ReadyTasks(installation)
    writes = Writes(installation, monkeypatch)
    turn = ready.worker.settle(*ready.settlements)
    assert set(ready.states().values()) == {"completed"}
    assert writes.count == 2  # The items, and the tasks.
    assert turn.stopped == {number_of(installation, task) for task in ready.tasks.values()}
    assert turn.again


def test_they_move_in_several_transactions_if_they_have_many_items(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(advance_together, "MOST_ITEMS", 4)
    ready = ReadyTasks(installation)
    writes = Writes(installation, monkeypatch)
    ready.worker.settle(*ready.settlements)
    assert set(ready.states().values()) == {"completed"}
    assert writes.count == 1 + TASKS / 2


def test_each_of_them_moves_by_its_own_results(installation: Installation) -> None:
    ready = ReadyTasks(installation, good=["a", "b"], half=["a", "bad"], lost=["bad", "bad"], open=["a", "b"])
    number = number_of(installation, ready.tasks["open"])
    held = next(one for one in ready.settlements if one.claimed.task == number)
    ready.worker.settle(*(one for one in ready.settlements if one is not held))
    assert ready.states() == {"good": "completed", "half": "partial", "lost": "failed", "open": "active"}
    ready.worker.settle(held)
    assert ready.states()["open"] == "completed"


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_a_command_before_the_lock_stops_one_of_them_and_no_other(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    ready = ReadyTasks(installation)
    writes = Writes(installation, monkeypatch)
    writes.before[2] = lambda: getattr(installation.client, command)(ready.tasks["task-2"].id)
    ready.worker.settle(*ready.settlements)
    stopped = {"pause": "paused", "cancel": "cancelled"}[command]
    assert ready.states() == dict.fromkeys(ready.tasks, "completed") | {"task-2": stopped}


def test_one_whose_counts_no_longer_hold_does_not_hold_up_the_others(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = ReadyTasks(installation)
    writes = Writes(installation, monkeypatch)
    task = ready.tasks["task-2"].id

    def stop_and_go_on() -> None:
        installation.client.pause(task)
        installation.client.resume(task)

    writes.before[2] = stop_and_go_on
    ready.worker.settle(*ready.settlements)
    assert set(ready.states().values()) == {"completed"}


def test_tasks_that_fail_fast_do_not_wait_for_their_items(installation: Installation) -> None:
    hasty = installation.know(batch("hasty", fail_fast=True), batch())
    plain = installation.know(batch())
    first, second = (installation.client.submit(hasty, items=["bad", "a"]) for _ in range(2))
    third = installation.client.submit(plain, items=["a"])
    worker = installation.worker()
    claimed = worker.turn().claimed
    settlements = [worker.call(row, one) for row, one in claimed if one.seq == 1]
    worker.settle(*settlements)
    found = [installation.client.get(task.id).state for task in (first, second, third)]
    assert found == ["failed", "failed", "completed"]


def test_a_move_that_the_mirror_refuses_holds_up_no_other_task(installation: Installation) -> None:
    mirrored = batch("mirrored")

    def refuse(_connection: Any, change: ff.Change) -> None:
        if change.target == "completed":
            raise RuntimeError("not now")

    mirrored.on_move(refuse)
    plain = batch()
    installation.know(plain, mirrored)
    first = installation.client.submit(mirrored, items=["a"])
    second, third = (installation.client.submit(plain, items=["a"]) for _ in range(2))
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn().claimed))
    found = [installation.client.get(task.id).state for task in (first, second, third)]
    assert found == ["active", "completed", "completed"]
