"""A task starts complete, once, and with everything it was given."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fanfold as ff
from fanfold.engine.tasks.submitting import submit as submitting
from tests.engine.pipelines import batch, one_step
from tests.installation import Installation


def read_all(task: Any) -> list[Any]:
    return [given.read_text() if isinstance(given, ff.File) else given for given in task.inputs]


def test_a_task_appears_with_its_items_and_they_are_claimable_at_once(installation: Installation) -> None:
    pipeline = installation.know(batch())
    task = installation.client.submit(pipeline, items=["a", ff.NewItem("second", "b"), None])
    assert (task.state, task.status, task.total, task.open) == ("active", "processing", 3, 3)
    claimed = installation.worker().claim()
    assert [(one.key, one.input) for one in claimed] == [("1", '"a"'), ("second", '"b"'), ("3", None)]


def test_everything_said_at_submit_is_kept(installation: Installation) -> None:
    pipeline = batch()
    task = installation.client.submit(
        pipeline, items=[1], options={"model": "x"}, title="A book", key="k-1", priority=7, tags=["b", "a", "a"],
        owner="ann", retry_limit=5, metadata={"order": 12},
    )  # fmt: skip
    found = installation.client.get(task.id)
    assert (found.options, found.title, found.key, found.priority) == ({"model": "x"}, "A book", "k-1", 7)
    assert (found.tags, found.owner, found.retry_limit, found.metadata) == (("a", "b"), "ann", 5, {"order": 12})
    [event] = installation.client.events(task.id)
    assert (event.verb, event.source, event.target, event.actor) == ("submit", None, "active", "person")


class PulledPlug(Exception):
    """The process died here."""


@pytest.mark.parametrize("point", ["make_items", "record"])
def test_a_crash_in_the_middle_leaves_nothing(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    (tmp_path / "a.txt").write_text("a")

    def die(*_arguments: Any, **_named: Any) -> None:
        raise PulledPlug

    monkeypatch.setattr(submitting, point, die)
    before = installation.rows()
    with pytest.raises(PulledPlug):
        installation.client.submit(one_step(read_all), tmp_path / "a.txt")
    assert installation.rows() == before
    assert installation.blobs() == []


def test_items_that_cannot_be_kept_leave_nothing_also_not_of_those_before(installation: Installation) -> None:
    def items() -> Iterator[Any]:
        yield "x" * 2_000_000
        yield "fine"
        yield object()

    before = installation.rows()
    with pytest.raises(ff.BadInput, match="input of item 3 cannot be stored as JSON"):
        installation.client.submit(batch(), items=items())
    assert installation.rows() == before
    assert installation.blobs() == []


def test_inputs_that_cannot_be_kept_leave_no_file(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ff.BadInput, match="NaN"):
        installation.client.submit(one_step(read_all), tmp_path / "a.txt", float("nan"))
    assert installation.blobs() == []


def test_a_file_that_vanishes_while_others_are_copied_leaves_none(
    installation: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    keep = installation.store.keep

    def keep_one(task_id: str, name: str, source: Any) -> ff.File:
        if name == "b.txt":
            raise PulledPlug
        return keep(task_id, name, source)

    monkeypatch.setattr(installation.store, "keep", keep_one)
    with pytest.raises(PulledPlug):
        installation.client.submit(one_step(read_all), tmp_path / "a.txt", tmp_path / "b.txt")
    assert installation.blobs() == []


def test_a_hundred_items_are_claimable_in_less_than_a_tenth_of_a_second(installation: Installation) -> None:
    pipeline = installation.know(batch())
    worker = installation.worker()
    took = []
    for _ in range(7):
        # Processor time, which other processes do not increase.
        started = time.process_time()
        installation.client.submit(pipeline, items=range(100))
        assert len(worker.claim(100)) == 100
        took.append(time.process_time() - started)
    # The promise is 0.1 s; a slow machine gets some tolerance, and the best of several attempts counts.
    assert min(took) < 0.5


def test_the_same_key_gives_the_same_task(installation: Installation) -> None:
    pipeline = batch()
    first = installation.client.submit(pipeline, items=[1], key="k")
    again = installation.client.submit(pipeline, items=[1], key="k")
    other = installation.client.submit(pipeline, items=[1], key="k", owner="someone else")
    assert first.id == again.id != other.id
    assert again.total == 1
    assert len(installation.client.list()) == 2


def test_the_same_key_at_the_same_instant_gives_one_task(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    pipeline = one_step(read_all)
    start = threading.Barrier(6)
    ids: list[str] = []

    def submit() -> None:
        start.wait()
        ids.append(installation.client.submit(pipeline, tmp_path / "a.txt", key="k").id)

    threads = [threading.Thread(target=submit) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == 6
    assert len(set(ids)) == 1
    assert len(installation.client.list()) == 1
    assert len(installation.sql("SELECT * FROM items")) == 1
    assert len(installation.blobs()) == 1


def test_tasks_without_a_key_are_never_the_same(installation: Installation) -> None:
    assert installation.client.submit(batch(), items=[1]).id != installation.client.submit(batch(), items=[1]).id


def test_an_input_file_is_copied_in_and_outlives_the_original(installation: Installation, tmp_path: Path) -> None:
    source = tmp_path / "novel.txt"
    source.write_text("It was a dark and stormy night.")
    pipeline = installation.know(one_step(read_all))
    task = installation.client.submit(pipeline, str(source), ff.Upload("b.txt", b"by bytes"), 5)
    source.unlink()
    assert task.title == "novel.txt"
    assert installation.completed(task) == ["It was a dark and stormy night.", "by bytes", 5]


def test_a_large_input_of_an_item_is_kept_beside_the_database(installation: Installation) -> None:
    pipeline = installation.know(batch(handler=lambda item: len(item.input)))
    task = installation.client.submit(pipeline, items=["x" * 3_000_000, "small"])
    assert len(installation.blobs()) == 1
    [longest] = installation.sql("SELECT max(length(input)) AS size FROM item_data")
    assert longest.size < 1_000
    assert installation.completed(task) == [3_000_000, 5]


def test_arguments_of_a_function_are_its_inputs_and_options(installation: Installation) -> None:
    @ff.task
    def add(a: int, b: int, *, c: int = 0) -> int:
        return a + b + c

    @ff.task
    async def greet(task: Any, name: str) -> str:
        return f"{name} of {task.id}"

    installation.know(add, greet)
    assert installation.completed(installation.client.submit(add, 1, 2, options={"c": 3})) == 6
    task = installation.client.submit(greet, "no path")
    assert installation.completed(task) == f"no path of {task.id}"


@pytest.mark.parametrize(
    ("submission", "reason"),
    [
        ({}, r"begins with `convert` for each item, so it needs items=\[…\]"),
        ({"items": []}, "at least one item"),
        ({"items": [1], "key": ""}, "1 to 200 characters"),
        ({"items": [1], "key": "k" * 201}, "1 to 200 characters"),
        ({"items": [1], "key": "a\0"}, "NUL"),
        ({"items": [1], "owner": "o" * 201}, "at most 200"),
        ({"items": [1], "tags": [""]}, "tag must have 1 to 100"),
        ({"items": [1], "tags": ["t" * 101]}, "tag must have 1 to 100"),
        ({"items": [1], "tags": ["a\0"]}, "A tag contains a NUL"),
        ({"items": [1], "tags": ["\udc80"]}, "A tag contains half a surrogate pair"),
        ({"items": [1], "tags": "abc"}, "`tags` must be a list of text, not 'abc'"),
        ({"items": [1], "tags": 5}, "`tags` must be a list of text, not 5"),
        ({"items": [1], "tags": [1]}, "A tag must be text, not 1"),
        ({"items": [1], "tags": None}, "`tags` must be a list of text, not None"),
        ({"items": [1], "owner": 5}, "The owner must be text, not 5"),
        ({"items": [1], "owner": "a\0"}, "The owner contains a NUL"),
        ({"items": [1], "key": 5}, "The key must be text, not 5"),
        ({"items": [1], "key": "\ud800"}, "The key contains half a surrogate pair"),
        ({"items": [1], "title": 5}, "The title must be text, not 5"),
        ({"items": [1], "title": "a\0"}, "The title contains a NUL"),
        ({"items": [1], "title": "t" * 1_001}, "The title must have at most 1000 characters; it has 1001"),
        ({"items": [1], "priority": "x"}, "The priority must be a whole number, not 'x'"),
        ({"items": [1], "priority": True}, "The priority must be a whole number, not True"),
        ({"items": [1], "priority": 1.5}, "The priority must be a whole number, not 1.5"),
        ({"items": [1], "priority": -(10**5000)}, "out of range"),
        ({"items": [1], "retry_limit": "3"}, "The retry limit must be a whole number, not '3'"),
        ({"items": [1], "retry_limit": False}, "The retry limit must be a whole number, not False"),
        ({"items": [1], "options": "abc"}, "`options` must be a dict, not 'abc'"),
        ({"items": [1], "options": {"x": "a\0"}}, "NUL"),
        ({"items": [1], "options": {"\ud800": 1}}, "surrogate"),
        ({"items": [1], "metadata": [1]}, "`metadata` must be a dict"),
        ({"items": [1], "metadata": {"x": "\ud800"}}, "surrogate"),
        ({"items": "abc"}, "`items` must be a list or another iterable of items, not 'abc'"),
        ({"items": {"a": 1}}, "`items` must be a list"),
        ({"items": 5}, "`items` must be a list"),
        ({"items": [1], "retry_limit": -1}, "must be from 0 to 32766"),
        ({"items": [1], "priority": 2**31}, "out of range"),
        ({"items": [1], "options": {"x": float("inf")}}, "NaN or infinity"),
        ({"items": [1], "metadata": {"x": object()}}, "not JSON"),
        ({"items": [1], "title": "\ud800"}, "surrogate"),
        ({"items": ["a\0b"]}, "input of item 1 contains a NUL"),
        ({"items": [ff.NewItem("", 1)]}, "key of item 1 must have 1 to 200"),
        ({"items": [1, ff.NewItem("k" * 201, 1)]}, "key of item 2 must have 1 to 200"),
        ({"items": [ff.NewItem("a\0", 1)]}, "no NUL"),
        ({"items": [ff.NewItem("\ud800", 1)]}, "key of item 1"),
        ({"items": [ff.NewItem("same", 1), ff.NewItem("same", 2)]}, "have the key .same."),
    ],
)
def test_bad_input_is_refused_with_the_reason_and_nothing_is_kept(
    installation: Installation, submission: dict[str, Any], reason: str
) -> None:
    before = installation.rows()
    with pytest.raises(ff.BadInput, match=reason):
        installation.client.submit(batch(), **submission)
    assert installation.rows() == before


def test_a_pipeline_that_makes_its_own_items_takes_none(installation: Installation) -> None:
    with pytest.raises(ff.BadInput, match="give it inputs, not items"):
        installation.client.submit(one_step(read_all), items=[1])


@pytest.mark.parametrize("name", ["nowhere.txt", "x" * 5_000, "a\0b"])
def test_a_file_that_is_not_there_is_named(installation: Installation, name: str) -> None:
    with pytest.raises(ff.NotFound, match="There is no file"):
        installation.client.submit(one_step(read_all), name)


def test_a_folder_is_not_a_file(installation: Installation, tmp_path: Path) -> None:
    with pytest.raises(ff.BadInput, match="is a folder"):
        installation.client.submit(one_step(read_all), tmp_path)


def test_what_is_not_a_pipeline_cannot_be_submitted(installation: Installation) -> None:
    with pytest.raises(ff.BadPipeline, match="is not a pipeline"):
        installation.client.submit("book")  # type: ignore[arg-type]
    with pytest.raises(ff.BadPipeline, match="has no stages"):
        installation.client.submit(ff.Pipeline("empty"))
