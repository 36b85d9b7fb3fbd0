"""A person may keep degraded results as they are: they stay marked, but nobody is asked about them any more."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.engine.tasks.steering.accept_degraded import Keep
from fanfold.engine.tasks.steering.accept_degraded import accept as accept_now
from fanfold.model.task import Task
from fanfold.store.items import accept as accepting
from tests.engine.pipelines import batch
from tests.engine.test_degraded import halves
from tests.installation import Installation, number_of


@pytest.fixture
def done(installation: Installation) -> Task:
    """A completed task of five items, two of them degraded."""
    task = installation.client.submit(installation.know(batch(handler=halves)), items=range(5))
    installation.work()
    return installation.client.get(task.id)


def needing(installation: Installation) -> list[str]:
    """The tasks that a person should look at; their number is the reported count."""
    found = [task.id for task in installation.client.list(needs_you=True)]
    assert WebQueries(installation.client.lookup).count_needing() == len(found)
    return found


def test_an_accepted_task_needs_nobody_and_stays_what_it_is(installation: Installation, done: Task) -> None:
    assert needing(installation) == [done.id]
    assert done.needs_you == "2 degraded: retry them with another model, or keep them as they are"
    before = installation.client.items(done.id)
    now = installation.client.accept(done.id)
    assert (now.state, now.stage, now.finished_at) == (done.state, done.stage, done.finished_at)
    assert (now.degraded, now.accepted, now.unaccepted, now.needs_you) == (2, 2, 0, None)
    assert needing(installation) == []
    after = installation.client.items(done.id)
    assert [item.degraded for item in after] == [item.degraded for item in before]
    assert [item.accepted for item in after] == [False, True, False, True, False]
    assert installation.client.result(done.id) == [result.output for result in installation.client.results(done.id)]


def test_accept_is_offered_as_long_as_there_is_something_to_accept(installation: Installation, done: Task) -> None:
    assert "accept" in done.available_commands
    assert "accept" in installation.client.accept(done.id, ["2"]).available_commands
    now = installation.client.accept(done.id)
    assert "accept" not in now.available_commands
    before = installation.rows()
    with pytest.raises(ff.IllegalMove, match="none of its items has a degraded result that still needs accepting"):
        installation.client.accept(done.id)
    assert installation.rows() == before


def test_a_refused_command_names_accept_among_the_ways_out(installation: Installation, done: Task) -> None:
    with pytest.raises(ff.IllegalMove, match=f"fanfold accept {done.id}") as refused:
        installation.client.pause(done.id)
    assert "accept" in refused.value.available_commands


def test_only_the_named_items_are_accepted(installation: Installation, done: Task) -> None:
    now = installation.client.accept(done.id, ["4"], stage="convert")
    assert (now.degraded, now.accepted) == (2, 1)
    assert now.needs_you == "1 degraded: retry it with another model, or keep it as it is"
    assert [item.key for item in installation.client.items(done.id) if item.accepted] == ["4"]
    assert needing(installation) == [done.id]


def test_what_is_named_must_be_there_and_degraded(installation: Installation, done: Task) -> None:
    before = installation.rows()
    with pytest.raises(ff.NotFound, match="has no item 9, nine"):
        installation.client.accept(done.id, ["2", "nine", "9"])
    with pytest.raises(ff.IllegalMove, match="none of these items has a degraded result"):
        installation.client.accept(done.id, ["1", "3"])
    with pytest.raises(ff.NotFound, match="nowhere"):
        installation.client.accept(done.id, stage="nowhere")
    assert installation.rows() == before


def test_who_accepted_is_kept_with_the_reason(installation: Installation, done: Task) -> None:
    ann = ff.Client(store=installation.store, actor="ann")
    ann.accept(done.id, reason="good enough")
    event = installation.client.events(done.id)[-1]
    assert (event.verb, event.actor, event.source, event.target) == ("accept", "ann", None, None)
    assert (event.stage, event.item, event.reason) == (
        "convert",
        None,
        "2 degraded items of convert: 2, 4; good enough",
    )


def test_one_item_is_named_by_its_event(installation: Installation, done: Task) -> None:
    installation.client.accept(done.id, ["2"])
    assert installation.client.events(done.id)[-1].item == "2"


def test_a_redo_that_is_degraded_again_needs_a_person_again(installation: Installation, done: Task) -> None:
    installation.client.accept(done.id)
    moved = installation.client.retry(done.id, ["2"])
    assert (moved.degraded, moved.accepted) == (1, 1)
    installation.work()
    now = installation.client.get(done.id)
    assert (now.degraded, now.accepted) == (2, 1)
    assert needing(installation) == [done.id]
    assert installation.client.accept(done.id).needs_you is None


def test_a_redo_by_an_older_version_needs_a_person_again(installation: Installation, done: Task) -> None:
    """Code of the previous revision does not know the column: it finishes the item with a new lease and a new mark."""
    installation.client.accept(done.id)
    installation.sql("UPDATE items SET lease = lease + 1, degraded = 'poor again' WHERE seq = 2")
    assert installation.client.get(done.id).unaccepted == 1


def test_retry_degraded_redoes_what_nobody_has_accepted(installation: Installation, done: Task) -> None:
    installation.client.accept(done.id, ["2"])
    installation.client.retry(done.id, degraded=True, options={"model": "better"})
    assert installation.states(done) == "done done done pending done"
    installation.work()
    assert installation.client.get(done.id).needs_you is None
    with pytest.raises(ff.IllegalMove, match="its degraded items are accepted"):
        installation.client.retry(done.id, degraded=True)


def test_a_rerun_forgets_what_was_accepted(installation: Installation, done: Task) -> None:
    installation.client.accept(done.id)
    installation.client.rerun(done.id)
    installation.work()
    now = installation.client.get(done.id)
    assert (now.degraded, now.accepted) == (2, 0)


def test_what_is_done_may_be_accepted_before_the_task_is(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch(handler=halves)), items=range(5))
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn(free=2).claimed))
    assert installation.client.accept(task.id).accepted == 1
    installation.work()
    assert installation.client.get(task.id).unaccepted == 1


def test_many_are_accepted_in_short_transactions(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, done: Task
) -> None:
    monkeypatch.setattr(accepting, "AT_ONCE", 3)
    task = installation.client.submit(installation.know(batch(handler=halves)), items=range(20))
    installation.work()
    with installation.statements() as run:
        assert accept_now(installation.store, number_of(installation, task), Keep(), "ann") == 10
    assert len([one for one in run if one.startswith("UPDATE items")]) == 4
    assert installation.client.get(task.id).unaccepted == 0
    assert [event.verb for event in installation.client.events(task.id)][-4:] == ["accept"] * 4
    assert installation.client.get(done.id).unaccepted == 2


def test_a_result_that_was_redone_since_it_was_looked_up_is_not_accepted(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, done: Task
) -> None:
    found = accepting.Accepting.shortfalls

    def looked_up_long_ago(self: Any, *given: Any) -> list[accepting.Shortfall]:
        shown = found(self, *given)
        return [one._replace(lease=one.lease - 1) if one.key == "2" else one for one in shown]

    monkeypatch.setattr(accepting.Accepting, "shortfalls", looked_up_long_ago)
    installation.client.accept(done.id)
    assert [item.key for item in installation.client.items(done.id) if item.accepted] == ["4"]


def test_items_that_are_being_put_back_are_not_accepted(installation: Installation, done: Task) -> None:
    installation.sql("UPDATE tasks SET resetting = 'token'")
    [(item,)] = installation.sql("SELECT id FROM items WHERE seq = 2")
    [(task,)] = installation.sql("SELECT number FROM tasks")
    noted = "INSERT INTO reset_items (item, task, token, kind) VALUES (:item, :task, 'token', 'redo')"
    installation.sql(noted, item=item, task=task)
    now = installation.client.accept(done.id)
    assert (now.degraded, now.accepted) == (1, 1)
    assert [row[0] for row in installation.sql("SELECT seq FROM items WHERE accepted IS NOT NULL")] == [4]
