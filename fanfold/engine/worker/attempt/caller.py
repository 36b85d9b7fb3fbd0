"""Runs each call in the loop, in a thread or in a child process, within its time limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fanfold.engine.tasks.moving.split import refused, write_split
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.attempt.batch_call import BatchCall
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.threads import Threads
from fanfold.engine.worker.attempt.time_limit import TimeHold
from fanfold.engine.worker.attempt.unstopped import UnstoppedHandlers
from fanfold.engine.worker.processes.children import Children
from fanfold.engine.worker.processes.main_script import Unguarded, is_reachable
from fanfold.errors import BadInput, ChildDied, DatabaseProblem
from fanfold.model.pipelines.pipeline import Stage
from fanfold.model.plan import Kind
from fanfold.model.shortage import told
from fanfold.store.database_errors import REFUSED
from fanfold.store.items.claim import SUSPECT_CRASHES
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.worker")
AnyCall = Call | BatchCall
Ended = Settlement | list[Settlement]
"""How a call ended: with one settlement, or in a batch with one per item."""

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
SUSPECTS_AT_ONCE = 2
"""Maximum concurrent suspects. When a worker with 500 slots dies, all 500 items are suspect, and 500 children would
kill the next worker too."""
SUSPECT_WAIT_SECONDS = 20.0
"""Longest wait of a suspect. Shorter than the sweep's grace for overdue items, so that waiting never looks like hanging."""


class Caller:
    """Runs calls in the right place with their time limits, so that each ends in a settlement or in CancelledError."""

    def __init__(
        self,
        store: Store,
        name: str,
        children: Children | None = None,
        on_unguarded: Callable[[Unguarded], None] = lambda _: None,
    ) -> None:
        self.threads = Threads(name)
        self.children = children or Children(store.settings)
        self.unstopped = UnstoppedHandlers(store, self.threads)
        self._isolate = store.settings.isolate
        self._on_unguarded = on_unguarded
        self._unguarded: Unguarded | None = None
        self._functions = asyncio.Semaphore(self.children.at_once)
        self._suspects = asyncio.Semaphore(SUSPECTS_AT_ONCE)

    def runs_in_loop(self, call: AnyCall) -> bool:
        """Whether it is a coroutine for the worker's own loop, which can skip the overhead of `run`."""
        plain = call.stage.runs_in_loop and call.stage.kind is not Kind.SPLIT
        return plain and not call.stage.isolate and not self.is_suspect(call)

    def isolates(self, stage: Stage) -> bool:
        """Whether the calls of a stage run in child processes: it asks for that, or the settings do and it is possible."""
        if stage.isolate or self._unguarded is not None:
            return stage.isolate
        return stage.isolates(self._isolate) and is_reachable(stage)

    async def run(self, call: AnyCall) -> Ended:
        """Run one attempt from start to settlement. If a split yields many items, they are written here."""
        settlement = await self._run_in_turn(call)
        call.time.end()
        if isinstance(settlement, list) or settlement.new_items is None or settlement.new_items.fits_one_chunk:
            return settlement
        assert isinstance(call, Call), "only a split makes items"
        return await self._write(call, settlement)

    async def _write(self, call: Call, one: Settlement) -> Settlement:
        """Write many items outside the worker's turns, which must not wait for them. The split keeps its lease meanwhile."""
        assert one.new_items is not None
        pause = FIRST_PAUSE_SECONDS
        while True:
            try:
                written = await asyncio.wrap_future(
                    self.threads.submit(lambda: write_split(call.store, call.row.plan, one, call.work._stop.is_set))
                )
                return one if written else call.release()
            except asyncio.CancelledError:
                call.work._stop.set()
                one.new_items.remove()
                raise
            except BadInput as problem:
                return refused(one, problem)
            except DatabaseProblem as problem:
                if problem.code == REFUSED:
                    return refused(one, problem)
                log.warning("%s Writing more items of %s in %g s", problem, call.row.id, pause)
            except OSError as error:
                if (why := told(error)) is None:
                    raise
                log.warning("%s. Writing more items of %s in %g s", why, call.row.id, pause)
            await asyncio.sleep(pause)
            pause = min(LONGEST_PAUSE_SECONDS, pause * 2)

    async def _run_in_turn(self, call: AnyCall) -> Ended:
        """Run a suspect when a slot for suspects is free; hand it back if it waits too long."""
        if not self.is_suspect(call):
            return await self._run(call)
        try:
            async with asyncio.timeout(SUSPECT_WAIT_SECONDS):
                await self._suspects.acquire()
        except TimeoutError:
            return call.release()
        try:
            return await self._run(call)
        finally:
            self._suspects.release()

    async def run_in_child(
        self, call: AnyCall, function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> Any:
        """Run a plain function in a child process; at most as many at once as there are cores, or as the settings say."""

        def run() -> Any:
            with TimeHold(call.time) as held:
                return child.run(function, arguments, named, held.release, partial(self._ask_for_time, call))

        async with self._functions:
            child = self.children.take()
            try:
                found = await asyncio.wrap_future(self.threads.submit(run))
            except (ChildDied, asyncio.CancelledError):
                self.children.discard(child)
                raise
            except Unguarded as problem:
                self.children.discard(child)
                self._on_unguarded(problem)
                raise
            except BaseException:
                self.children.give_back(child)
                raise
            self.children.give_back(child)
            return found

    async def _run(self, call: AnyCall) -> Ended:
        try:
            if self.isolates(call.stage) or self.is_suspect(call):
                try:
                    return await self._in_child(call)
                except Unguarded as problem:
                    self._unguarded = problem
                    if call.stage.isolate:
                        self._on_unguarded(problem)
                        return call.release()
            if not call.stage.runs_in_loop:
                return await self._in_thread(call)
            call.time.begin()
            return await call.run_async()
        except ChildDied as death:
            return call.lose(death)

    def close(self) -> None:
        """End idle threads and all child processes."""
        self.threads.close()
        self.children.close()

    def is_suspect(self, call: AnyCall) -> bool:
        """Whether processes died more than once while they ran the item, so that it may be the cause."""
        return call.claimed.crashes >= SUSPECT_CRASHES and self.isolates_suspects(call.stage)

    def isolates_suspects(self, stage: Stage) -> bool:
        """Whether suspects of this stage run in child processes, a few at a time."""
        if self.isolates(stage) or self._unguarded is not None:
            return False
        return stage.can_be_isolated and is_reachable(stage)

    async def _in_thread(self, call: AnyCall) -> Ended:
        def run() -> Ended:
            call.time.begin()  # Start the time here and not earlier: the call may have waited for a thread.
            return _noted(call, call.run_sync())

        future = self.threads.submit(run)
        try:
            settlement: Ended = await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            call.stop()
            self.unstopped.watch(call, future)
            raise
        return settlement

    async def _in_child(self, call: AnyCall) -> Ended:
        child = self.children.take()

        def run() -> Ended:
            return _noted(call, child.call(call, call.time.begin, partial(self._ask_for_time, call)))

        try:
            settlement: Ended = await asyncio.wrap_future(self.threads.submit(run))
        except BaseException:
            self.children.discard(child)
            self.threads.submit(lambda: _tell_external_jobs(call))
            raise
        self.children.give_back(child)
        return settlement

    def extend_deadlines(self, calls: Sequence[AnyCall], worker: str, seconds: float) -> None:
        """Extend the deadlines of attempts that are not late because their time stood still: the sweep knows only the limit."""
        store, longest = calls[0].store, max(call.time.seconds or 0.0 for call in calls)
        items = [part.claimed.id for call in calls for part in call.parts]

        def extend() -> None:
            try:
                store.transact(lambda tx: tx.settling.put_off_deadlines(worker, seconds + longest, only=items))
            except DatabaseProblem as problem:
                log.warning("[%s] Could not extend the deadlines of %d waiting items: %s", worker, len(items), problem)

        self.threads.submit(extend)

    def _ask_for_time(self, call: AnyCall) -> None:
        """Extend the deadline while a child starts slowly: the sweep knows only the time limit and would see a hung item."""
        seconds = call.store.settings.child_start_seconds
        what = f"{call.stage.name} {call.name} of {call.row.id}"
        log.warning("The child process for %s takes long to start; it has %g s for that", what, seconds)

        def put_off(tx: Transaction) -> None:
            for part in call.parts:
                tx.settling.put_off_deadline(part.claimed.id, part.claimed.lease, seconds)

        try:
            call.store.transact(put_off)
        except DatabaseProblem as problem:
            log.warning("Could not ask for more time for %s: %s", what, problem)


def _noted(call: AnyCall, ended: Ended) -> Ended:
    """Record how a call ended where the watchdog sees it."""
    call.outcomes = ended if isinstance(ended, list) else [ended]
    return ended


def _tell_external_jobs(call: AnyCall) -> None:
    """Record that the process that was starting external jobs for this attempt is gone, although its worker is alive.

    Otherwise the next attempt would wait for a call that nobody makes. What the process wrote before it was killed stays.
    """

    def cut_off(tx: Transaction) -> None:
        for part in call.parts:
            tx.externals.cut_off(part.claimed.id, part.claimed.lease)

    try:
        call.store.transact(cut_off)
    except DatabaseProblem as problem:
        log.warning("Could not record that the child process of %s is gone: %s", call.row.id, problem)
