"""Handlers run beside each other: what one of them reads slowly must not hold up the others."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from fanfold.engine.handlers.task_and_item import ItemWork
from fanfold.store.store import Store, Transaction
from tests.engine.pipelines import batch
from tests.installation import Installation


class SlowStore:
    """A store whose first read, of the database or of a large input, lasts until it is told to end."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._is_first = True
        self.reading, self.go_on = threading.Event(), threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def _wait(self) -> None:
        if self._is_first:
            self._is_first = False
            self.reading.set()
            assert self.go_on.wait(60)

    def unfold(self, text: str | None, *types: Any) -> Any:
        self._wait()
        return self._store.unfold(text, *types)

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        self._wait()
        with self._store.read() as tx:
            yield tx


@pytest.mark.parametrize("look", [lambda work: work.input, lambda work: work.memory], ids=["input", "memory"])
def test_a_handler_does_not_wait_for_what_another_one_reads(
    installation: Installation, look: Callable[[ItemWork], Any]
) -> None:
    task = installation.client.submit(installation.know(batch()), items=["a", "b"])
    claimed = installation.worker("w").claim()
    with installation.store.read() as tx:
        row = tx.tasks.resolve(task.id)
    store: Any = SlowStore(installation.store)
    slow, quick = (ItemWork(store, row, one._replace(lease=2)) for one in claimed)
    reader = threading.Thread(target=look, args=(slow,), daemon=True)
    reader.start()
    assert store.reading.wait(60)
    other = threading.Thread(target=look, args=(quick,), daemon=True)
    other.start()
    other.join(60)
    waited = other.is_alive()
    store.go_on.set()
    reader.join(60)
    assert not waited, "it waited for the read of another item"
