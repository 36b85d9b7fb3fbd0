"""Renews the worker's lease and checks that its items are still wanted, in its own thread, which a busy loop cannot delay."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from fanfold.engine.worker.beside.host import new_worker_id, this_machine
from fanfold.engine.worker.beside.restart import keep_running
from fanfold.engine.worker.fleet_pace import FleetPace
from fanfold.errors import DatabaseProblem, FanfoldError
from fanfold.store.rows.workers import Report
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
FRESH_SHARE = 0.8
ANSWER_SHARE = 1 / 3
"""Share of the lease within which the database must answer a heartbeat; after that the connection is replaced."""


class Heartbeat:
    """Registers the worker, renews its lease, and finds items that were taken away or are no longer wanted."""

    def __init__(
        self,
        store: Store,
        name: str,
        serves: Sequence[tuple[str, str]],
        concurrency: int,
        *,
        report: Callable[[], Report],
        on_held: Callable[[dict[int, tuple[int, bool]], float], None],
        on_lost: Callable[[], None],
        on_misfit: Callable[[FanfoldError], None],
        pace: FleetPace | None = None,
    ) -> None:
        self.store = store
        self.name = name
        self.serves = serves
        self.concurrency = concurrency
        self.worker = new_worker_id(name)
        self._report = report
        self._on_held = on_held
        self._on_lost = on_lost
        self._on_misfit = on_misfit
        self._pace = pace or FleetPace()
        self._beaten_at = time.monotonic()
        self._given_up = False
        self._asked: tuple[int, float] | None = None
        """The thread that waits for a database reply, and since when."""
        self._stop = threading.Event()
        self._gone = threading.Event()
        self._begun = False
        self._thread = threading.Thread(
            target=lambda: keep_running(self._live, self._stop, lambda: self.worker, "heartbeat"),
            name=f"{name}-heartbeat",
            daemon=True,
        )
        self._watcher = threading.Thread(
            target=lambda: keep_running(self._watch, self._gone, lambda: self.worker, "watch"),
            name=f"{name}-watch",
            daemon=True,
        )

    def start(self) -> None:
        """Register, then start the threads."""
        if not self._watcher.is_alive():
            self._watcher.start()
        with self._answered():
            self._register()
        self._thread.start()
        self._begun = True

    def stop(self) -> None:
        """Sign off, if the database can be reached.

        Items that the database still counts as ours are handed back: the answer to their claim got lost, so nobody here
        knows them. Otherwise the sweep would count a crash for each.
        """
        self._stop.set()
        self._thread.join(self.store.settings.lease_seconds)
        try:
            with self._answered(), self.store.write() as tx:
                held = [
                    {"id": item, "lease": lease} for item, (lease, _) in sorted(tx.workers.held(self.worker).items())
                ]
                if held:
                    tx.settling.free_permits(list(tx.settling.release(held)))
                    tx.announce()
                tx.workers.leave(self.worker)
        except DatabaseProblem as problem:
            log.warning("[%s] Could not sign off: %s", self.worker, problem)
        self._gone.set()

    @property
    def fresh(self) -> bool:
        """Whether the lease was renewed recently enough to claim and settle under it."""
        return time.monotonic() - self._beaten_at < self.store.settings.lease_seconds * FRESH_SHARE

    def _register(self) -> None:
        with self.store.write() as tx:
            tx.workers.register(self.worker, this_machine(), os.getpid(), self.serves, self.concurrency)
            # Checked after the write, because the write may have waited for an upgrade.
            if misfit := tx.misfit():
                raise misfit
        self._beaten_at = time.monotonic()

    def _live(self) -> None:
        settings = self.store.settings
        self.store.database.own_connections()
        next_beat = self._beaten_at + settings.heartbeat_seconds
        looked_at = time.monotonic()
        while not self._stop.wait(min(settings.look_seconds, settings.heartbeat_seconds)):
            try:
                due = time.monotonic() >= next_beat or not self.fresh
                with self._answered():
                    if due:
                        self._look_at_the_revision()
                        self._beat()
                        next_beat = time.monotonic() + settings.heartbeat_seconds
                    wait = self._pace.check_seconds(settings.heartbeat_seconds)
                    if due or (self._report().running and time.monotonic() - looked_at >= wait):
                        self._look()
                        looked_at = time.monotonic()
            except DatabaseProblem as problem:
                log.warning("[%s] No heartbeat: %s Trying again in %g s", self.worker, problem, settings.look_seconds)

    @contextmanager
    def _answered(self) -> Iterator[None]:
        """Queries in this block are answered in time or fail: see ``_watch``."""
        self._asked = (threading.get_ident(), time.monotonic())
        try:
            yield
        finally:
            self._asked = None

    def _watch(self) -> None:
        """Replace a connection that does not answer: a dead one may look like a slow answer for hours.

        If no connection answers within the lease, others may have the items: drop them, and release every waiting thread.
        """
        settings = self.store.settings
        while not self._gone.wait(min(settings.look_seconds, settings.heartbeat_seconds)):
            if self._begun and not self._stop.is_set() and not self._thread.is_alive():
                self._on_misfit(FanfoldError("The thread of its heartbeat has ended", code="no_heartbeat"))
            now, asked = time.monotonic(), self._asked
            if asked is not None and now - asked[1] > settings.lease_seconds * ANSWER_SHARE:
                self.store.database.end_thread(asked[0])
            if now - self._beaten_at <= settings.lease_seconds:
                self._given_up = False
            elif not self._given_up and self._begun and not self._stop.is_set():
                self._given_up = True
                log.warning(
                    "[%s] No heartbeat for %g s: dropping all running items", self.worker, settings.lease_seconds
                )
                self._on_lost()
                self.store.database.end_all()

    def _look(self) -> None:
        """Report the items held here according to the database, and the time of the query: later claims are not in it."""
        asked_at = time.monotonic()
        with self.store.read() as tx:
            held = tx.workers.held(self.worker)
        self._on_held(held, asked_at)

    def _look_at_the_revision(self) -> None:
        """Stop if the database was upgraded to a revision that this code cannot use. Now and then, count the workers."""
        with self.store.read() as tx:
            misfit = tx.misfit()
            if self._pace.must_count():
                self._pace.counted(tx.workers.count_alive(self.store.settings.lease_seconds))
        if misfit is not None:
            self._on_misfit(misfit)

    def _beat(self) -> None:
        asked_at = time.monotonic()
        with self.store.write() as tx:
            alive = tx.workers.beat(self.worker, self._report(), self.store.settings.lease_seconds)
        if alive:
            self._beaten_at = asked_at
            self.store.database.end_silent()
            return
        log.warning(
            "[%s] Lost its leases: not seen for %g s. Dropping all running items and registering again",
            self.worker,
            self.store.settings.lease_seconds,
        )
        self._on_lost()
        with self.store.write() as tx:
            tx.workers.leave(self.worker)
        self.worker = new_worker_id(self.name)
        self._register()
