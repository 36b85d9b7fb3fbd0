"""Several tasks are submitted in one transaction, and one that fails stops no other."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submit_many import submit_many
from fanfold.errors import BadInput
from fanfold.model.task import Task, TaskRow
from fanfold.store.store import Store, Transaction
from tests.engine.pipelines import batch, one_step
from tests.installation import Installation


@pytest.fixture
def writes(monkeypatch: pytest.MonkeyPatch) -> list[Store]:
    """One entry for each transaction that writes."""
    seen: list[Store] = []
    real: Callable[[Store], AbstractContextManager[Transaction]] = Store.write

    def write(store: Store) -> AbstractContextManager[Transaction]:
        seen.append(store)
        return real(store)

    monkeypatch.setattr(Store, "write", write)
    return seen


def wishes(folder: Path, count: int) -> list[Submission]:
    found = []
    for number in range(count):
        path = folder / f"{number}.txt"
        path.write_text(str(number))
        found.append(Submission([path], key=f"k{number}", tags=["t"] if number else []))
    return found


def test_many_tasks_take_one_transaction(installation: Installation, tmp_path: Path, writes: list[Any]) -> None:
    pipeline = installation.know(one_step(lambda task: task.input.read_text()))
    rows = submit_many(installation.store, pipeline, wishes(tmp_path, 5))
    assert len(writes) == 1
    tasks = [installation.client.get(row.id) for row in rows if isinstance(row, TaskRow)]
    assert [task.title for task in tasks] == [f"{number}.txt" for number in range(5)]
    assert [task.tags for task in tasks] == [(), ("t",), ("t",), ("t",), ("t",)]
    installation.work()
    assert {installation.client.get(task.id).state for task in tasks} == {"completed"}


def test_a_task_that_fails_or_exists_stops_no_other(installation: Installation, tmp_path: Path) -> None:
    pipeline = installation.know(one_step(lambda task: task.input.read_text()))
    given = wishes(tmp_path, 3)
    before = installation.client.submit(pipeline, tmp_path / "0.txt", key="k0")
    (tmp_path / "1.txt").unlink()
    existing, missing, made = submit_many(installation.store, pipeline, given)
    assert isinstance(existing, TaskRow)
    assert existing.id == before.id
    assert isinstance(missing, Exception)
    assert isinstance(made, TaskRow)
    assert len(installation.client.list()) == 2


def test_a_client_submits_thousands_in_few_transactions_and_finds_those_that_exist(
    installation: Installation, writes: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fanfold.engine.tasks.submitting.submit_many.AT_ONCE", 10)
    pipeline = installation.know(batch())
    before = installation.client.submit(pipeline, items=["old"], key="k3", priority=7)
    writes.clear()
    wanted: list[dict[str, Any]] = [{"items": [number], "key": f"k{number}"} for number in range(25)]
    wanted[3] = {"items": ["old"], "key": "k3"}
    wanted[5] = {"items": [], "key": "k5"}
    wanted[24] = {"items": iter([23]), "key": "k23"}
    found = installation.client.submit_many(pipeline, wanted, priority=7, tags=["many"])
    assert len(writes) == 3
    tasks = [one for one in found if isinstance(one, Task)]
    assert len(tasks) == 24
    assert isinstance(found[5], BadInput)
    assert isinstance(found[3], Task)
    assert found[3].id == before.id
    assert found[24] == found[23], "the same key twice is one task"
    assert {task.priority for task in tasks} == {7}
    installation.work()
    assert {task.state for task in installation.client.list(limit=100)} == {"completed"}


def test_arguments_that_no_submission_has_are_named(installation: Installation) -> None:
    with pytest.raises(BadInput, match=r"A submission has no colour. It may have .*title"):
        installation.client.submit_many(installation.know(batch()), [{"items": [1], "colour": "red"}])


def test_a_list_of_tasks_takes_the_same_queries_however_many_there_are(installation: Installation) -> None:
    several, one = installation.know(batch()), one_step(lambda task: None)
    installation.client.submit_many(several, [{"items": ["a", "b"]} for _ in range(30)])
    installation.client.submit_many(installation.know(one), [{"inputs": [number]} for number in range(30)])
    installation.worker().claim(free=7)
    with installation.statements() as sent:
        few = installation.client.list(limit=32)
    before = len(sent)
    with installation.statements() as sent:
        many = installation.client.list(limit=60)
    assert len(sent) == before
    assert many[:32] == few
    assert sum(task.started_at is not None for task in many) == 7
