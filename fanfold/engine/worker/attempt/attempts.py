"""Tracks the running attempts of one worker, from start to settlement."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from fanfold.engine.logs import about, current_attempt
from fanfold.engine.telemetry.telling import begun, ended
from fanfold.engine.worker.attempt.attempt_result import OutOfTime, Settlement
from fanfold.engine.worker.attempt.call import Call
from fanfold.engine.worker.attempt.caller import SUSPECTS_AT_ONCE, AnyCall, Caller, Ended
from fanfold.engine.worker.attempt.measured import Measured
from fanfold.engine.worker.attempt.threads import Watch
from fanfold.engine.worker.attempt.unstopped import DEAF_SECONDS
from fanfold.engine.worker.claiming.ahead import HandlerTimes
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.log_throttle import LogThrottle
from fanfold.engine.worker.shortages import Shortages
from fanfold.engine.worker.worker_stats import WorkerStats
from fanfold.model.endings import Ending

log = logging.getLogger("fanfold.worker")

Held = dict[int, tuple[int, bool]]
"""Items that a worker runs according to the database: item → (lease, whether its task still wants it)."""

NEXT = {Ending.FAIL: "; giving up", Ending.HOLD: " It waits for a person", Ending.RECLAIM: " It runs again"}
"""End of a log line, where it does not depend on the attempt."""
NOTE_SECONDS = 1.0
"""An item claimed ahead that has run this long gets its start time in the database."""
EXTENSION_SECONDS = 60.0
"""Extra time, beyond its limit, for an attempt that is in time although its deadline in the database has passed."""


@dataclass(slots=True, eq=False)
class RunningAttempt:
    """One running call: an attempt at one item, or at each item of a batch."""

    call: AnyCall
    task: asyncio.Task[Ended]
    started_at: float
    unwanted: str | None = None
    """Set before the task is cancelled: `release` to hand it back, `out_of_time` to hand it back because a tick is over,
    `lost` if its lease is gone, `late` if it took too long."""
    over: bool = False
    unnoted: bool = False
    """Whether the database does not know yet that it began."""
    spans: Sequence[Any] = ()
    """The span of each item, where telemetry is on."""


class Attempts:
    """Starts calls in the loop, cancels unwanted ones, and collects their settlements. Lives in the loop's thread."""

    def __init__(
        self,
        caller: Caller,
        worker: Callable[[], str],
        wake: Callable[[], None],
        scratch: Path = Path(),
        check_files: Callable[[], None] = lambda: None,
        *,
        tells: bool = False,
        measured: Measured | None = None,
    ) -> None:
        self.measured = measured
        self.stats = WorkerStats()
        self.times = HandlerTimes()
        self.on_free: Callable[[], None] = lambda: None
        """Called when an attempt has ended, so that a waiting item can start in its slot."""
        self.endings: Counter[Ending] = Counter()
        self._caller = caller
        self._worker = worker
        self._tells = tells
        self.wake = wake
        self.shortages = Shortages(worker, scratch, check_files)
        self._all: dict[RunningAttempt, None] = {}
        """All that run, including those that lost their lease because this worker claimed their item again meanwhile."""
        self._running: dict[int, RunningAttempt] = {}
        """The attempt that holds each item's lease, as far as this worker knows."""
        self._settled: deque[Settlement] = deque()
        """The watchdog's thread takes from it too."""
        self._lost_claims: dict[int, int] = {}
        self._per_stage: dict[tuple[str, str], int] = {}
        self._per_task: dict[int, int] = {}
        self._suspects: set[int] = set()
        """Running items that may have killed their processes before."""
        self._timer: asyncio.TimerHandle | None = None
        self._throttle = LogThrottle()
        self._watch = Watch()
        self._out_of_time: OutOfTime | None = None

    def __len__(self) -> int:
        return len(self._all)

    @property
    def settled(self) -> int:
        """How many settlements wait to be written."""
        return len(self._settled)

    def take_settled(self) -> list[Settlement]:
        """The settlements since the last call; from any thread."""
        settled: list[Settlement] = []
        while self._settled:
            try:
                settled.append(self._settled.popleft())
            except IndexError:  # Another thread was faster.
                break
        return settled

    def put_back(self, settled: Sequence[Settlement]) -> None:
        """Return settlements that could not be written yet; from any thread."""
        self._settled.extend(settled)

    def all(self) -> list[RunningAttempt]:
        """All running attempts; from any thread."""
        while True:
            try:
                return list(self._all)
            except RuntimeError:  # Changed meanwhile.
                continue

    def of(self, task: asyncio.Task[Any] | None) -> RunningAttempt | None:
        """The attempt that a task of the loop runs; from any thread."""
        return next((one for one in self.all() if one.task is task), None)

    def running_in(self, pair: tuple[str, str]) -> int:
        """Running attempts of one (pipeline, stage)."""
        return self._per_stage.get(pair, 0)

    def per_stage(self) -> Counter[tuple[str, str]]:
        """Running calls per (pipeline, stage)."""
        return Counter(self._per_stage)

    def per_task(self) -> Counter[int]:
        """Running calls per task."""
        return Counter(self._per_task)

    def room(self, slots: int, ahead: dict[tuple[str, str], int] | None = None) -> Room:
        """What may be claimed in addition to what runs: for free slots, and ahead of them."""
        suspects = max(0, SUSPECTS_AT_ONCE - len(self._suspects))
        return Room(slots, self.per_stage(), suspects, self._caller.isolates_suspects, ahead or {})

    def start(self, call: AnyCall) -> None:
        """Start one call."""
        in_loop, now = self._caller.runs_in_loop(call), time.monotonic()
        if in_loop:
            call.time.begin()
        run = call.run_async() if in_loop else self._caller.run(call)
        context = contextvars.copy_context()
        context.run(current_attempt.set, (call, self._worker))  # Lines logged inside the attempt then carry its fields.
        spans = [context.run(begun, part, self._worker()) for part in call.parts] if self._tells else ()
        task = asyncio.get_running_loop().create_task(run, context=context)
        attempt = RunningAttempt(call, task, now, unnoted=call.claimed.ahead, spans=spans)
        if call.time.seconds is not None:
            self._watch_time(call.time.due(now))
        self._all[attempt] = None
        for part in call.parts:
            if (earlier := self._running.get(part.claimed.id)) is not None:
                self._end(earlier, "lost", part.claimed.id)
            self._running[part.claimed.id] = attempt
        _count(self._per_stage, (call.row.pipeline, call.stage.name), 1)
        _count(self._per_task, call.claimed.task, 1)
        if call.claimed.crashes and self._caller.is_suspect(call):
            self._suspects.add(call.claimed.id)
        # A callback, because a wrapper coroutine that is cancelled before its first step would never run.
        task.add_done_callback(partial(self._ended, attempt))

    async def hand_back(self, out_of_time: OutOfTime | None = None) -> None:
        """Cancel all running attempts and hand their items back. ``out_of_time`` is set if the time of a tick is over."""
        self._out_of_time = out_of_time
        for attempt in self.all():
            had_time = out_of_time is not None and attempt.started_at <= out_of_time.begun_by
            attempt.unwanted = attempt.unwanted or ("out_of_time" if had_time else "release")
            attempt.task.cancel()
        if running := self.all():
            await asyncio.wait({attempt.task for attempt in running}, timeout=DEAF_SECONDS)
            for attempt in running:
                self._leave_behind(attempt)

    def lose_all(self) -> None:
        """Cancel everything and settle nothing: the leases are gone."""
        for attempt in self.all():
            self._end(attempt, "lost")

    def unnoted(self) -> list[dict[str, Any]]:
        """Attempts whose start the database should know by now, as rows for ``note_begun``; each is returned once."""
        now = time.monotonic()
        long = [one for one in self._running.values() if one.unnoted and now - one.started_at >= NOTE_SECONDS]
        for one in long:
            one.unnoted = False
        claimed = [(one.call.claimed, now - one.started_at) for one in long]
        return [{"id": one.id, "lease": one.lease, "began": seconds} for one, seconds in claimed]

    def compare(
        self, held: Held, asked_at: float, *, turning: bool, waiting: Set[int] = frozenset()
    ) -> list[dict[str, int]]:
        """Cancel attempts that were taken away or are no longer wanted; returns lost claims.

        ``waiting`` are items claimed ahead that have not begun.
        Attempts that started after the query are not in its answer, and are left alone until the next one.
        A lost claim runs here according to the database, but this worker does not know it: the commit succeeded and its
        answer got lost. It must be seen twice, and not during a turn, before it is handed back.
        """
        for item, attempt in list(self._running.items()):
            if attempt.started_at >= asked_at:
                continue
            lease, wanted = held.get(item, (None, False))
            if lease != attempt.call.lease_of(item):
                self._end(attempt, "lost", item)
            elif not wanted:
                self._end(attempt, "release", item)
        here = set(self._running) | {one.claimed.id for one in list(self._settled)} | waiting
        lost_claims = {} if turning else {item: lease for item, (lease, _) in held.items() if item not in here}
        confirmed = [
            {"id": item, "lease": lease} for item, lease in lost_claims.items() if self._lost_claims.get(item) == lease
        ]
        self._lost_claims = lost_claims
        return confirmed

    def _watch_time(self, deadline: float | None) -> None:
        """Set the one timer to the earliest deadline."""
        if deadline is not None and (self._timer is None or deadline < self._timer.when()):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_at(deadline, self._end_late)

    def _end_late(self) -> None:
        """End the attempts that are late, and extend the deadlines of those whose time stood still."""
        self._timer, now = None, time.monotonic()
        next_due: float | None = None
        in_time: list[AnyCall] = []
        for attempt in self.all():
            limit = attempt.call.time
            due = limit.due(now)
            if due is not None and due <= now:
                limit.end()
                self._cancel(attempt, "late")
            elif due is not None:
                next_due = due if next_due is None else min(due, next_due)
                if limit.extend(attempt.started_at, now, EXTENSION_SECONDS + (limit.seconds or 0.0)):
                    in_time.append(attempt.call)
        if in_time:
            self._caller.extend_deadlines(in_time, self._worker(), EXTENSION_SECONDS)
        self._watch_time(next_due)

    def _leave_behind(self, attempt: RunningAttempt) -> None:
        """Abandon a coroutine that ignores its cancellation."""
        if attempt.over or attempt.task.done():
            return
        call = attempt.call
        what = f"{call.stage.name} {call.name} of {call.row.id}"
        log.warning("%s does not end; abandoning it", what, extra=about(call, self._worker()))
        self._caller.unstopped.note(call)
        asyncio._unregister_task(attempt.task)  # Else the loop would wait for it when the worker stops.
        self._ended(attempt, attempt.task)

    def _ended(self, attempt: RunningAttempt, task: asyncio.Task[Ended]) -> None:
        """Collect the settlements of a call that has ended; with a lost lease there is nothing to settle."""
        if attempt.over:
            self._caller.unstopped.clear(attempt.call)
            self._caller.unstopped.count_late(attempt.call)
            if not task.cancelled():
                task.exception()  # An abandoned coroutine has ended after all. Retrieve its exception, or Python warns.
            return
        attempt.over = True
        call = attempt.call
        if task.done():
            self._caller.unstopped.clear(call)
        del self._all[attempt]
        _count(self._per_stage, (call.row.pipeline, call.stage.name), -1)
        _count(self._per_task, call.claimed.task, -1)
        if (piled_up := self._watch.look(call.stage.name, len(self._all))) is not None:
            log.warning("[%s] %s", self._worker(), piled_up)
        ended_at = time.monotonic()
        settled, parts = self._settlements(attempt), call.parts
        seconds = (ended_at - attempt.started_at) / len(parts)
        for number, part in enumerate(parts):
            kept = self._collect(attempt, part, settled[number] if settled else None, ended_at, seconds)
            if attempt.spans:
                ended(attempt.spans[number], part, kept, ended_at - attempt.started_at)
        if settled:
            is_paid = bool([part for part in parts if part.work.usage is not None])
            self.times.add((call.row.pipeline, call.stage.name), ended_at - attempt.started_at, is_paid=is_paid)
        self._caller.unstopped.collected(call)
        self.on_free()
        self.wake()

    def _collect(
        self, attempt: RunningAttempt, part: Call, settlement: Settlement | None, now: float, seconds: float
    ) -> Settlement | None:
        """Collect the settlement of one item; None if its lease is lost. What it spent counts in any case."""
        item = part.claimed.id
        if holds_lease := self._running.get(item) is attempt:
            del self._running[item]
            self._suspects.discard(item)
        if settlement is None or not holds_lease:
            if part.work.usage is not None:
                lost = part.release()._replace(ending=Ending.LOST)
                part.counted = lost.usage
                self._settled.append(lost)
            return None
        ending, part.counted = settlement.ending, settlement.usage
        if ending is not Ending.FINISH or log.isEnabledFor(logging.DEBUG):
            self._say(part, settlement)
        self.endings[ending] += 1
        if self.measured is not None:
            pair = (part.row.pipeline, part.stage.name)
            self.measured.note(pair, part.claimed.task, ending, now - attempt.started_at)
        if settlement.short:
            self.shortages.note()
        if ending in (Ending.FINISH, Ending.FAIL):
            self.stats.add(ending is Ending.FINISH, now, seconds)
        self._settled.append(settlement)
        return settlement

    def _settlements(self, attempt: RunningAttempt) -> list[Settlement]:
        """The settlement of each item; none if the leases are lost."""
        call = attempt.call
        if attempt.task.cancelled() or not attempt.task.done():
            if attempt.unwanted == "late":
                return _listed(call.time_out())
            cut_off = self._out_of_time if attempt.unwanted == "out_of_time" else None
            released = call.release(out_of_time=cut_off)
            return [] if attempt.unwanted == "lost" else _listed(released)
        error = attempt.task.exception()
        return _listed(attempt.task.result() if error is None else call.fail(error))

    def _end(self, attempt: RunningAttempt, unwanted: str, item: int | None = None) -> None:
        """Stop a call. A batch that loses one item continues for the others; that item is only marked as not wanted."""
        if attempt.unwanted is None and (item is None or len(attempt.call.parts) == 1 or attempt.call.stop(item)):
            call, why = attempt.call, "no longer ours" if unwanted == "lost" else "no longer wanted"
            what = f"{call.stage.name} {call.name} of {call.row.id}"
            log.info("[%s] Stopping %s: %s", self._worker(), what, why, extra=about(call))
            self._cancel(attempt, unwanted)

    def _cancel(self, attempt: RunningAttempt, unwanted: str) -> None:
        if attempt.unwanted is None:
            attempt.unwanted = unwanted
            attempt.task.cancel()
            asyncio.get_running_loop().call_later(DEAF_SECONDS, self._leave_behind, attempt)

    def _say(self, call: Call, settlement: Settlement) -> None:
        """Log what happens next; normal endings only at debug level."""
        ending = settlement.ending
        if not ending.warns and not log.isEnabledFor(logging.DEBUG):
            return
        what = f"{ending.log_word} {call.stage.name} {call.claimed.key} of {call.row.id}"
        if not ending.warns:
            log.debug("[%s] %s", self._worker(), what, extra=about(call))
            return
        why = settlement.hold or settlement.error_message
        said, like_it = self._throttle.count(call.stage.name, ending, settlement.error_code, why)
        line = f"{what}: {why}{self._next(call, settlement)}{like_it}"
        log.log(logging.WARNING if said else logging.DEBUG, "[%s] %s", self._worker(), line, extra=about(call))

    def _next(self, call: Call, settlement: Settlement) -> str:
        if settlement.ending in NEXT:
            return NEXT[settlement.ending]
        limit = call.stage.retry.limit if call.row.retry_limit is None else call.row.retry_limit
        tries = f"({call.claimed.failures + 1} of {limit})" if settlement.counted else "(not counted)"
        return f"; trying again in {settlement.delay:.1f} s {tries}"


def _listed(ended: Ended) -> list[Settlement]:
    return ended if isinstance(ended, list) else [ended]


def _count(counts: dict[Any, int], key: Any, change: int) -> None:
    now = counts.get(key, 0) + change
    if now:
        counts[key] = now
    else:
        del counts[key]
