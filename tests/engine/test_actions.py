"""The actions of an application run in the states they declare, with checked options, and are recorded as events."""

from dataclasses import replace

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from tests.engine.offering import lines
from tests.installation import Installation


@pytest.fixture
def client(installation: Installation) -> Client:
    """A client of somebody who has a name."""
    installation.know(lines)
    return Client(store=installation.store, pipelines=[lines], actor="anna")


def submitted(installation: Installation, client: Client, *items: str) -> str:
    task = client.submit(lines, items=items)
    installation.work()
    return task.id


def done(client: Client, task: str) -> list[tuple[str, str | None]]:
    return [(event.actor, event.reason) for event in client.events(task) if event.verb == "do"]


def test_an_action_is_taken_and_kept_as_an_event(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one", "two")
    outcome = client.do(task, "approve", {"note": "fine", "times": "3"})
    assert outcome.message == "anna approved 2 lines 3 times: fine"
    assert outcome.task == client.get(task)
    assert done(client, task) == [("anna", "approve: anna approved 2 lines 3 times: fine")]


def test_an_action_steers_the_task_through_commands(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one", "bad")
    assert client.get(task).state == "partial"
    outcome = client.do(task, "mend")
    assert outcome.task is not None
    assert (outcome.message, outcome.task.state) == ("", "active")
    installation.work()
    assert client.result(task).read_text() == "1 one\n2 bad\n"
    assert done(client, task) == [("anna", "mend")]


def test_an_action_is_refused_in_a_state_that_it_does_not_declare(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one", "bad")
    before = installation.rows()
    with pytest.raises(ff.IllegalMove, match="the action approve needs a task that is completed") as caught:
        client.do(task, "approve", {})
    assert caught.value.available_commands == client.get(task).available_commands
    assert installation.rows() == before


def test_wrong_options_and_names_are_refused_before_anything_runs(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one")
    before = installation.rows()
    with pytest.raises(ff.BadOption, match="must be from 1 to 9"):
        client.do(task, "approve", {"times": 10})
    with pytest.raises(ff.BadOption, match="Unknown option tims"):
        client.do(task, "approve", {"tims": 1})
    with pytest.raises(ff.NotFound, match=r"has no action 'praise'\. It has: approve, mend"):
        client.do(task, "praise")
    with pytest.raises(ff.NotFound, match="The code of the pipeline lines is not known here"):
        Client(store=installation.store).do(task, "approve")
    assert installation.rows() == before


def test_a_failure_is_told_and_kept(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one")
    with pytest.raises(ff.ActionFailed, match="failed: ZeroDivisionError: cannot divide"):
        client.do(task, "stumble")
    [(actor, reason)] = done(client, task)
    assert (actor, reason) == (
        "anna", f"stumble failed: The action stumble of task {task} failed: ZeroDivisionError: cannot divide",
    )  # fmt: skip


def test_an_action_may_delete_its_task(installation: Installation, client: Client) -> None:
    task = submitted(installation, client, "one")
    outcome = client.do(task, "remove")
    assert replace(outcome, task=None) == outcome
    assert outcome.message == "gone"


def test_an_action_that_makes_no_sense_is_refused_when_it_is_declared() -> None:
    pipeline = ff.Pipeline("p")
    with pytest.raises(ff.BadPipeline, match="names the unknown state finished"):
        pipeline.action("a", states=["finished"])(lambda work: None)
    with pytest.raises(ff.BadPipeline, match="cannot name an action"):
        pipeline.action("A b")(lambda work: None)
    pipeline.action("a")(lambda work: None)
    with pytest.raises(ff.BadPipeline, match="already has an action 'a'"):
        pipeline.action("a")(lambda work: None)
