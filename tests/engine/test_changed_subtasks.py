"""A subtask that is corrected after its parent has used its result does not change the parent, and the parent says so."""

from __future__ import annotations

from typing import Any

import pytest

import fanfold as ff
from tests.installation import HandClock, Installation

MADE: list[str] = []


def child_pipeline() -> ff.Pipeline:
    """Each attempt at an item makes another text."""
    made = ff.Pipeline("chapter")

    @made.each(name="translate")
    def translate(item: Any) -> str:
        MADE.append(item.input)
        return f"{item.input} {len(MADE)}"

    return made


def parent_pipeline(child: ff.Pipeline, *, keeps: bool = False) -> ff.Pipeline:
    """One subtask for each item; ``keeps``: a redo takes the result of the subtask that is there."""
    made = ff.Pipeline("book", subtasks=[child])

    @made.each(name="ask")
    def ask(item: Any) -> Any:
        if keeps and (known := item.subtask_result(child)) is not None:
            return known
        return item.submit_subtask(child, items=[item.input]).result()

    @made.merge(name="bind")
    def bind(task: Any, results: ff.Results[Any]) -> list[Any]:
        return [result.output for result in results]

    return made


@pytest.fixture(autouse=True)
def _fresh() -> None:
    MADE.clear()


def completed(installation: Installation, *, keeps: bool = False) -> tuple[ff.Task, list[ff.Task]]:
    child = child_pipeline()
    installation.know(parent_pipeline(child, keeps=keeps), child)
    task = installation.client.submit(installation.pipelines[-2], items=["a", "b"])
    installation.work()
    assert installation.client.get(task.id).state == "completed"
    return task, installation.client.list(parent=task.id, sort="oldest")


@pytest.mark.parametrize("command", ["retry", "rerun"])
def test_a_subtask_that_is_redone_changes_nothing_above_and_the_parent_says_so(
    installation: Installation, clock: HandClock, command: str
) -> None:
    task, (first, second) = completed(installation)
    client = installation.client
    before = client.result(task.id)
    assert client.get(task.id).changed_subtasks is None
    clock.advance(10)
    client.retry(second.id, ["1"]) if command == "retry" else client.rerun(second.id)
    installation.work()
    assert client.result(second.id) != before[1]
    assert client.result(task.id) == before
    told = client.get(task.id).changed_subtasks
    assert told is not None
    assert told.startswith(f"1 subtask was redone after its result was used here: {second.id}. This task still has the")
    assert "retry ask 2:" in told
    assert first.id not in told
    assert [one.changed_subtasks for one in client.list()] == [None] * 3, "lists do not look"


def test_a_retry_of_the_item_ends_the_note_with_a_new_subtask(installation: Installation, clock: HandClock) -> None:
    task, (first, _) = completed(installation)
    client = installation.client
    clock.advance(10)
    client.retry(first.id, ["1"])
    installation.work()
    corrected = client.result(first.id)
    assert client.get(task.id).changed_subtasks is not None
    clock.advance(10)
    client.retry(task.id, ["1"], stage="ask")
    installation.work()
    assert client.get(task.id).changed_subtasks is None
    assert client.result(task.id)[0] != corrected, "it comes from a new subtask"
    assert len(client.list(parent=task.id)) == 3


def test_a_handler_that_asks_for_the_existing_result_takes_the_correction(
    installation: Installation, clock: HandClock
) -> None:
    task, (first, _) = completed(installation, keeps=True)
    client = installation.client
    clock.advance(10)
    client.retry(first.id, ["1"])
    installation.work()
    clock.advance(10)
    client.retry(task.id, ["1"], stage="ask")
    installation.work()
    assert client.result(task.id)[0] == client.result(first.id)
    assert client.get(task.id).changed_subtasks is None
    assert len(client.list(parent=task.id)) == 2


def test_a_subtask_that_nobody_waits_for_and_that_ends_later_is_no_change(
    installation: Installation, clock: HandClock
) -> None:
    child = child_pipeline()
    made = ff.Pipeline("sender", subtasks=[child])

    @made.step(name="send")
    def send(task: Any) -> str:
        return str(task.submit_subtask(child, items=["a"]).name)

    installation.know(made)
    task = installation.client.submit(made)
    installation.work()
    clock.advance(10)
    installation.know(child)
    installation.work()
    assert installation.client.get(task.id).subtasks == {"completed": 1}
    assert installation.client.get(task.id).changed_subtasks is None
