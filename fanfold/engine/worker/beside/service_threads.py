"""The threads of a worker besides its event loop and heartbeat: hints, sweep and cleanup."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from fanfold.engine.discovery import beside_service
from fanfold.engine.tasks.moving.transitions import Pipelines
from fanfold.engine.tasks.recovery.sweep import clean_if_due, recover_if_due, recover_now
from fanfold.engine.worker.beside.restart import keep_running
from fanfold.engine.worker.fleet_pace import FleetPace
from fanfold.store.dialects.notify import Hints
from fanfold.store.store import Store

HINT_SECONDS = 0.25
CLEAN_LOOK_SECONDS = 60.0
"""Interval at which a worker checks whether cleanup is due; it is due once an hour."""


class Services:
    """Starts the threads of one worker and ends them with it."""

    def __init__(
        self,
        store: Store,
        pipelines: Pipelines,
        name: str,
        *,
        worker: Callable[[], str],
        on_hint: Callable[[], None],
        on_told: Callable[[], None] | None = None,
        pace: FleetPace | None = None,
    ) -> None:
        """``on_hint``: there is work. ``on_told``: somebody announced some, to all workers; ``on_hint`` if None."""
        self.store = store
        self.pipelines = pipelines
        self._worker = worker
        self._on_hint = on_hint
        self._on_told = on_told or on_hint
        self._pace = pace or FleetPace()
        self.over = threading.Event()
        self._hints: Hints | None = None
        self._swept_at: float | None = None
        self._look: Callable[..., bool] = recover_now
        self._threads = [
            threading.Thread(target=self._keep, args=(run, what), daemon=True, name=f"{name}-{what}")
            for run, what in (
                (self._listen, "hints"),
                (self._sweep, "sweep"),
                (self._clean, "cleaning"),
                (self._carry_batches, "batches"),
            )
        ]

    def start(self) -> None:
        """Start the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Tell all threads to end; from any thread."""
        self.over.set()
        if (hints := self._hints) is not None:
            hints.interrupt()

    def join(self, seconds: float) -> None:
        """Wait at most ``seconds`` for the threads: a sweep may be waiting for the database."""
        end = time.monotonic() + seconds
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def swept_ago(self) -> float | None:
        """Seconds since the sweep last ran without an error; None before that."""
        return None if self._swept_at is None else time.monotonic() - self._swept_at

    def _keep(self, run: Callable[[], None], name: str) -> None:
        keep_running(run, self.over, self._worker, name)

    def _listen(self) -> None:
        hints = self._hints = Hints(self.store.database)
        try:
            while not self.over.is_set():
                if not self._pace.listens:
                    hints.close()
                    self.over.wait(HINT_SECONDS)
                elif hints.wait(self.over, HINT_SECONDS) and not self.over.is_set():
                    self._on_told()
        finally:
            hints.close()

    def _sweep(self) -> None:
        """Sweep at once, since this worker may replace one that has just died; later only when it is its turn."""
        self.store.database.own_connections()
        while not self.over.is_set():
            if self._look(self.store, self.pipelines, f"sweep of {self._worker()}"):
                self._on_hint()
            self._look, self._swept_at = recover_if_due, time.monotonic()
            self.over.wait(self.store.settings.sweep_seconds)

    def _clean(self) -> None:
        """Clean up in a separate thread: removing a million files must not keep the sweep from recovering items."""
        self.store.database.own_connections()
        self.over.wait(self.store.settings.sweep_seconds)
        while not self.over.is_set():
            clean_if_due(self.store, f"cleaning of {self._worker()}")
            self.over.wait(CLEAN_LOOK_SECONDS)

    def _carry_batches(self) -> None:
        """Handle batches in a separate thread: sending one may take minutes. Nothing is loaded while there are none."""
        self.store.database.own_connections()
        while not self.over.wait(self.store.settings.sweep_seconds):
            with self.store.read() as tx:
                is_due = tx.batches.is_anything_due()
            if is_due:
                beside_service("ask", "carry_batches")(self.store, self._worker())
