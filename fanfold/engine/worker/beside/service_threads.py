"""The threads of a worker beside its event loop and its heartbeat: hints, sweep and cleaning."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.engine.tasks.recovery.sweep import clean_if_due, recover_if_due, recover_now
from fanfold.engine.worker.beside.restart import keep_running
from fanfold.store.dialects.notify import Hints
from fanfold.store.store import Store

HINT_SECONDS = 0.25
CLEAN_LOOK_SECONDS = 60.0
"""How often a worker asks whether cleaning is due; it is due once an hour."""


class Services:
    """Starts the threads of one worker and lets them end with it."""

    def __init__(
        self,
        store: Store,
        pipelines: Pipelines,
        name: str,
        *,
        worker: Callable[[], str],
        on_hint: Callable[[], None],
    ) -> None:
        self.store = store
        self.pipelines = pipelines
        self._worker = worker
        self._on_hint = on_hint
        self.over = threading.Event()
        self._swept_at: float | None = None
        self._look: Callable[..., bool] = recover_now
        self._threads = [
            threading.Thread(target=self._keep, args=(run, what), daemon=True, name=f"{name}-{what}")
            for run, what in ((self._listen, "hints"), (self._sweep, "sweep"), (self._clean, "cleaning"))
        ]

    def start(self) -> None:
        """Begin."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Tell all of them to end; may be called from any thread."""
        self.over.set()

    def join(self, seconds: float) -> None:
        """Wait for all of them, but no longer than this: a sweep may wait for the database."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def swept_ago(self) -> float | None:
        """Seconds since the sweep last ran without an error; None before the first time."""
        return None if self._swept_at is None else time.monotonic() - self._swept_at

    def _keep(self, run: Callable[[], None], name: str) -> None:
        keep_running(run, self.over, self._worker, name)

    def _listen(self) -> None:
        hints = Hints(self.store.database)
        try:
            while not self.over.is_set():
                if hints.wait(self.over, HINT_SECONDS) and not self.over.is_set():
                    self._on_hint()
        finally:
            hints.close()

    def _sweep(self) -> None:
        """Recover at once, since this worker may replace one that has just died; then whenever it is this one's turn."""
        self.store.database.own_connections()
        while not self.over.is_set():
            if self._look(self.store, self.pipelines, f"sweep of {self._worker()}"):
                self._on_hint()
            self._look, self._swept_at = recover_if_due, time.monotonic()
            self.over.wait(self.store.settings.sweep_seconds)

    def _clean(self) -> None:
        """In a thread of its own: removing a million files must not keep the sweep from recovering items."""
        self.store.database.own_connections()
        self.over.wait(self.store.settings.sweep_seconds)
        while not self.over.is_set():
            clean_if_due(self.store, f"cleaning of {self._worker()}")
            self.over.wait(CLEAN_LOOK_SECONDS)
