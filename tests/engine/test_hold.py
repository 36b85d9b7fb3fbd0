"""An item that waits for a person waits visibly, and delays nothing else."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.recovery.tick import tick
from fanfold.errors import IllegalMove, TaskStopped
from fanfold.model.lifecycle import TaskState
from fanfold.running.one import RunWish, run_task
from tests.engine.live import Live
from tests.installation import HandClock, Installation

YEAR = 365 * 86_400


class Puzzled:
    """A pipeline in which the items named in ``unclear`` wait for a person."""

    def __init__(self, *unclear: str) -> None:
        self.unclear = set(unclear)
        self.calls: list[str] = []
        self.pipeline = ff.Pipeline("puzzled")

        @self.pipeline.each(wait_limit=600)
        def convert(item: ff.ItemWork) -> str:
            self.calls.append(item.key)
            if item.key in self.unclear:
                raise ff.HoldItem(f"is {item.key} paid already?")
            return item.key

        @self.pipeline.merge
        def bind(_task: ff.TaskWork, results: ff.Results) -> list[Any]:
            return [result.output for result in results]


def submit(installation: Installation, puzzled: Puzzled, *keys: str) -> ff.Task:
    return installation.client.submit(
        installation.know(puzzled.pipeline), items=[ff.NewItem(key=key) for key in keys or ("a", "b", "c")]
    )


def test_a_held_item_waits_for_a_person_while_the_others_go_on(installation: Installation, clock: HandClock) -> None:
    puzzled = Puzzled("b")
    task = submit(installation, puzzled)
    installation.work()
    assert installation.states(task) == "done waiting done"
    clock.advance(9 * YEAR)
    installation.work()
    installation.sweep()
    assert puzzled.calls == ["a", "b", "c"]
    now = installation.client.get(task.id)
    assert (now.state, now.held, now.stalled) == ("active", 1, True)
    assert (
        now.wait_reason
        == "1 item waits for you: is b paid already? You can retry it, merge without it or cancel the task"
    )
    assert [item.held for item in installation.client.items(task.id)] == [None, "is b paid already?", None]
    assert [(event.verb, event.item, event.reason) for event in installation.client.events(task.id)][-1] == (
        "hold",
        "b",
        "is b paid already?",
    )


def test_holding_an_item_uses_up_no_retry_and_no_time_of_an_external_job(
    installation: Installation, clock: HandClock
) -> None:
    puzzled = Puzzled("b")
    task = submit(installation, puzzled)
    installation.work()
    clock.advance(3_600)
    [row] = installation.sql("SELECT failures, waiting_since FROM items JOIN item_data ON item = id WHERE key = 'b'")
    assert (row.failures, row.waiting_since) == (0, None)
    puzzled.unclear.clear()
    installation.client.retry(task.id, ["b"])
    assert installation.completed(task) == ["a", "b", "c"]


def test_a_retry_without_names_takes_what_is_held(installation: Installation) -> None:
    puzzled = Puzzled("b")
    task = submit(installation, puzzled)
    installation.work()
    assert "retry" in installation.client.get(task.id).available_commands
    puzzled.unclear.clear()
    installation.client.retry(task.id)
    assert installation.client.get(task.id).held == 0
    assert installation.completed(task) == ["a", "b", "c"]


def test_a_retried_item_may_be_held_again_for_another_reason(installation: Installation) -> None:
    puzzled = Puzzled("a", "b")
    task = submit(installation, puzzled)
    installation.work()
    assert installation.client.get(task.id).wait_reason == (
        "2 items wait for you: is a paid already? You can retry them, merge without them or cancel the task"
    )
    installation.client.retry(task.id, ["b"])
    [_, item, _] = installation.client.items(task.id)
    assert (item.state, item.held) == ("pending", None)
    installation.work()
    assert installation.client.get(task.id).held == 2


def test_nothing_falls_due_because_of_a_held_item(installation: Installation) -> None:
    task = submit(installation, Puzzled("a", "b", "c"))
    installation.work()
    with installation.store.read() as tx:
        assert tx.looking.seconds_to_next() is None
        assert tx.reading.next_due_at(1) is None
    assert installation.client.get(task.id).stalled


def test_a_clock_that_was_set_back_leaves_held_items_held(installation: Installation, clock: HandClock) -> None:
    task = submit(installation, Puzzled("b"))
    installation.work()
    installation.sweep()
    clock.advance(-100 * 86_400)
    installation.sweep()
    assert installation.client.get(task.id).held == 1


def test_a_stale_worker_cannot_hold_an_item(installation: Installation) -> None:
    task = submit(installation, Puzzled())
    worker = installation.worker()
    [first, *others] = worker.claim()
    with installation.store.write() as tx:
        tx.settling.release([{"id": first.id, "lease": first.lease}])
    worker.claim()
    with installation.store.write() as tx:
        assert tx.settling.hold([{"id": first.id, "lease": first.lease}]) == set()
        assert tx.settling.hold([{"id": one.id, "lease": one.lease} for one in others]) == {one.id for one in others}
    assert installation.states(task) == "running waiting waiting"


@pytest.mark.parametrize("ending", ["cancel", "rerun"])
def test_what_was_held_is_forgotten_when_the_task_ends_or_begins_again(installation: Installation, ending: str) -> None:
    task = submit(installation, Puzzled("b"))
    installation.work()
    if ending == "rerun":
        installation.client.pause(task.id)
    getattr(installation.client, ending)(task.id)
    now = installation.client.get(task.id)
    assert (now.held, now.stalled) == (0, False)


def test_a_compensation_that_is_held_can_be_told_to_go_on(installation: Installation) -> None:
    book, unclear = ff.Pipeline("book"), ["refund?"]

    @book.step
    def pay(_task: ff.TaskWork) -> None:
        raise ff.Permanent("no money")

    @book.on_failed
    def refund(_task: ff.TaskWork) -> None:
        if unclear:
            raise ff.HoldItem(unclear[0])

    task = installation.client.submit(installation.know(book))
    installation.work()
    now = installation.client.get(task.id)
    assert (now.state, now.wait_reason) == (TaskState.ACTIVE, "1 item waits for you: refund? You can retry it")
    assert "retry" in now.available_commands
    with pytest.raises(IllegalMove):
        installation.client.cancel(task.id)
    unclear.clear()
    installation.client.retry(task.id)
    installation.work()
    assert installation.client.get(task.id).state == "failed"


def test_a_tick_does_not_wait_for_a_person(installation: Installation) -> None:
    submit(installation, Puzzled("b"))
    report = tick(installation.store, installation.pipelines, seconds=300.0)
    assert (report.finished, report.held, report.next_due_seconds) == (2, 1, None)
    assert report.seconds < 100
    assert "1 waiting for a person" in str(report)


def test_a_worker_that_drains_ends_when_only_held_items_are_left(live: Live) -> None:
    task = submit(live, Puzzled("b"))
    ff.Worker(live.pipelines, store=live.store).run(drain=True)
    assert live.client.get(task.id).stalled


def test_a_run_ends_and_says_what_waits_for_a_person(live: Live) -> None:
    puzzled = Puzzled("b")
    live.know(puzzled.pipeline)
    wanted = RunWish(puzzled.pipeline, items=["x", ff.NewItem(key="b")])
    for _ in range(2):
        with pytest.raises(TaskStopped, match="1 item waits for you: is b paid already") as stopped:
            run_task(live.client, wanted, progress=False)
        assert "fanfold retry" in str(stopped.value)
        assert "to merge without them: fanfold merge" in str(stopped.value)
    assert puzzled.calls.count("b") == 1
    puzzled.unclear.clear()
    live.client.retry(stopped.value.task_id)
    assert run_task(live.client, wanted, progress=False).state == "completed"


def test_waiting_for_a_task_ends_when_only_held_items_are_left(live: Live) -> None:
    task = submit(live, Puzzled("b"))
    with live.working():
        assert live.client.wait(task.id, timeout=30).held == 1


def test_a_stage_that_changed_its_kind_in_new_code_is_not_called_with_items_of_the_old_one(
    installation: Installation,
) -> None:
    """A split called for items of `each` would return nothing, and the task would complete without results."""
    old = ff.Pipeline("changing")
    old.each(name="work")(lambda item: item.input.upper())
    task = installation.client.submit(old, items=["a", "b"])
    new = installation.know(ff.Pipeline("changing"))
    new.split(name="work")(lambda task: ["x", "y"])
    new.each(name="other")(lambda item: item.input)
    installation.work()
    assert all(item.held for item in installation.client.items(task.id))
    assert "kind each" in (installation.client.get(task.id).wait_reason or "")
    installation.pipelines = [old]
    installation.client.retry(task.id)
    installation.work()
    assert installation.client.result(task.id) == ["A", "B"]
