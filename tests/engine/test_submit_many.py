"""Several tasks are submitted in one transaction, and one that fails stops no other."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from fanfold.engine.tasks.submitting.submission import Submission
from fanfold.engine.tasks.submitting.submit_many import submit_many
from fanfold.model.task import TaskRow
from fanfold.store.store import Store, Transaction
from tests.engine.pipelines import one_step
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
