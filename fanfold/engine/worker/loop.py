"""Who does the work? A worker: claims due items, runs their handlers, settles them, and moves tasks on."""

from __future__ import annotations

import asyncio
import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any

from fanfold.engine.discovery import finish_services
from fanfold.engine.tasks.copy_items import move_on
from fanfold.engine.tasks.transitions import left_for_later
from fanfold.engine.worker.attempt_result import OutOfTime
from fanfold.engine.worker.attempts import Attempts, Held
from fanfold.engine.worker.blocked_loop import Aside
from fanfold.engine.worker.call import Call, Caller
from fanfold.engine.worker.children import Children
from fanfold.engine.worker.claim import Claimer, Room
from fanfold.engine.worker.heartbeat import Pulse
from fanfold.engine.worker.main_script import check_reachable
from fanfold.engine.worker.service_threads import Services
from fanfold.engine.worker.signals import heeded
from fanfold.engine.worker.slots import capped, places_for
from fanfold.engine.worker.time_limit import LoopBlocked
from fanfold.engine.worker.turn import Turn, take_turn
from fanfold.engine.worker.watchdog import Watchdog
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError
from fanfold.model.item import Claimed
from fanfold.model.moments import told_at
from fanfold.model.pipeline import Pipeline, TaskFunction, by_name
from fanfold.model.shortage import told
from fanfold.model.task import TaskRow
from fanfold.settings import load as load_settings
from fanfold.store.database_errors import UNREACHABLE
from fanfold.store.store import Store
from fanfold.store.workers import Report

log = logging.getLogger("fanfold.worker")
LONGEST_PAUSE = 5.0
DRAIN_SECONDS = 1.0
"""A worker that runs until there is nothing to do waits so long for what falls due next."""
HAND_BACK_SECONDS = 3.0
"""How long a worker that leaves tries to write its last results while the database does not answer: they may be paid for."""
LEAVE_SECONDS = 0.5
"""A worker with a time budget waits no longer than this for its own threads at the end."""
TICK_GRACE_SECONDS = 1.5
"""A worker with a time budget waits no longer than this for the start of an external job that is under way at the end."""
CLAIM_SHARE, CLAIM_LEAST = 0.5, 100
"""Of its places a worker fills at most this share in one turn, but so many at least: while the next are claimed, these run."""
GATHER_SECONDS = 0.01
GATHER_SHARE = 0.1
"""A turn costs nearly the same for one ending as for fifty: until so many of the places are free, so long is waited for more."""


class Worker:
    """Serves the stages of some pipelines until it is stopped.

    ``run()`` blocks; ``stop()`` may be called from any thread or signal handler: once to finish or hand back what is in
    flight within the grace time, twice to hand it back at once. When the database is upgraded to a revision that this code
    cannot go on with, it stops in the same way by itself, and ``run()`` raises DatabaseProblem.
    """

    def __init__(
        self,
        pipelines: Iterable[Pipeline | TaskFunction],
        *,
        store: Store | None = None,
        database: str | None = None,
        data: str | None = None,
        concurrency: int | None = None,
        children: int | Children | None = None,
        stages: Iterable[str] = (),
        name: str = "worker",
        only: Container[int] | None = None,
    ) -> None:
        self.store = store or Store.open(load_settings(database=database, data=data))
        self.pipelines = by_name(pipelines)
        self.children = children if isinstance(children, Children) else Children(self.store.settings, at_once=children)
        self.name = name
        self.claimer = Claimer(self.store, self.pipelines, stages, only=only)
        served = self.claimer.served_stages()
        check_reachable(stage for _, stage in served)
        self.concurrency = concurrency or self.store.settings.concurrency or places_for(served)
        self.capped = capped(served, self.concurrency)
        """What to tell people of stages that could use more places than there are."""
        self._stops = 0
        self._stop_at: float | None = None
        self._misfit: FanfoldError | None = None
        self._hinted = True
        self._turning = False
        self._moving: set[int] = set()
        """Tasks whose many items are being copied into their next stage, beside the turns."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._database_thread = ThreadPoolExecutor(
            1, thread_name_prefix=f"{name}-database", initializer=self.store.database.own_connections
        )

    @property
    def id(self) -> str:
        """This worker's id in the database."""
        return self._pulse.worker

    @property
    def endings(self) -> Counter[str]:
        """How the attempts of this run ended, by verb: finish, fail, back_off, postpone, hold, release, crash."""
        return self._attempts.endings

    def stop(self) -> None:
        """Stop: first gracefully, at the second call at once."""
        self._stop_at = self._stop_at or time.monotonic() + self.store.settings.grace_seconds
        self._stops += 1
        self._from_thread(self._note_hint)()

    def wake(self) -> None:
        """Have it look for work now; may be called from any thread."""
        self._from_thread(self._note_hint)()

    def run(
        self,
        *,
        until: Callable[[], bool] | None = None,
        drain: bool = False,
        budget: float | None = None,
        signals: bool = False,
        exit_code: int | None = None,
    ) -> None:
        """Work until stopped, until ``until()``, until there is nothing to do (``drain``), or for ``budget`` seconds.

        ``signals``: SIGTERM and Ctrl-C stop it. With an ``exit_code`` the process is ended with it when a handler blocks the
        event loop, the worker must be gone, and the handler cannot be interrupted.
        """
        refuse_in_loop("A worker", "await asyncio.to_thread(worker.run)")
        self._budget = budget
        self._end_at = None if budget is None else time.monotonic() + budget
        self._until = until
        self._drain = drain
        if drain:
            self.claimer.candidates.hurry()
        gc.freeze()  # What is there already stays: without it each full collection looks through all modules again.
        try:
            with heeded(self.stop) if signals else nullcontext():
                asyncio.run(self._main(exit_code))
        except LoopBlocked:
            log.debug("[%s] Interrupted outside a handler", self.name)
        finally:
            gc.unfreeze()
        if self._misfit is not None:
            raise self._misfit

    async def _main(self, exit_code: int | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._caller = Caller(self.store, self.name, self.children, self._leave_for)
        self._attempts = Attempts(self._caller, lambda: self.id, self._wake.set, scratch=self.store.scratch)
        self._shortages = self._attempts.shortages
        self._services = Services(
            self.store,
            self.pipelines,
            self.name,
            worker=lambda: self.id,
            on_hint=self._from_thread(self._note_hint),
        )
        # Of a tick only what fits its budget: people see that nobody serves the rest.
        serves = [(line.name, one.name) for line, one in self.claimer.served_stages() if self.claimer.fits(one)]
        self._pulse = Pulse(
            self.store,
            self.name,
            serves,
            self.concurrency,
            report=self._report,
            on_held=self._from_thread(self._compare),
            on_lost=self._from_thread(self._lose_all),
            on_misfit=self._from_thread(self._leave_for),
        )
        watchdog = Watchdog(Aside(self), self._attempts, self.name, exit_code)
        await self._persistently(self._pulse.start)
        try:
            self._services.start()
            watchdog.start()
            log.info("[%s] Started: serves %s", self.id, ", ".join(f"{pipeline}.{stage}" for pipeline, stage in serves))
            for sentence in self.capped:
                log.info("[%s] %s", self.id, sentence)
            await self._work()
        finally:
            self._services.stop()
            await self._hand_back()
            watchdog.stop()
            await self._end_moves()
            if self._stops < 2:
                await finish_services(self._grace_left())
            self._caller.close()
            await asyncio.to_thread(self._pulse.stop)
            await asyncio.to_thread(self._services.join, LONGEST_PAUSE if self._end_at is None else LEAVE_SECONDS)
            self._database_thread.shutdown(wait=False)
            log.info("[%s] Stopped", self.id)

    async def _work(self) -> None:
        while True:
            ending = self._stops > 0 or self._out_of_time()
            if ending and (not self._attempts or self._stops > 1 or time.monotonic() >= (self._stop_at or 0)):
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
        """Whether nothing runs, nothing can be claimed, and nothing falls due in a moment that this run still has."""
        if self._attempts or self._attempts.settled or turn.claimed or self.claimer.can_claim or self._moving:
            return False
        if self._shortages.lasts:
            return False
        if turn.settled:
            # What has just been settled may be due again soon, and was not looked at yet.
            self._hinted = True
            self._wake.set()
            return False
        if self.claimer.candidates.seconds_to_look is not None:
            return False
        left = DRAIN_SECONDS if self._end_at is None else self._end_at - time.monotonic()
        soon = self.claimer.seconds_to_next
        return soon is None or soon > min(DRAIN_SECONDS, left)

    async def _turn(self) -> Turn:
        """Settle what has ended, claim for the free places, move tasks on, start what was claimed."""
        self._wake.clear()
        settled = self._attempts.take_settled()
        hinted, self._hinted = self._hinted, False
        free = self._free()
        most = max(CLAIM_LEAST, int(self.concurrency * CLAIM_SHARE))
        room = Room(min(free, most), self._attempts.per_stage())
        in_flight = set(self._attempts.per_task())
        self._turning = True
        large: set[int] = set()
        turn: Turn = await self._persistently(
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
            )
        )
        for row, claimed in turn.claimed:
            self._start(row, claimed)
        for number in large - self._moving:
            self._move_on(number)
        turn.cut_short = len(turn.claimed) == most < free
        self._turning = False
        self._hinted = self._hinted or turn.again
        return turn

    def _move_on(self, number: int) -> None:
        """Copy many items into a task's next stage beside the turns, which must not wait for it, and move the task."""
        self._moving.add(number)

        def move() -> None:
            try:
                with left_for_later(self.store, self.id):
                    move_on(self.store, self.pipelines, number, self.id, self._services.over.is_set)
            except DatabaseProblem as problem:
                log.warning("[%s] A task is moved on by a later sweep: %s", self.id, problem)
            except Exception:
                log.exception("[%s] A task could not be moved on; the next sweep tries again", self.id)
            finally:
                self._from_thread(self._moved)(number)

        self._caller.threads.submit(move)

    async def _end_moves(self) -> None:
        """Wait a moment for what is copied just now: it ends with its chunk, and whoever comes next goes on with it."""
        end = time.monotonic() + LEAVE_SECONDS
        while self._moving and time.monotonic() < end:
            await asyncio.sleep(0.01)

    def _moved(self, number: int) -> None:
        self._moving.discard(number)
        self._note_hint()

    def _grace_left(self) -> float:
        if self._end_at is not None:
            return 0.0
        return max(0.0, (self._stop_at or 0.0) - time.monotonic())

    def _free(self) -> int:
        if self._stops or self._out_of_time() or self._shortages.lasts or not self._pulse.fresh:
            return 0
        return self.concurrency - len(self._attempts)

    def _cut_off(self) -> OutOfTime | None:
        """What is said of items that the end of this run's budget cuts off; None when it ends for another reason."""
        if self._stops or self._budget is None or not self._out_of_time():
            return None
        reason = (
            f"its step takes longer than the {self._budget:.3g} s that a tick has for it: give it more (--budget), set takes= to "
            "the seconds it needs, or run a worker; then retry it"
        )
        fair = time.monotonic() - self._budget / 2
        return OutOfTime(reason, self.store.settings.hand_back_limit, begun_by=fair)

    def _out_of_time(self) -> bool:
        if self._end_at is None or time.monotonic() < self._end_at:
            return False
        self._stop_at = min(self._stop_at or self._end_at, self._end_at)
        return True

    def _start(self, row: TaskRow, claimed: Claimed) -> None:
        pipeline = self.pipelines[row.pipeline]
        stage = pipeline.find(claimed.stage)
        assert stage is not None, "only items of served stages are claimed"
        call = Call(self.store, pipeline, stage, row, claimed)
        call.work._run_errand = partial(self._caller.run_errand, call)
        if self._end_at is not None:
            call.work.grace_seconds = TICK_GRACE_SECONDS
        self._attempts.start(call)

    async def _rest(self) -> None:
        """Wait for an ending, a hint, the next due time, or the next look."""
        longest = self.store.settings.poll_seconds
        if self.claimer.seconds_to_next is not None and self._free() > 0:
            longest = min(longest, max(0.01, self.claimer.seconds_to_next + 0.005))
        if self.claimer.candidates.seconds_to_look is not None and self._free() > 0:
            longest = min(longest, max(0.001, self.claimer.candidates.seconds_to_look))
        if (soon := self._shortages.seconds_to_probe()) is not None:
            longest = min(longest, soon + 0.005)
        for moment in (self._end_at, self._stop_at):
            if moment is not None:
                longest = min(longest, max(0.0, moment - time.monotonic()) + 0.01)
        if (
            not self._wake.is_set()
        ):  # Else what has just begun would run first, and there would be nothing to run meanwhile.
            try:
                await asyncio.wait_for(self._wake.wait(), longest)
            except TimeoutError:
                self._hinted = True
        if self._attempts and not self._hinted and self._attempts.settled < self.concurrency * GATHER_SHARE:
            await asyncio.sleep(GATHER_SECONDS)

    async def _hand_back(self) -> None:
        """End every handler that still runs and give its item back unharmed."""
        await self._attempts.hand_back(self._cut_off())
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
        pause, end = 0.1, time.monotonic() + (HAND_BACK_SECONDS if self._end_at is None else LEAVE_SECONDS)
        while True:
            try:
                await self._in_database(turn)
                return
            except DatabaseProblem as problem:
                if problem.code != UNREACHABLE or time.monotonic() + pause > end:
                    again = "They run again when the lease is over"
                    log.warning("[%s] Could not hand back %d items: %s %s", self.id, len(settled), problem, again)
                    return
            await asyncio.sleep(pause)
            pause *= 2

    async def _persistently(self, function: Callable[[], Any]) -> Any:
        """Run in the database thread, again and again while the database cannot be reached; work in hand is kept."""
        pause, lost_at = 0.1, None
        while True:
            try:
                found = await self._in_database(function)
                if lost_at is not None:
                    log.warning("[%s] The database is there again, after %s", self.name, _ago(lost_at))
                return found
            except DatabaseProblem as problem:
                if misfit := self._misfit or await self._in_database(partial(self._misfit_behind, problem)):
                    raise misfit from problem
                if problem.code != UNREACHABLE or self._stops > 1 or self._is_past_grace():
                    raise
                lost_at = lost_at or datetime.now(UTC)
                line = "[%s] %s Database lost since %s, trying again in %.1f s"
                log.warning(line, self.name, problem, told_at(lost_at, datetime.now(UTC), seconds=True), pause)
            except OSError as error:
                if (why := told(error)) is None or self._stops > 1 or self._is_past_grace():
                    raise
                log.warning("[%s] %s. Trying again in %.1f s", self.name, why, pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE, pause * 2)

    def _is_past_grace(self) -> bool:
        return self._stop_at is not None and time.monotonic() >= self._stop_at

    def _misfit_behind(self, problem: DatabaseProblem) -> DatabaseProblem | None:
        """Whether a statement was refused because the database was upgraded beneath it, which the heartbeat has yet to notice."""
        if problem.code == UNREACHABLE:
            return None
        try:
            with self.store.read() as tx:
                return tx.misfit()
        except DatabaseProblem:
            return None

    def _leave_for(self, misfit: FanfoldError) -> None:
        """Stop where this code cannot go on: the database or the script does not fit, or no heartbeat; ``run`` raises it."""
        if self._misfit is None:
            log.warning("[%s] %s. Finishing or handing back what runs, then stopping", self.id, str(misfit).rstrip("."))
            self._misfit = misfit
            self._services.stop()
            self.stop()

    async def _in_database(self, function: Callable[[], Any]) -> Any:
        assert self._loop is not None
        return await self._loop.run_in_executor(self._database_thread, function)

    def _from_thread(self, function: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any) -> None:
            try:
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(function, *arguments)
            except RuntimeError:  # The loop is closed.
                log.debug("[%s] Came too late for the loop: %s", self.name, function)

        return call

    def _report(self) -> Report:
        done, failed, seconds = self._attempts.tally.last_minute()
        swept_ago = self._services.swept_ago()
        return Report(len(self._attempts), self._stops > 0, done, failed, round(seconds, 3), swept_ago)

    def _note_hint(self) -> None:
        self._hinted = True
        self._wake.set()

    def _compare(self, held: Held, asked_at: float) -> None:
        strays = self._attempts.compare(held, asked_at, turning=self._turning)
        if strays:
            self._database_thread.submit(self._release, strays)

    def _release(self, rows: list[dict[str, int]]) -> None:
        with self.store.write() as tx:
            tx.settling.free_permits(list(tx.settling.release(rows)))
            tx.announce()

    def _lose_all(self) -> None:
        self._attempts.lose_all()


def _ago(moment: datetime) -> str:
    return f"{(datetime.now(UTC) - moment).total_seconds():.1f} s"


def refuse_in_loop(what: str, instead: str) -> None:
    """Say what to do where an event loop runs already: blocking it would stop everything else in it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise BadInput(
        f"{what} blocks until it is over, and an event loop is running here. Write: {instead}", code="in_loop"
    )
