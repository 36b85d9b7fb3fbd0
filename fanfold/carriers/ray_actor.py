"""What runs in an actor of Ray: it follows one hint after the other, so whatever a handler's module has loaded stays in memory.

Actors read the settings from the environment of their node: no address or password of a database travels through Ray.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Sequence

from fanfold.carriers.hint import Hint, follow
from fanfold.carriers.kept_children import KeptChildren
from fanfold.engine.discovery import load_all
from fanfold.settings import load as load_settings
from fanfold.store.store import Store

UNHEARD_SECONDS = 30.0
"""An actor without work ends when it was not told to stay for this long: its dispatcher is gone."""
CHECK_SECONDS = 1.0
THREADS = 4
"""Calls that an actor takes at the same time; only one of them works."""


class Follower:
    """Follows one hint at a time, with a store of its own.

    It is detached: if the dispatcher or its connection ends, it finishes what it does, and ends by itself.
    """

    def __init__(self, targets: Sequence[str]) -> None:
        logging.basicConfig(level=logging.INFO)
        self.pipelines = load_all(list(targets))
        self.store = Store.open(load_settings())
        self.children = KeptChildren(self.store.settings)
        self._working = threading.Lock()
        self._leaving = threading.Event()
        self._heard_at = time.monotonic()
        threading.Thread(target=self._end_when_unused, daemon=True, name="fanfold-idle").start()

    def work(self, pipeline: str, stage: str, seconds: float, hint: str) -> int:
        """Follow a hint; returns how many items are done.

        An actor may wait for its resources until its hint counts as lost. It is followed all the same.
        """
        with self._working:
            try:
                wanted = Hint(pipeline, stage, seconds, hint)
                report = follow(
                    self.store,
                    self.pipelines.values(),
                    wanted,
                    children=self.children,
                    late="ray",
                    is_over=self._leaving.is_set,
                )
                return 0 if report is None else report.finished
            finally:
                self._heard_at = time.monotonic()

    def stay(self) -> None:
        """Wait for the next hint."""
        self._heard_at = time.monotonic()

    def leave(self) -> None:
        """Claim nothing more, finish what was claimed, and end."""
        self._leaving.set()

    def _end_when_unused(self) -> None:
        while True:
            time.sleep(
                CHECK_SECONDS
            )  # After the last call too, so that its answer is on its way before the process ends.
            is_unused = self._leaving.is_set() or time.monotonic() - self._heard_at > UNHEARD_SECONDS
            if is_unused and self._working.acquire(blocking=False):
                self.children.end()
                self.store.close()
                os._exit(0)
