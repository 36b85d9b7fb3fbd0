"""The details of a task are correct: items, cells, timelines, files and keys."""

from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.model.endings import Ending
from fanfold.store.items.count import Counting
from tests.engine.pipelines import batch, book
from tests.installation import HandClock, Installation, number_of


def test_an_item_tells_its_data_and_its_neighbours(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "bad", "c"]})
    installation.worker("w").run()
    found = installation.client.item(task.id, "p2")
    assert (found.input, found.output, found.before, found.after) == ("bad", None, "p1", "p3")
    assert (found.item.error_code, found.item.error_message) == ("bad_page", "this page is bad")
    assert [(one.outcome, one.worker, one.error_code) for one in found.attempts] == [("failed", "w", "bad_page")]
    first = installation.client.item(task.id, "p1")
    assert (first.output, first.made_by, first.before, first.previous) == ("A", "w", None, None)
    with pytest.raises(ff.NotFound, match="has no item p9"):
        installation.client.item(task.id, "p9")
    with pytest.raises(ff.NotFound, match="no stage 'nothing'"):
        installation.client.item(task.id, "p1", "nothing")


def test_an_item_without_a_key_answers_to_its_position(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    found = installation.client.item(task.id, "2")
    assert (found.item.key, found.input, found.before, found.after) == ("2", "b", "1", None)


def test_what_an_item_was_is_kept_when_it_is_made_again(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "b"]})
    installation.worker("first").run()
    installation.client.retry(task.id, ["p1"], options={"instead": "z"})
    waiting = installation.client.item(task.id, "p1")
    assert (waiting.item.state, waiting.previous) == ("pending", "A")
    installation.worker("second").run()
    found = installation.client.item(task.id, "p1")
    assert (found.output, found.previous, found.made_by, found.options["instead"]) == ("Z", "A", "second", "z")
    assert installation.client.item(task.id, "p2").previous is None


def test_a_failed_item_that_is_made_again_has_nothing_to_compare_with(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["bad", "b"])
    installation.work()
    installation.client.retry(task.id, options={"instead": "good"})
    installation.work()
    found = installation.client.item(task.id, "1")
    assert (found.output, found.previous) == ("GOOD", None)


def test_cells_are_one_letter_for_the_state_of_each_item(installation: Installation) -> None:
    pipeline = installation.know(batch(retry=ff.Retry(limit=1, first=60)))
    task = installation.client.submit(pipeline, items=["a", "bad", "flaky", "d", "e"])
    worker = installation.worker()
    held = worker.turn(free=4).claimed
    worker.settle(*(worker.call(row, one) for row, one in held[:3]))
    found = WebQueries(installation.client.lookup).cells(task.id)
    assert (found.stage, found.total, found.width, found.letters) == ("convert", 5, 1, "dftrp")


def test_many_items_are_shown_in_runs_by_what_one_wants_to_know_first(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c", "bad", "e", "f", "g"])
    worker = installation.worker()
    worker.settle(*(worker.call(row, one) for row, one in worker.turn(free=5).claimed))
    worker.claim(free=1)
    found = WebQueries(installation.client.lookup).cells(task.id, most=4)
    assert (found.total, found.width, found.letters) == (7, 2, "dfrp")
    assert WebQueries(installation.client.lookup).cells(task.id, most=1).letters == "f"
    assert WebQueries(installation.client.lookup).cells(task.id, most=7).letters == "dddfdrp"


def test_a_stage_that_has_not_begun_has_no_cells(installation: Installation) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a"]})
    assert WebQueries(installation.client.lookup).cells(task.id, "bind").letters == ""
    assert WebQueries(installation.client.lookup).cells(task.id, "cut").letters == "p"


def test_items_that_come_while_the_cells_are_read_do_no_harm(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On PostgreSQL two statements of one transaction may see different data: here the counts are too old."""
    task = installation.client.submit(installation.know(batch()), items=["a", "b", "c"])
    monkeypatch.setattr(Counting, "counts", lambda *_: {})
    assert WebQueries(installation.client.lookup).cells(task.id, "convert").letters == "ppp"


def test_a_timeline_counts_what_each_worker_settled_when(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a", "bad", "c"]})
    cutter = installation.worker("cutter")
    (split,) = cutter.turn(free=1).claimed
    cutter.settle(cutter.call(*split))
    clock.advance(10)
    first, second = installation.worker("first"), installation.worker("second")
    first.settle(*(first.call(row, one) for row, one in first.turn(free=2).claimed))
    clock.advance(85)
    second.run()
    clock.advance(1_000)
    found = WebQueries(installation.client.lookup).timeline(task.id)
    assert (found.ended_at - found.started_at).total_seconds() == 95
    assert [(span.stage, (span.started_at - found.started_at).total_seconds()) for span in found.stages] == [
        ("cut", 0),
        ("convert", 0),
    ]
    assert [(lane.worker, at(lane.done), at(lane.failed)) for lane in found.rows] == [
        ("cutter", {0: 1}, {}),
        ("first", {10: 1}, {10: 1}),
        ("second", {94: 1}, {}),
    ]
    assert [(one.key, one.stage, one.outcome, one.worker) for one in found.attempts] == [
        ("p2", "convert", "failed", "first")
    ]


def at(counts: tuple[int, ...]) -> dict[int, int]:
    """The spans in which something was settled."""
    return {position: count for position, count in enumerate(counts) if count}


def test_the_stages_are_told_however_much_has_happened_to_items(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(book()), options={"texts": ["a"]})
    worker = installation.worker()
    (split,) = worker.turn(free=1).claimed
    worker.settle(worker.call(*split))
    event = {"task": number_of(installation, task), "actor": "w", "verb": "retry", "stage": "convert", "item": "p1"}
    with installation.store.write() as tx:
        tx.events.add([event] * 10_001)
    clock.advance(5)
    installation.work()
    found = WebQueries(installation.client.lookup).stages(task.id)
    assert [span.stage for span in found] == ["cut", "convert", "bind"]
    assert found[-1].ended_at is not None
    assert WebQueries(installation.client.lookup).timeline(task.id).stages == found


def test_a_timeline_of_days_has_no_more_than_96_spans(installation: Installation, clock: HandClock) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    worker = installation.worker()
    worker.finish(*worker.claim(free=1))
    clock.advance(86_400 * 3)
    found = WebQueries(installation.client.lookup).timeline(task.id)
    assert [(len(lane.done), sum(lane.done)) for lane in found.rows] == [(96, 1)]
    assert found.rows[0].done[0] == 1


def test_a_timeline_of_a_task_that_did_nothing_yet_is_short(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    found = WebQueries(installation.client.lookup).timeline(task.id)
    assert (found.rows, found.attempts, [span.stage for span in found.stages]) == ((), (), ["convert"])
    assert (found.ended_at - found.started_at).total_seconds() == 1


def test_the_last_events_come_newest_first_and_by_page(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"])
    installation.client.pause(task.id)
    installation.client.resume(task.id)
    page = WebQueries(installation.client.lookup).latest_events(task.id, limit=2)
    assert [event.verb for event in page] == ["resume", "pause"]
    assert [event.verb for event in WebQueries(installation.client.lookup).latest_events(task.id, page[-1].id)] == [
        "submit"
    ]


def test_the_items_that_failed_for_one_reason_are_named(installation: Installation) -> None:
    items = [ff.NewItem("a", "bad"), ff.NewItem("b", "flaky"), ff.NewItem("c", "bad"), ff.NewItem("d", "fine")]
    task = installation.client.submit(installation.know(batch()), items=items)
    installation.work()
    for stage, code, message, many in installation.client.failures(task.id):
        keys = WebQueries(installation.client.lookup).failed_keys(task.id, stage, code, message)
        assert keys == (["a", "c"] if code == "bad_page" else ["b"])
        assert len(keys) == many
        assert WebQueries(installation.client.lookup).failed_keys(task.id, stage, code, message, limit=1) == keys[:1]
    assert WebQueries(installation.client.lookup).failed_keys(task.id, "convert", "bad_page", "another reason") == []


def test_the_keys_at_scattered_positions_cost_few_statements(installation: Installation) -> None:
    items = [ff.NewItem("named", "a"), *map(str, range(3_999))]
    task = installation.client.submit(installation.know(batch()), items=items)
    with installation.statements() as sent:
        found = WebQueries(installation.client.lookup).keys_at(
            task.id, "convert", [*range(3_998, -1, -2), 0, 9_999], ["pending"]
        )
    assert found == ["named", *(str(at) for at in range(3, 4_001, 2))]
    assert len(sent) < 8
    assert WebQueries(installation.client.lookup).keys_at(task.id, "convert", [0, 1], ["failed", "done"]) == []
    with pytest.raises(ff.NotFound, match="no stage 'nothing'"):
        WebQueries(installation.client.lookup).keys_at(task.id, "nothing", [0], ["pending"])


def test_a_list_of_items_reads_nothing_that_may_be_large(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "bad"])
    installation.work()
    with installation.statements() as sent:
        listed = installation.client.items(task.id)
        assert WebQueries(installation.client.lookup).items_from(task.id, "convert", 0, 2) == listed
    assert [item.error_message for item in listed] == [None, "this page is bad"]
    for large in ("input", "output", "previous", "previous_model", "error_detail", "options"):
        assert not [statement for statement in sent if f"item_data.{large}" in statement]


def test_the_tasks_that_changed_last_are_told_at_once_and_to_their_owner(installation: Installation) -> None:
    client = installation.client
    tasks = [client.submit(batch(), items=["a", "b"], owner=owner) for owner in ("ann", "bob") * 20]
    seen = client.events(tasks[-1].id)[-1].id
    for task in tasks[:3]:
        client.pause(task.id)
    assert {task.id for task in WebQueries(client.lookup).changed_since(seen)} == {task.id for task in tasks[:3]}
    bob = Client(store=installation.store, owner="bob")
    assert [(task.id, task.state) for task in WebQueries(bob.lookup).changed_since(seen)] == [(tasks[1].id, "paused")]
    assert {task.id for task in WebQueries(client.lookup).changed_since(0, limit=4)} == {
        task.id for task in [*tasks[:3], tasks[-1]]
    }
    client.delete(tasks[2].id)
    with installation.statements() as sent:
        assert len(WebQueries(client.lookup).changed_since(0)) == 39
    # Describing a task that has not started costs one more statement; finding tasks and their parts costs the same for many.
    assert len(sent) < 39 + 12


def test_the_last_calls_are_told_by_page(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    number = number_of(installation, task)
    with installation.store.write() as tx:
        ids = tx.reading.ids(number, "convert", ["1", "2"])
        said = {"lease": 1, "provider": "p", "outcome": "taken", "seconds": 1.0}
        tx.calls.add([{"item": ids[n % 2], "model": f"m{n}", **said} for n in range(6)])

    def models(**wanted: Any) -> list[str]:
        return [call.model for call in installation.client.calls(task.id, **wanted)]

    assert models() == models(limit=None) == ["m0", "m1", "m2", "m3", "m4", "m5"]
    assert models(limit=2) == ["m4", "m5"]
    first = installation.client.calls(task.id, limit=2)[0].id
    assert models(limit=3, before=first) == ["m1", "m2", "m3"]
    assert models(key="2", limit=2) == ["m3", "m5"]


def test_a_task_is_found_by_its_key_and_owner(installation: Installation) -> None:
    client = installation.client
    mine = client.submit(batch(), items=[1], key="k", owner="ann")
    other = client.submit(batch(), items=[1], key="k")
    found = {owner: client.by_key("k", owner) for owner in ("ann", None, "bob")}
    assert {owner: task and task.id for owner, task in found.items()} == {"ann": mine.id, None: other.id, "bob": None}
    ann = Client(store=installation.store, owner="ann").by_key("k", "bob")
    assert ann is not None
    assert ann.id == mine.id


def test_a_file_is_found_only_by_the_task_that_has_it(installation: Installation) -> None:
    def write(item: ff.ItemWork) -> ff.File:
        return item.write("a.txt", "text")

    pipeline = installation.know(batch(handler=write))
    one, two = (installation.client.submit(pipeline, items=[1]) for _ in range(2))
    installation.work()
    (file,) = installation.client.result(one.id)
    name = file.key.rpartition("/")[2]
    assert WebQueries(installation.client.lookup).file(one.id, name).read_text() == "text"
    for task, wanted in ((two, name), (one, f"../{one.id}/{name}"), (one, ""), (one, ".."), (two, f"../{file.key}")):
        with pytest.raises(ff.NotFound, match="has no file"):
            WebQueries(installation.client.lookup).file(task.id, wanted)


def test_details_are_told_only_to_the_owner(installation: Installation) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a"], owner="ann")
    bob = Client(store=installation.store, owner="bob")
    page = WebQueries(bob.lookup)
    for ask in (
        lambda: bob.item(task.id, "1"), lambda: page.cells(task.id), lambda: page.timeline(task.id),
        lambda: page.latest_events(task.id), lambda: page.failed_keys(task.id, "convert", "a", "b"),
        lambda: page.file(task.id, "x"), lambda: bob.calls(task.id),
    ):  # fmt: skip
        with pytest.raises(ff.NotFound):
            ask()


def test_a_stage_takes_the_time_it_is_worked_on(installation: Installation, clock: HandClock) -> None:
    installation.know(batch())
    task = installation.client.submit(batch(), items=[1])
    clock.advance(5)
    installation.client.pause(task.id)
    clock.advance(1_000)
    installation.client.resume(task.id)
    clock.advance(7)
    installation.work()
    clock.advance(1_000)
    installation.client.retry(task.id, ["1"])
    clock.advance(3)
    spans = WebQueries(installation.client.lookup).stages(task.id)
    worked = [(span.stage, (span.ended_at or clock.now) - span.started_at) for span in spans]
    assert [(stage, took.total_seconds()) for stage, took in worked if took.total_seconds()] == [
        (spans[0].stage, 5),
        (spans[0].stage, 7),
        (spans[0].stage, 3),
    ]
    assert spans[-1].ended_at is None


def test_who_made_the_items_is_counted(installation: Installation) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=[1, 2, 3, 4])
    worker = installation.worker()
    first, second, third, _ = worker.claim()
    made = [
        Settlement(one, Ending.FINISH, output="1", model=model)
        for one, model in ((first, "a"), (second, "b"), (third, "a"))
    ]
    worker.settle(*made)
    assert WebQueries(installation.client.lookup).makers(task.id) == {"a": 2, "b": 1}
