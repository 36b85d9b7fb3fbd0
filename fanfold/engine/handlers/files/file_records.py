"""Records files of attempts in the database, those of several threads in one transaction.

A command over hundreds of small files merges dozens of tasks at once. Each of them writes its result, and a transaction costs
more than the row that it writes.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from fanfold.model.item import Claimed
from fanfold.model.values.files import File

if TYPE_CHECKING:
    from fanfold.store.store import Store, Transaction

AT_ONCE = 100
"""Most files recorded in one transaction."""


@dataclass
class FileRecord:
    """A file to be recorded with its task, if the attempt that wrote it still has its lease."""

    file: File
    task: int
    claimed: Claimed
    held: bool | None = None
    """Whether the lease was held, and so the file is recorded; None until that is decided."""
    doubtful: bool = False
    """Whether an earlier transaction with it failed, perhaps after its commit."""

    def write(self, tx: Transaction) -> bool:
        """Record it, unless the lease is lost."""
        held = tx.settling.holds(self.claimed.id, self.claimed.lease)
        if held and not (self.doubtful and tx.blobs.find(self.task, self.file.key)):
            tx.blobs.add(self.file.key, self.task, self.file.name, self.file.size, self.claimed.id, self.claimed.lease)
        return held


class FileRecorder:
    """Records the files of one store. The thread that gets its turn writes those of all threads that wait for theirs."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._waiting: list[FileRecord] = []
        self._guard = threading.Lock()

    def record(self, store: Store, one: FileRecord) -> bool:
        """Record a file; False if the attempt has lost its lease."""
        with self._guard:
            self._waiting.append(one)
        with self._turn:
            if one.held is None:
                self._write(store, one)
        assert one.held is not None
        return one.held

    def _write(self, store: Store, own: FileRecord) -> None:
        with self._guard:
            self._waiting.remove(own)
            others, self._waiting = self._waiting[: AT_ONCE - 1], self._waiting[AT_ONCE - 1 :]
        some = [own, *others]
        try:
            with store.write() as tx:
                held = [one.write(tx) for one in some]
        except BaseException:
            # The others write their own, and get their own error.
            for one in others:
                one.doubtful = True
            with self._guard:
                self._waiting = [*others, *self._waiting]
            raise
        for one, is_held in zip(some, held, strict=True):
            one.held = is_held


class Recorders:
    """The recorder of each store of this process."""

    def __init__(self) -> None:
        self.begin_anew()

    def begin_anew(self) -> None:
        """Also in a forked process: the threads that wait or write are not in it."""
        self._making = threading.Lock()
        self._of: WeakKeyDictionary[Store, FileRecorder] = WeakKeyDictionary()

    def of(self, store: Store) -> FileRecorder:
        """The recorder that the threads of a store share."""
        with self._making:
            return self._of.setdefault(store, FileRecorder())


_recorders = Recorders()
recorder_of = _recorders.of
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_recorders.begin_anew)
