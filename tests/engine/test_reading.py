"""A client reads lists, pages, events and metrics correctly."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.queries.results.task_result import Results
from fanfold.errors import DatabaseProblem
from tests.engine.pipelines import batch, book
from tests.installation import HandClock, Installation


def ids(tasks: list[ff.Task]) -> list[str]:
    return [task.id for task in tasks]


def test_tasks_are_listed_newest_first_and_by_page(installation: Installation) -> None:
    tasks = [installation.client.submit(batch(), items=[1]) for _ in range(5)]
    newest = ids(tasks)[::-1]
    assert ids(installation.client.list()) == newest
    assert ids(installation.client.list(limit=2)) == newest[:2]
    assert ids(installation.client.list(limit=2, after=newest[1])) == newest[2:4]


def test_tasks_are_found_by_state_pipeline_owner_tag_and_text(installation: Installation) -> None:
    client = installation.client
    a = client.submit(batch("one"), items=[1], owner="ann", tags=["x"], title="The Castle 100%")
    b = client.submit(batch("two"), items=[1], owner="bob", tags=["x", "y"], title="The Trial")
    client.pause(b.id)
    found: dict[str, Any] = {
        "state": client.list(states=["paused"]),
        "pipeline": client.list(pipeline="two"),
        "owner": client.list(owner="bob"),
        "tag": client.list(tag="y"),
        "text": client.list(text="TRIAL"),
    }
    assert all(ids(tasks) == [b.id] for tasks in found.values()), found
    assert ids(client.list(tag="x", text="100%")) == [a.id]
    assert client.list(text="100_") == []
    assert client.list(states=["paused"], owner="ann") == []


def test_text_is_looked_for_in_ids_and_tags_too(installation: Installation) -> None:
    client = installation.client
    a = client.submit(batch(), items=[1], tags=["north", "Summer-2025"], title="The Castle")
    b = client.submit(batch(), items=[1], tags=["south"], title="The Trial")
    assert ids(client.list(text=a.id)) == [a.id]
    assert ids(client.list(text=a.id[4:10].upper())) == [a.id], "also a part of it"
    assert ids(client.list(text="summer")) == [a.id]
    assert ids(client.list(text="outh", states=["active"])) == [b.id]
    assert ids(client.list(text="th", limit=1)) == [b.id], "a task is found once, however many of its words fit"
    assert ids(client.list(text="th")) == [b.id, a.id]
    assert client.list(text="north", tag="south") == []


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"states": ["lost"]}, "Unknown task state lost"),
        ({"limit": 0}, "from 1 to 1000"),
        ({"limit": 1001}, "from 1 to 1000"),
    ],
)
def test_a_bad_question_is_refused(installation: Installation, wanted: dict[str, Any], reason: str) -> None:
    with pytest.raises(ff.BadInput, match=reason):
        installation.client.list(**wanted)


def test_an_owner_sees_only_what_is_theirs(installation: Installation) -> None:
    mine = Client(store=installation.store, owner="ann").submit(batch(), items=[1])
    theirs = installation.client.submit(batch(), items=[1], owner="bob")
    ann = Client(store=installation.store, owner="ann")
    assert ids(ann.list()) == [mine.id]
    with pytest.raises(ff.NotFound):
        ann.get(theirs.id)
    with pytest.raises(ff.NotFound):
        ann.cancel(theirs.id)


def test_items_are_listed_by_page_state_and_key(installation: Installation) -> None:
    task = installation.client.submit(
        installation.know(batch()),
        items=[ff.NewItem(key, text) for key, text in (("a", "1"), ("b", "bad"), ("c", "3"))],
    )
    installation.work()
    client = installation.client
    assert [item.key for item in client.items(task.id)] == ["a", "b", "c"]
    assert [item.key for item in client.items(task.id, limit=1, after="a")] == ["b"]
    assert [item.key for item in client.items(task.id, states=["failed"])] == ["b"]
    assert [item.key for item in client.items(task.id, keys=["c", "a"])] == ["a", "c"]
    assert client.output(task.id, "c") == "3"
    with pytest.raises(ff.NotFound, match="has no item z"):
        client.output(task.id, "z")
    assert client.failures(task.id) == [("convert", "bad_page", "this page is bad", 1)]


def test_events_are_read_from_where_one_stopped(installation: Installation) -> None:
    task = installation.client.submit(batch(), items=[1])
    installation.client.pause(task.id)
    first = installation.client.events(task.id)
    installation.client.resume(task.id)
    assert [event.verb for event in first] == ["submit", "pause"]
    assert [event.verb for event in installation.client.events(task.id, after=first[-1].id)] == ["resume"]


def test_a_follower_sees_every_event_once_also_those_that_come_late(installation: Installation) -> None:
    """Two workers may commit in another order than that of their events' ids."""
    task = installation.client.submit(batch(), items=[1])
    late = "INSERT INTO events (id, task, at, actor, verb) SELECT :id, number, created_at, 'x', :verb FROM tasks"
    installation.sql(late, id=500, verb="second")
    seen: list[Any] = []
    for found in installation.client.follow(task.id, poll=0.001):
        seen.append(found)
        if isinstance(found, ff.Task) and found.state == "active":
            installation.sql(late, id=499, verb="first")
            installation.client.cancel(task.id)
    verbs = [found.verb for found in seen if isinstance(found, ff.Event)]
    assert sorted(verbs) == ["cancel", "first", "second", "submit"]
    assert isinstance(seen[-1], ff.Task)
    assert seen[-1].state == "cancelled"


def test_a_follower_that_comes_back_is_told_only_what_is_new(installation: Installation) -> None:
    task = installation.client.submit(batch(), items=[1])
    installation.client.cancel(task.id)
    first, second = installation.client.events(task.id)
    again = [found for found in installation.client.follow(task.id, after=first.id) if isinstance(found, ff.Event)]
    assert again == [second]


def test_waiting_ends_when_the_task_does(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    with pytest.raises(TimeoutError, match="is still active after 0 s"):
        installation.client.wait(task.id, timeout=0)
    installation.work()
    assert installation.client.wait(task.id).state == "completed"


def test_the_figures_of_an_installation(installation: Installation, clock: HandClock) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=1)))
    task = installation.client.submit(pipeline, items=["a", "bad", "flaky", "b", "c"])
    paused = installation.client.submit(pipeline, items=range(10))
    installation.client.pause(paused.id)
    worker = installation.worker()
    held = worker.turn(free=4).claimed
    clock.advance(2)
    worker.settle(*(worker.call(row, one) for row, one in held[:3]))
    found = installation.client.metrics()
    assert found.tasks == {"active": 1, "paused": 1}
    assert (found.queue, found.running, found.retrying, found.waiting) == (1, 1, 1, 0)
    assert installation.client.get(task.id).wait_reason is None


def test_a_task_shows_its_stages(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "bad"]})
    installation.work()
    now = installation.client.get(task.id)
    assert [(stage.name, stage.kind, stage.counts) for stage in now.stages] == [
        ("cut", "split", {"done": 1}),
        ("convert", "each", {"done": 1, "failed": 1}),
        ("bind", "merge", {}),
    ]
    assert (now.total, now.done, now.failed, now.open) == (2, 1, 1, 0)


def test_a_task_that_no_worker_serves_says_so(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1])
    assert installation.client.get(task.id).wait_reason == "no worker serves stage convert"
    installation.worker()
    assert installation.client.get(task.id).wait_reason is None


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_a_task_says_that_its_database_takes_no_writes(installation: Installation, database_url: str) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1])
    database = installation.store.database
    change = f'ALTER DATABASE "{database.url.database}" SET default_transaction_read_only ='
    installation.sql(f"{change} on")
    database.close()
    assert installation.client.get(task.id).wait_reason == (
        "the database refuses writes; work resumes by itself when it accepts them again"
    )
    with pytest.raises(DatabaseProblem, match="The server refuses writes, as after a failover"):
        installation.client.pause(task.id)
    with database.read() as connection:
        connection.exec_driver_sql("SET default_transaction_read_only = off")
        connection.exec_driver_sql(f"{change} off")
    database.close()
    assert installation.client.get(task.id).wait_reason == "no worker serves stage convert"
    assert installation.client.pause(task.id).state == "paused"


def test_a_result_that_is_not_there_is_an_error_with_a_way_out(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["bad"])
    installation.work()
    with pytest.raises(
        ff.TaskStopped, match=f"is failed and has no result: .*Possible now: fanfold retry {task.id}"
    ) as e:
        installation.client.result(task.id)
    assert (e.value.task_id, e.value.state) == (task.id, "failed")


@pytest.mark.parametrize("is_done_again", [False, True])
def test_results_that_are_redone_while_they_are_read_are_not_given_with_gaps(
    installation: Installation, monkeypatch: pytest.MonkeyPatch, clock: HandClock, is_done_again: bool
) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c"])
    installation.work()
    whole, real = installation.client.result(task.id), Results.all
    told: list[bool] = []

    def redone_meanwhile(results: Results) -> Any:
        if not told:
            told.append(True)
            clock.advance(1)
            installation.client.retry(task.id, ["2"])
            if is_done_again:
                installation.work()
        return real(results)

    monkeypatch.setattr(Results, "all", redone_meanwhile)
    if is_done_again:
        assert installation.client.result(task.id) == whole
    else:
        with pytest.raises(ff.TaskStopped):
            installation.client.result(task.id)
    assert told


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_is_none_is_refused_on_every_database(installation: Installation, limit: int) -> None:
    task = installation.client.submit(installation.know(batch()), items=[1, 2])
    for ask in ("items", "events", "failures", "calls"):
        with pytest.raises(ff.BadInput, match="it must be 1 or more"):
            getattr(installation.client, ask)(task.id, limit=limit)
