"""The dispatcher: compares waiting items with the hints under way, and sends what is missing.

A lost hint is sent again, a doubled one finds nothing to do. Several dispatchers may run: they only send more hints than needed.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil

from fanfold.carriers.hint import CLAIM_SECONDS, SHARED, Carrier, CarrierDown, Hint, slots
from fanfold.engine.worker.beside.heartbeat import Heartbeat
from fanfold.engine.worker.beside.service_threads import Services
from fanfold.engine.worker.claiming.candidates import Candidates
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.store.items.find_work import Pair, Served
from fanfold.store.rows.hints import HintRow, LostHints
from fanfold.store.rows.workers import Report
from fanfold.store.store import Store
from fanfold.store.transaction import Transaction

log = logging.getLogger("fanfold.dispatch")
HINTS = 8
"""Most hints under way per stage, and so most processes that work for it."""
RESEND_SECONDS = 15.0
"""A hint that nobody has followed for this long counts as lost: short enough that work is taken up within 20 s."""
BEGIN_SECONDS = 5.0
"""How long a process may take from following a hint to its first heartbeat."""
STEP_SECONDS = 1.0
LONGEST_PAUSE = 10.0


class Dispatcher:
    """Sends hints for the stages of some pipelines through one carrier."""

    def __init__(
        self,
        store: Store,
        pipelines: Iterable[Pipeline],
        carrier: Carrier,
        *,
        hints: int = HINTS,
        seconds: float = CLAIM_SECONDS,
        resend_seconds: float = RESEND_SECONDS,
    ) -> None:
        self.store = store
        self.pipelines = {pipeline.name: pipeline for pipeline in pipelines}
        if not self.pipelines:
            raise BadInput("There are no pipelines to dispatch. Name some, or install an application.")
        self.carrier = carrier
        self.hints = hints
        self.seconds = seconds
        self.resend_seconds = resend_seconds
        self._stages: dict[Pair, Stage] = {
            (pipeline.name, stage.name): stage
            for pipeline in self.pipelines.values()
            for stage in pipeline.all_stages()
        }
        self._candidates = Candidates(store, Served(self._stages))
        self._candidates.hurry()
        self._wake = threading.Event()
        self._over = threading.Event()
        self._misfit: FanfoldError | None = None
        self._pause = 0.0
        self._ended: set[str] = set()
        """Hints whose process was told to end."""

    def stop(self) -> None:
        """Stop; from any thread or signal handler. Processes that follow hints continue."""
        self._over.set()
        self._wake.set()

    def run(self) -> None:
        """Send hints until stopped. Recovers items of dead processes too, so that none waits for a hint to do so."""
        with self._registered():
            while not self._over.is_set():
                self._wake.clear()
                try:
                    self.step()
                except DatabaseProblem as problem:
                    log.warning("[dispatch] %s Trying again in %g s", problem, STEP_SECONDS)
                self._wake.wait(max(STEP_SECONDS, self._pause))
        if self._misfit is not None:
            raise self._misfit

    @contextmanager
    def _registered(self) -> Iterator[None]:
        """Be visible as a worker that serves these stages, and do what every worker does beside its items."""
        heartbeat = Heartbeat(
            self.store, "dispatch", list(self._stages), 0, report=Report, on_held=lambda held, at: None,
            on_lost=lambda: None, on_misfit=self._leave_for,
        )  # fmt: skip
        services = Services(
            self.store, self.pipelines, "dispatch", worker=lambda: heartbeat.worker, on_hint=self._wake.set
        )
        heartbeat.start()
        services.start()
        log.info("[%s] Started: sends hints through %s", heartbeat.worker, self.carrier.name)
        try:
            yield
        finally:
            services.stop()
            heartbeat.stop()
            services.join(STEP_SECONDS)

    def _leave_for(self, misfit: FanfoldError) -> None:
        self._misfit = misfit
        self.stop()

    def step(self) -> int:
        """Look once, and send what is missing; returns how many hints were sent."""
        self._drop_lost()
        with self.store.read() as tx:
            under_way = tx.hints.under_way(self.carrier.name)
        self._candidates.look(urgent=True)
        wanted = list(self._missing(under_way))
        self._take_back(under_way)
        return self._send(wanted) if wanted else 0

    def _drop_lost(self) -> None:
        """Forget hints that nobody follows, or no longer, so that others are sent in their place."""
        settings, dead = self.store.settings, self.carrier.lost()

        def drop(tx: Transaction) -> LostHints:
            tx.hints.end(dead)
            return tx.hints.drop_lost(self.carrier.name, self.resend_seconds, BEGIN_SECONDS, settings.lease_seconds)

        self._tell_unheard(self.store.transact(drop).silent)

    def _missing(self, under_way: Sequence[HintRow]) -> Iterator[Hint]:
        """The hints to send: enough processes for the items that wait, counting those on their way, up to the limit."""
        total = Counter((row.pipeline, row.stage) for row in under_way)
        coming = Counter((row.pipeline, row.stage) for row in under_way if not row.is_at_work)
        for pair, known in self._candidates.stages.items():
            room = self.hints - total[pair]
            if not known or room <= 0:
                continue
            per_process = slots(self._stages[pair])
            with self.store.read() as tx:
                numbers = [ready.task for ready in known.tasks()]
                waiting = tx.hints.waiting_items(numbers, pair[1], self.hints * per_process)
            for _ in range(min(room, ceil(waiting / per_process) - coming[pair])):
                yield Hint.new(pair, self.seconds)

    def _send(self, wanted: Sequence[Hint]) -> int:
        """Record and send hints; those that cannot be sent are forgotten again, and tried later."""
        self.store.transact(
            lambda tx: tx.hints.add(self.carrier.name, [(hint.id, hint.pipeline, hint.stage) for hint in wanted])
        )
        for sent, hint in enumerate(wanted):
            try:
                self.carrier.send(hint)
            except CarrierDown as problem:
                self._pause = min(LONGEST_PAUSE, max(STEP_SECONDS, self._pause * 2))
                log.warning("[dispatch] %s Trying again in %g s", problem, self._pause)
                unsent = [one.id for one in wanted[sent:]]
                self.store.transact(lambda tx: tx.hints.end(unsent))  # noqa: B023
                return sent
            log.debug("[dispatch] Sent %s", hint.id)
        self._pause = 0.0
        return len(wanted)

    def _take_back(self, under_way: Sequence[HintRow]) -> None:
        """End processes whose handlers ignore that their task was cancelled.

        The database comes first: the items are cancelled already, so it does not matter whether the carrier obeys.
        """
        at_work = {row.worker: row.id for row in under_way if row.worker and not row.worker.startswith(SHARED)}
        if not at_work:
            return
        with self.store.read() as tx:
            deaf = {row.worker for row in tx.unstopped.all(self.store.settings.lease_seconds)}
            # A process that also runs wanted items is left alone until these are done.
            free = [worker for worker in deaf if not any(wanted for _, wanted in tx.workers.held(worker).values())]
        for worker in free:
            hint = at_work.get(worker.rpartition("-")[0])
            if hint is not None and hint not in self._ended and self.carrier.revoke(hint, kill=True):
                self._ended.add(hint)
                log.warning("[dispatch] Ended the process of %s: its handler ignores that its task was cancelled", hint)

    def _tell_unheard(self, silent: Sequence[HintRow]) -> None:
        for name in {f"{row.pipeline}.{row.stage}" for row in silent}:
            log.warning(
                "[dispatch] Nobody has followed a hint for %s within %g s; sending it again. Is a process of the carrier "
                "running that takes them, or are all busy?", name, self.resend_seconds,
            )  # fmt: skip
