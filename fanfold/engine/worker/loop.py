"""The worker's loop: claims due items, runs their handlers, settles them, and advances tasks."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from fanfold.engine.discovery import finish_services
from fanfold.engine.handlers.external_job import GRACE_SECONDS
from fanfold.engine.worker.attempt.attempts import Attempts, Held
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.caller import Caller
from fanfold.engine.worker.attempt.measured import Measured
from fanfold.engine.worker.attempt.threads import LoopExecutor
from fanfold.engine.worker.attempt.time_limit import LoopBlocked
from fanfold.engine.worker.attempt.waiting_items import OFFER_SECONDS, WaitingItems
from fanfold.engine.worker.beside.blocked_loop import WatchedWorker
from fanfold.engine.worker.beside.collect_seldom import collecting_seldom
from fanfold.engine.worker.beside.heartbeat import Heartbeat
from fanfold.engine.worker.beside.service_threads import Services
from fanfold.engine.worker.beside.watchdog import Watchdog
from fanfold.engine.worker.claiming.ahead import AHEAD_SECONDS, may_claim_ahead, room_ahead
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.handler_batches import calls_of
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.claiming.slots import capped, slots_for
from fanfold.engine.worker.database_thread import DatabaseThread
from fanfold.engine.worker.large_moves import LargeMoves
from fanfold.engine.worker.processes.children import Children
from fanfold.engine.worker.processes.main_script import check_reachable
from fanfold.engine.worker.signals import heeded
from fanfold.engine.worker.stop_times import StopTimes
from fanfold.engine.worker.turn import Turn, take_turn
from fanfold.engine.worker.wake_ups import WakeUps
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Stage, Target, by_name
from fanfold.model.task import TaskRow
from fanfold.settings import load as load_settings
from fanfold.store.files.file_store import FILES_AWAY
from fanfold.store.items.find_work import Pair
from fanfold.store.rows.workers import Report
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
JOIN_SECONDS = 5.0
"""How long a worker waits for its threads at the end."""
DRAIN_SECONDS = 1.0
"""With ``drain`` (run until nothing is left): the longest wait for the next due item."""
HAND_BACK_SECONDS = 3.0
"""How long a stopping worker tries to write its last results, which may have cost money, if the database does not answer."""
LEAVE_SECONDS = 0.5
"""How long a tick waits for its threads at the end."""
TICK_GRACE_SECONDS = 1.5
"""How long a tick waits at its end for an external job that is being started."""
CLAIM_SHARE, CLAIM_LEAST = 0.5, 100
"""Claim at most this share of the slots per turn (and at least CLAIM_LEAST), so items run while the next batch is claimed."""
GATHER_SECONDS = 0.01
GATHER_SHARE = 0.1
"""A turn costs about the same for one result as for fifty, so wait up to GATHER_SECONDS for more if few have arrived."""


class Worker:
    """Serves the stages of some pipelines until it is stopped.

    ``run()`` blocks; ``stop()`` may be called from any thread or signal handler: once to finish or hand back what is in
    flight within the grace time, twice to hand it back at once. If the database is upgraded to a revision that this code
    cannot use, the worker stops in the same way by itself, and ``run()`` raises DatabaseProblem.
    """

    def __init__(
        self,
        pipelines: Iterable[Target],
        *,
        store: Store | None = None,
        database: str | None = None,
        data: str | None = None,
        concurrency: int | None = None,
        children: int | Children | None = None,
        stages: Iterable[str] = (),
        name: str = "worker",
        only: Container[int] | None = None,
        tasks_per_stage: int | None = None,
        fits: Callable[[Stage], bool] = lambda stage: True,
        outlives_handlers: bool = False,
        measured: Measured | None = None,
        ahead_seconds: float = AHEAD_SECONDS,
    ) -> None:
        """``outlives_handlers``: with ``drain``, stay until handlers that ignore a cancel have ended: the process continues.

        ``ahead_seconds``: how much work of fast handlers is claimed ahead; for one stage it may be more than for many.
        """
        self.store = store or Store.open(load_settings(database=database, data=data))
        self.pipelines = by_name(pipelines)
        self.children = children if isinstance(children, Children) else Children(self.store.settings, at_once=children)
        self.name = name
        self._outlives_handlers = outlives_handlers
        self._measured = measured
        self._ahead_seconds = ahead_seconds
        self.claimer = Claimer(self.store, self.pipelines, stages, tasks_per_stage, only, fits)
        served = self.claimer.served_stages()
        check_reachable(stage for _, stage in served)
        self.concurrency = (
            concurrency or self.store.settings.concurrency or slots_for(served, self.store.settings.isolate)
        )
        isolate = self.store.settings.isolate
        self._claimed_ahead = [(line, stage) for line, stage in served if may_claim_ahead(stage, isolate)]
        self._at_once = {(line.name, stage.name): stage.concurrency for line, stage in served if stage.concurrency}
        self.capped = capped(served, self.concurrency)
        """Sentences about stages that could use more slots than there are."""
        self._stopping = StopTimes(self.store.settings.grace_seconds)
        self._misfit: FanfoldError | None = None
        self._wake_ups = WakeUps(name)
        self._turning = False
        self._database = DatabaseThread(self.store, name, self._stopping, lambda: self._misfit)

    @property
    def id(self) -> str:
        """This worker's id in the database."""
        return self._heartbeat.worker

    @property
    def endings(self) -> Counter[Ending]:
        """How the attempts of this run ended."""
        return self._attempts.endings

    def stop(self) -> None:
        """Stop: gracefully at the first call, at once at the second."""
        self._stopping.ask()
        self.wake()

    def wake(self) -> None:
        """Poll for work now; may be called from any thread."""
        self._wake_ups.from_thread(self._wake_ups.note)()

    def run(
        self,
        *,
        until: Callable[[], bool] | None = None,
        drain: bool = False,
        seconds: float | None = None,
        signals: bool = False,
        exit_code: int | None = None,
        budget: float | None = None,
    ) -> None:
        """Work until stopped, until ``until()``, until there is nothing to do (``drain``), or for some ``seconds``.

        ``signals``: SIGTERM and Ctrl-C stop it. ``exit_code``: if the worker must be gone while a handler blocks the event
        loop and cannot be interrupted, the process ends with this code. ``budget`` is the old name of ``seconds``.
        """
        refuse_in_loop("A worker", "await asyncio.to_thread(worker.run)")
        self._stopping.give(seconds if budget is None else budget)
        self._until = until
        self._drain = drain
        if drain:
            self.claimer.candidates.hurry()
        freezes = gc.get_freeze_count() == 0  # A program that has frozen its own objects keeps them frozen.
        if freezes:
            gc.freeze()  # Otherwise each full collection would scan all modules again, although they stay.
        try:
            with collecting_seldom(), heeded(self.stop) if signals else nullcontext():
                asyncio.run(self._main(exit_code))
        except LoopBlocked:
            log.debug("[%s] Interrupted outside a handler", self.name)
        finally:
            if freezes:
                gc.unfreeze()
        if self._misfit is not None:
            raise self._misfit

    async def _main(self, exit_code: int | None) -> None:
        # A tick registers only stages that fit its time, so that people see that nobody serves the rest.
        serves = [(line.name, one.name) for line, one in self.claimer.served_stages() if self.claimer.fits(one)]
        self._assemble(serves)
        watchdog = Watchdog(WatchedWorker(self), self._attempts, self.name, exit_code)
        await self._database.persistently(self._heartbeat.start)
        try:
            self._services.start()
            watchdog.start()
            log.info("[%s] Started: serves %s", self.id, ", ".join(f"{pipeline}.{stage}" for pipeline, stage in serves))
            for sentence in self.capped:
                log.info("[%s] %s", self.id, sentence)
            await self._check_files()
            await self._work()
        finally:
            await self._leave(watchdog)

    async def _check_files(self) -> None:
        """Wait with the first claim while the bucket of the files is away; raises if it is not safe to use."""
        try:
            await self._database.persistently(self.store.check_files)
        except DatabaseProblem as problem:
            if problem.code not in FILES_AWAY:
                raise
            self._shortages.note()

    def _assemble(self, serves: list[tuple[str, str]]) -> None:
        """Create the parts of this run, in the loop that they live in."""
        asyncio.get_running_loop().set_default_executor(LoopExecutor(f"{self.name}-loop"))
        wake_ups = self._wake_ups
        wake_ups.attach()
        self._caller = Caller(self.store, self.name, self.children, self._leave_for)
        tells = bool(self.store.settings.telemetry)
        self._attempts = Attempts(
            self._caller,
            lambda: self.id,
            wake_ups.wake,
            self.store.scratch,
            self.store.check_files,
            tells=tells,
            measured=self._measured,
        )
        self._shortages = self._attempts.shortages
        offer_seconds = max(OFFER_SECONDS, self._ahead_seconds)
        self._waiting = WaitingItems(self._attempts, self._start_one, self._has_slot, self._may_start, offer_seconds)
        self._attempts.on_free = self._waiting.fill_slots
        self._caller.unstopped.worker = lambda: self.id
        self._services = Services(
            self.store,
            self.pipelines,
            self.name,
            worker=lambda: self.id,
            on_hint=wake_ups.from_thread(wake_ups.note),
            on_told=wake_ups.from_thread(wake_ups.follow),
            pace=wake_ups.pace,
        )
        self._moves = LargeMoves(
            self.store,
            self.pipelines,
            self._caller.threads,
            worker=lambda: self.id,
            is_over=self._services.over.is_set,
            in_loop=wake_ups.from_thread,
            on_moved=wake_ups.note,
        )
        self._heartbeat = Heartbeat(
            self.store,
            self.name,
            serves,
            self.concurrency,
            report=self._report,
            on_held=self._held,
            on_lost=wake_ups.from_thread(self._lose_all),
            on_misfit=wake_ups.from_thread(self._leave_for),
            pace=wake_ups.pace,
        )

    async def _leave(self, watchdog: Watchdog) -> None:
        """Hand back running items, and end every part."""
        self._services.stop()
        await self._hand_back()
        watchdog.stop()
        await self._moves.end(LEAVE_SECONDS)
        if not self._stopping.at_once:
            await finish_services(self._stopping.grace_left())
        self._caller.close()
        await asyncio.to_thread(self._heartbeat.stop)
        patience = JOIN_SECONDS if self._stopping.end_at is None else LEAVE_SECONDS
        await asyncio.to_thread(self._services.join, patience)
        self._database.close()
        log.info("[%s] Stopped", self.id)

    async def _work(self) -> None:
        while True:
            if not self._may_start():
                self._waiting.release_all()
            if self._stopping.begun() and (not self._attempts or self._stopping.is_over()):
                return
            if self._shortages.seconds_to_probe() == 0:
                self._shortages.end(await asyncio.to_thread(self._shortages.probe))
            turn = await self._turn()
            if self._until is not None and await asyncio.to_thread(self._until):
                return
            if turn.again or turn.cut_short:
                continue
            if self._drain and self._is_drained(turn):
                return
            await self._rest()

    def _is_drained(self, turn: Turn) -> bool:
        """Whether nothing runs, nothing can be claimed, and nothing becomes due soon, within the time of this run."""
        if (
            self._attempts
            or self._waiting
            or self._attempts.settled
            or turn.claimed
            or self.claimer.can_claim
            or self._moves
        ):
            return False
        if self._shortages.lasts or (self._outlives_handlers and self._caller.unstopped.any_runs):
            return False
        if turn.settled:
            # Items just settled may be due again soon, and were not polled yet.
            self._wake_ups.note()
            return False
        if self.claimer.candidates.seconds_to_look is not None:
            return False
        end = self._stopping.end_at
        left = DRAIN_SECONDS if end is None else end - time.monotonic()
        soon = self.claimer.seconds_to_next
        return soon is None or soon > min(DRAIN_SECONDS, left)

    async def _turn(self) -> Turn:
        """settle → advance → poll → claim, in the database thread; then start what was claimed."""
        hinted = self._wake_ups.take()
        self._waiting.release_late()
        settled, begun = self._attempts.take_settled(), self._attempts.unnoted()
        free, ahead = self._free(), self._room_ahead()
        most = max(CLAIM_LEAST, int(self.concurrency * CLAIM_SHARE))
        offered = min(free, most)
        room = self._attempts.room(offered, ahead)
        in_flight = set(self._attempts.per_task()) | self._waiting.tasks()
        self._turning = True
        large: set[int] = set()
        turn: Turn = await self._database.persistently(
            lambda: take_turn(
                self.store,
                self.claimer,
                self.pipelines,
                self.id,
                settled,
                room,
                in_flight=in_flight,
                hinted=hinted,
                large=large,
                begun=begun,
            )
        )
        self._waiting.release_of(turn.stopped)
        for row, claimed in turn.claimed:
            if claimed.ahead:
                self._waiting.put(row, claimed)
        for row, stage, items in calls_of([one for one in turn.claimed if not one[1].ahead], self.pipelines):
            self._start(row, stage, items)
        if offered > 0:
            self._waiting.offered()
        self._waiting.fill_slots()
        self._moves.begin(large)
        self._turning = False
        self._wake_ups.noted = self._wake_ups.noted or turn.again
        return replace(turn, cut_short=(room.slots == 0 and most < free) or room.items <= 0 < room.slots)

    def _may_start(self) -> bool:
        """Whether items may be claimed and started now."""
        return not self._stopping.begun() and not self._shortages.lasts and self._heartbeat.fresh

    def _free(self) -> int:
        return self.concurrency - len(self._attempts) if self._may_start() else 0

    def _has_slot(self, pair: Pair) -> bool:
        at_once = self._at_once.get(pair)
        return len(self._attempts) < self.concurrency and (at_once is None or self._attempts.running_in(pair) < at_once)

    def _room_ahead(self) -> dict[Pair, int]:
        """How many items may be claimed ahead, per stage. A tick has no time for them."""
        if self._stopping.end_at is not None or not self._may_start():
            return {}
        waiting = self._waiting.per_stage()
        return room_ahead(self._claimed_ahead, self.concurrency, self._attempts.times, waiting, self._ahead_seconds)

    def _start(self, row: TaskRow, stage: Stage, items: list[Claimed]) -> None:
        """Start a call for one item, or for a batch."""
        grace = GRACE_SECONDS if self._stopping.end_at is None else TICK_GRACE_SECONDS
        pipeline, run_in_child = self.pipelines[row.pipeline], self._caller.run_in_child
        call = Call(self.store, pipeline, stage, row, items[0], run_in_child, grace)
        self._attempts.start(call if stage.batch is None else BatchCall(call, items[1:]))

    def _start_one(self, row: TaskRow, claimed: Claimed) -> None:
        """Start the call of an item that has waited for a slot."""
        stage = self.pipelines[row.pipeline].find(claimed.stage)
        assert stage is not None, "only items of served stages are claimed"
        self._start(row, stage, [claimed])

    async def _rest(self) -> None:
        """Wait for a settlement, a hint, the next due time, or the next poll."""
        if self._ahead_seconds > AHEAD_SECONDS:
            await self._use_up_half()
        pace = self._wake_ups.pace
        longest = pace.poll_seconds(self.store.settings.poll_seconds)
        if self.claimer.seconds_to_next is not None and self._free() > 0:
            longest = min(longest, max(0.01, self.claimer.seconds_to_next + 0.005) + pace.seconds_after_due())
        if self.claimer.candidates.seconds_to_look is not None and self._free() > 0:
            longest = min(longest, max(0.001, self.claimer.candidates.seconds_to_look))
        if (soon := self._shortages.seconds_to_probe()) is not None:
            longest = min(longest, soon + 0.005)
        if (left := self._stopping.seconds_left()) is not None:
            longest = min(longest, left + 0.01)
        if (left := self._waiting.seconds_left()) is not None:
            longest = min(longest, left + 0.005)
        await self._wake_ups.rest(longest)
        # While items wait for a slot, no slot is empty during the wait.
        enough = max(self.concurrency * GATHER_SHARE, min(CLAIM_LEAST, len(self._waiting)))
        if self._attempts and not self._wake_ups.noted and self._attempts.settled < enough:
            await asyncio.sleep(GATHER_SECONDS)

    async def _use_up_half(self) -> None:
        """Wait until half of the items claimed ahead have begun: no slot is empty meanwhile, and one turn settles many.

        There is no room for more either, so hints do not count. On SQLite, each commit of another process is one.
        """
        end, half = time.monotonic() + self._ahead_seconds / 2, len(self._waiting) / 2
        while self._may_start() and self._free() == 0 and len(self._waiting) > half and time.monotonic() < end:
            await asyncio.sleep(GATHER_SECONDS)

    async def _hand_back(self) -> None:
        """Cancel every running handler and hand its item back, and those that wait for a slot."""
        self._waiting.release_all()
        await self._attempts.hand_back(self._stopping.cut_off(self.store.settings.hand_back_limit))
        settled = self._attempts.take_settled()
        if not settled:
            return
        turn = partial(
            take_turn,
            self.store,
            self.claimer,
            self.pipelines,
            self.id,
            settled,
            Room(0),
            in_flight=set(),
            hinted=False,
        )
        patience = HAND_BACK_SECONDS if self._stopping.end_at is None else LEAVE_SECONDS
        if (problem := await self._database.within(turn, patience)) is not None:
            again = "They run again when the lease ends"
            log.warning("[%s] Could not hand back %d items: %s %s", self.id, len(settled), problem, again)

    def _leave_for(self, misfit: FanfoldError) -> None:
        """Stop because this code cannot continue (database or script do not fit, or no heartbeat); ``run`` raises the reason."""
        if self._misfit is None:
            log.warning(
                "[%s] %s. Finishing or handing back running items, then stopping", self.id, str(misfit).rstrip(".")
            )
            self._misfit = misfit
            self._services.stop()
            self.stop()

    def _report(self) -> Report:
        done, failed, seconds = self._attempts.stats.last_minute()
        swept_ago = self._services.swept_ago()
        return Report(len(self._attempts), self._stopping.asked > 0, done, failed, round(seconds, 3), swept_ago)

    def _held(self, held: Held, asked_at: float) -> None:
        """In the heartbeat's thread: let the loop compare, and notice if it cannot."""
        self._caller.unstopped.look_while_blocked(self._attempts.all(), held)
        self._wake_ups.from_thread(self._compare)(held, asked_at)

    def _compare(self, held: Held, asked_at: float) -> None:
        self._waiting.compare(held, asked_at)
        waiting = self._waiting.ids()
        lost_claims = self._attempts.compare(held, asked_at, turning=self._turning, waiting=waiting)
        if lost_claims:
            self._database.submit(self._release, lost_claims)

    def _release(self, rows: list[dict[str, int]]) -> None:
        with self.store.write() as tx:
            tx.settling.free_permits(list(tx.settling.release(rows)))
            tx.announce()

    def _lose_all(self) -> None:
        self._waiting.lose_all()
        self._attempts.lose_all()


def refuse_in_loop(what: str, instead: str) -> None:
    """Raise an error inside a running event loop, and name the alternative: blocking would stop everything else in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise BadInput(
        f"{what} blocks until it is done, and an event loop is running here. Write: {instead}", code="in_loop"
    )
