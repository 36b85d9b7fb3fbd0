"""A user's own record changes with the task, in the same transaction or not at all."""

from typing import Any

import pytest
import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.client import Client
from tests.engine.pipelines import one_step
from tests.installation import HandClock, Installation

INSERT = "INSERT INTO works (task, verb, source, target, stage) VALUES (:task, :verb, :source, :target, :stage)"


class Broken(Exception):
    """The user's own code went wrong."""


class Mirrored:
    """A pipeline with a table of the user's own."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.broken = False
        self.error: Exception = Broken("column missing")
        installation.sql("CREATE TABLE works (task TEXT, verb TEXT, source TEXT, target TEXT, stage TEXT)")
        self.pipeline = one_step(lambda task: "done", "image")
        self.pipeline.on_move(self.mirror)
        installation.know(self.pipeline)

    def mirror(self, connection: Any, change: ff.Change) -> None:
        values = {
            "task": change.task_id, "verb": change.verb, "source": change.source, "target": change.target,
            "stage": change.stage,
        }  # fmt: skip
        connection.execute(sa.text(INSERT), values)
        if self.broken:
            raise self.error

    def works(self) -> list[tuple[str, ...]]:
        return [tuple(row) for row in self.installation.sql("SELECT verb, source, target FROM works")]


@pytest.fixture
def mirrored(installation: Installation) -> Mirrored:
    return Mirrored(installation)


def test_every_move_is_told(mirrored: Mirrored) -> None:
    client = mirrored.installation.client
    task = client.submit(mirrored.pipeline)
    client.pause(task.id)
    client.resume(task.id)
    mirrored.installation.completed(task)
    client.delete(task.id)
    assert mirrored.works() == [
        ("submit", None, "active"),
        ("pause", "active", "paused"),
        ("resume", "paused", "active"),
        ("advance", "active", "completed"),
        ("delete", "completed", None),
    ]


def test_a_record_that_cannot_be_kept_takes_the_move_back(mirrored: Mirrored) -> None:
    task = mirrored.installation.client.submit(mirrored.pipeline)
    before = mirrored.installation.rows(), mirrored.works()
    mirrored.broken = True
    with pytest.raises(ff.FanfoldError, match="was not moved, because on_move failed: Broken"):
        mirrored.installation.client.pause(task.id)
    with pytest.raises(ff.FanfoldError, match="on_move failed"):
        mirrored.installation.client.submit(mirrored.pipeline)
    assert (mirrored.installation.rows(), mirrored.works()) == before


def test_a_move_that_cannot_be_kept_takes_the_record_back(mirrored: Mirrored, monkeypatch: pytest.MonkeyPatch) -> None:
    task = mirrored.installation.client.submit(mirrored.pipeline)
    before = mirrored.installation.rows(), mirrored.works()

    def die(_tx: Any) -> None:
        raise Broken

    monkeypatch.setattr("fanfold.store.store.Transaction.announce", die)
    with pytest.raises(Broken):
        mirrored.installation.client.rerun(mirrored.installation.client.pause(task.id).id)
    monkeypatch.undo()
    assert mirrored.works()[-1] == ("pause", "active", "paused")
    assert [row for row in before[1] if row not in mirrored.works()] == []


@pytest.mark.parametrize("command", ["pause", "cancel"])
def test_without_the_pipeline_a_mirrored_task_is_not_moved(mirrored: Mirrored, command: str) -> None:
    task = mirrored.installation.client.submit(mirrored.pipeline)
    stranger = Client(store=mirrored.installation.store)
    before = mirrored.installation.rows(), mirrored.works()
    with pytest.raises(ff.BadInput, match="this pipeline is needed here") as caught:
        getattr(stranger, command)(task.id)
    assert caught.value.code == "mirror_needed"
    assert (mirrored.installation.rows(), mirrored.works()) == before


def test_a_worker_that_does_not_know_the_pipeline_leaves_the_task_to_one_that_does(mirrored: Mirrored) -> None:
    task = mirrored.installation.client.submit(mirrored.pipeline)
    worker = mirrored.installation.worker()
    [one] = worker.claim()
    with mirrored.installation.store.write() as tx:
        tx.settling.finish([{"id": one.id, "lease": one.lease}])
    known, mirrored.installation.pipelines = mirrored.installation.pipelines, []
    mirrored.installation.sweep()
    assert mirrored.installation.client.get(task.id).state == "active"
    mirrored.installation.pipelines = known
    mirrored.installation.sweep()
    assert mirrored.installation.client.get(task.id).state == "completed"


def test_a_mirror_that_fails_does_not_take_the_worker_down(mirrored: Mirrored, clock: HandClock) -> None:
    """The item is settled; the move is tried again, with growing pauses, and a person sees why it waits."""
    client = mirrored.installation.client
    task = client.submit(mirrored.pipeline)
    mirrored.broken = True
    mirrored.installation.work()
    now = client.get(task.id)
    assert now.state == "active"
    assert now.wait_reason == "on_move failed: Broken: column missing. It is retried, with growing pauses"
    assert now.needs_you == now.wait_reason
    assert [one.id for one in client.list(needs_you=True)] == [task.id]
    mirrored.broken = False
    mirrored.installation.sweep()
    assert client.get(task.id).state == "active", "not within the pause"
    clock.advance(6)
    mirrored.installation.sweep()
    now = client.get(task.id)
    assert (now.state, now.wait_reason, now.needs_you) == ("completed", None, None)


def test_the_pauses_of_a_mirror_that_fails_grow_and_each_try_is_an_event(mirrored: Mirrored, clock: HandClock) -> None:
    client = mirrored.installation.client
    task = client.submit(mirrored.pipeline)
    mirrored.broken = True
    mirrored.installation.work()
    for _ in range(70):
        clock.advance(15)
        mirrored.installation.sweep()
    told = [event.reason for event in client.events(task.id) if event.verb == "on_move"]
    assert [reason.rsplit(" in ")[-1] for reason in told if reason][:8] == [
        "5 s", "10 s", "20 s", "40 s", "80 s", "160 s", "300 s", "300 s",
    ]  # fmt: skip
    assert len(told) < 12
    mirrored.broken = False
    client.pause(task.id)
    assert client.get(task.id).wait_reason == "paused"
    client.resume(task.id)
    mirrored.installation.sweep()
    assert client.get(task.id).state == "completed", "after a command it is tried at once"


@pytest.mark.parametrize("error", [ff.BadInput("no such column"), ff.NotFound("gone"), ff.Permanent("no")])
def test_whatever_a_mirror_raises_the_worker_goes_on(mirrored: Mirrored, error: Exception, clock: HandClock) -> None:
    task = mirrored.installation.client.submit(mirrored.pipeline)
    mirrored.broken, mirrored.error = True, error
    mirrored.installation.work()
    mirrored.installation.sweep()
    assert str(error) in (mirrored.installation.client.get(task.id).wait_reason or "")
    mirrored.broken = False
    clock.advance(60)
    mirrored.installation.sweep()
    assert mirrored.installation.client.get(task.id).state == "completed"


def test_a_split_whose_move_the_mirror_refuses_waits_and_is_made_again(mirrored: Mirrored, clock: HandClock) -> None:
    made, calls = ff.Pipeline("cutting"), []

    @made.split
    def cut(_task: Any) -> list[str]:
        calls.append(1)
        return ["a", "b"]

    made.each(name="work")(lambda item: item.input)
    made.on_move(mirrored.mirror)
    task = mirrored.installation.client.submit(mirrored.installation.know(made))
    mirrored.broken = True
    for _ in range(3):
        mirrored.installation.work()
    now = mirrored.installation.client.get(task.id)
    assert (now.stage, now.stages[0].counts, len(calls)) == ("cut", {"retrying": 1}, 1)
    assert "on_move failed: Broken" in (now.wait_reason or "")
    mirrored.broken = False
    clock.advance(6)
    assert mirrored.installation.completed(task) == ["a", "b"]
    assert [item.failures for item in mirrored.installation.client.items(task.id, stage="cut")] == [0]


def test_a_pause_that_the_mirror_refuses_is_asked_for_again_after_a_while(mirrored: Mirrored, clock: HandClock) -> None:
    made, calls = ff.Pipeline("pausing"), []

    @made.each
    def work(_item: Any) -> None:
        calls.append(1)
        raise ff.PauseTask("the account is empty")

    made.on_move(mirrored.mirror)
    task = mirrored.installation.client.submit(mirrored.installation.know(made), items=[1])
    mirrored.broken = True
    mirrored.installation.work()
    assert len(calls) == 1
    assert mirrored.installation.client.get(task.id).state == "active"
    mirrored.broken = False
    clock.advance(6)
    mirrored.installation.work()
    assert mirrored.installation.client.get(task.id).wait_reason == "paused: the account is empty"
