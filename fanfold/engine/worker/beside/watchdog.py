"""Watches the event loop of a worker from a separate thread.

An `async def` handler that blocks (time.sleep, a long computation, a call without await) stops everything else in the loop. The
watchdog logs which item and which line of code it is, settles what threads and children have finished meanwhile, and enforces
time limits, ticks and signals: it interrupts the blocked handler or, where that is not possible, ends the process.
"""

from __future__ import annotations

import asyncio
import ctypes
import linecache
import logging
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

from fanfold.engine.worker.attempt.time_limit import LoopBlocked
from fanfold.engine.worker.beside.restart import keep_running
from fanfold.engine.worker.log_throttle import LogThrottle
from fanfold.engine.worker.signals import in_main_thread

if TYPE_CHECKING:
    from fanfold.engine.worker.attempt.attempts import Attempts, RunningAttempt
    from fanfold.engine.worker.beside.blocked_loop import WatchedWorker

log = logging.getLogger("fanfold.worker")
LOOK_SECONDS = 0.2
BLOCKED_SECONDS = 0.6
"""Time without an answer after which a loop counts as blocked."""
ENDING_SECONDS = 0.4
"""The same if the worker should already have exited."""
SUSPENDED_SECONDS = 2.0
"""Delay of a check that shows that the whole process was suspended, not just its loop."""
FIRST_PAUSE, PAUSE_FACTOR = 5.0, 3.0
"""A loop that stays blocked is logged after 1 s, then after 5, 15, 45 s more …"""
LATE_SECONDS = 2.0
"""How long after its time limit a blocked handler is interrupted."""
GIVE_UP_SECONDS = 20.0
"""Time past the limit after which, as a last resort, the worker hands back everything and exits, before a sweep comes."""
PUT_OFF_SECONDS = 5.0
INTERRUPT_SECONDS = 0.5
INTERRUPT = signal.SIGURG
"""Signal that is ignored by default and otherwise unused. Its handler raises in the main thread, where the loop runs."""


@dataclass
class BlockedTime:
    """One period in which the loop is blocked."""

    since: float
    task: asyncio.Task[Any] | None
    culprit: RunningAttempt | None
    say_at: float = 0.0
    pause: float = FIRST_PAUSE
    put_off_until: float = 0.0
    early: set[int] = field(default_factory=set)
    """Items that were settled without the loop."""
    interrupted: bool = False
    stays: bool = False
    """Whether two checks in a row saw the same task. A busy machine or many small steps show a different one each time."""


class Watchdog:
    """Watches the loop of the thread that creates it."""

    def __init__(self, worker: WatchedWorker, attempts: Attempts, name: str, exit_code: int | None) -> None:
        self._worker = worker
        self._attempts = attempts
        self._exit_code = exit_code
        """Exit code to end the process with; None if the process is not ours to end."""
        self._loop = asyncio.get_running_loop()
        self._ident = threading.get_ident()
        self._is_main = in_main_thread()
        self._block: BlockedTime | None = None
        self._throttle = LogThrottle()
        self._answered = threading.Event()
        self._answered.set()
        self._asked_at = self._looked_at = time.monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(
            target=lambda: keep_running(self._watch, self._over, lambda: worker.id, "watchdog"),
            name=f"{name}-watchdog",
            daemon=True,
        )

    def start(self) -> None:
        """Start watching."""
        if self._is_main:
            self._before = signal.signal(INTERRUPT, self._raise_if_blocked)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching. The loop calls this, so it is not blocked."""
        self._over.set()
        if self._is_main:
            signal.signal(INTERRUPT, self._before)

    def _watch(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            now, late = time.monotonic(), time.monotonic() - self._looked_at > SUSPENDED_SECONDS
            self._looked_at = now
            if self._answered.is_set():
                self._unblocked(now)
                if self._attempts:
                    self._ask(now)
            elif late and self._block is None:
                self._asked_at = now
            else:
                self._look(now)

    def _ask(self, now: float) -> None:
        self._answered.clear()
        self._asked_at = now
        try:
            self._loop.call_soon_threadsafe(self._answer, now)
        except RuntimeError:  # The loop is closed.
            self._over.set()

    def _answer(self, asked_at: float) -> None:
        """Runs in the loop, before its timers, so that blocked attempts do not count as late."""
        blocked, block = time.monotonic() - asked_at, self._block
        if blocked >= BLOCKED_SECONDS:
            for attempt in self._attempts.all():
                if block is None or attempt is not block.culprit:
                    attempt.call.time.forgive(blocked)
        self._answered.set()

    def _look(self, now: float) -> None:
        blocked, gone_by = now - self._asked_at, self._worker.gone_by()
        must_end = gone_by is not None and now >= gone_by
        if blocked < (ENDING_SECONDS if must_end else BLOCKED_SECONDS):
            return
        block = self._seen()
        if block.stays and now >= block.say_at:
            self._say(block, blocked)
            block.say_at = now + block.pause
            block.pause *= PAUSE_FACTOR
        self._settle_ended(block)
        late = self._lateness(block, now)
        if must_end or late > GIVE_UP_SECONDS:
            self._end(block, must_end=must_end)
        elif late > LATE_SECONDS and block.stays and not block.interrupted:
            self._interrupt(block, only_safe=True)
        elif now > block.put_off_until:
            block.put_off_until = now + PUT_OFF_SECONDS
            self._worker.put_off(block.culprit.call.claimed.id if block.culprit else None, 2 * PUT_OFF_SECONDS)

    def _seen(self) -> BlockedTime:
        """The current block, with the task that the loop runs now."""
        task = asyncio.current_task(self._loop)
        if self._block is None:
            until = self._asked_at + PUT_OFF_SECONDS
            self._block = BlockedTime(self._asked_at, task, self._attempts.of(task), put_off_until=until)
        elif self._block.task is not task:
            self._block.task, self._block.culprit, self._block.stays = task, self._attempts.of(task), False
        else:
            self._block.stays = task is not None
        return self._block

    def _unblocked(self, now: float) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        if block.say_at:
            log.warning("[%s] The event loop continues after %.1f s", self._worker.id, now - block.since)

    def _lateness(self, block: BlockedTime, now: float) -> float:
        """Seconds by which the blocking attempt is past its time limit; negative before that or without a limit."""
        due = None if block.culprit is None else block.culprit.call.time.due(now)
        return -1.0 if due is None else now - due

    def _settle_ended(self, block: BlockedTime) -> None:
        """Settle results that were ready before, and those of threads and children since, without the loop."""
        settled = self._attempts.take_settled() + self._worker.waiting()
        for attempt in self._attempts.all():
            for outcome in attempt.call.outcomes:
                if outcome.new_items is None and outcome.claimed.id not in block.early:
                    block.early.add(outcome.claimed.id)
                    settled.append(outcome)
        if settled:
            self._worker.settle(settled)

    def _end(self, block: BlockedTime, *, must_end: bool) -> None:
        """Leave without the loop: hand back running items, interrupt the handler, and if it ignores that, end the process."""
        left = [one for one in self._attempts.all() if one.call.claimed.id not in block.early]
        log.warning("[%s] Handing back %d items without the event loop", self._worker.id, len(left))
        self._worker.settle(self._worker.handed_back(left), INTERRUPT_SECONDS)
        self._worker.leave()
        self._interrupt(block, only_safe=False)
        if self._answered.wait(INTERRUPT_SECONDS) or self._over.is_set():
            return
        if self._exit_code is not None and self._is_main and (must_end or self._exit_code == 0):
            log.error("[%s] The handler does not end; ending the process", self._worker.id)
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self._exit_code)
        log.error("[%s] Its handler does not end; abandoning its thread", self._worker.id)
        self._over.set()

    def _interrupt(self, block: BlockedTime, *, only_safe: bool) -> None:
        """Raise LoopBlocked in the handler. Outside the main thread it may hit other code, so do that only as a last resort."""
        block.interrupted = True
        if self._is_main:
            signal.pthread_kill(self._ident, INTERRUPT)
        elif not only_safe:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._ident), ctypes.py_object(LoopBlocked))

    def _raise_if_blocked(self, _number: int, _frame: object) -> None:
        """Signal handler. It runs in the main thread, where it is certain whether the loop has continued meanwhile."""
        block = self._block
        if block is None or not block.interrupted or block.task is None:
            return
        if asyncio.current_task(self._loop) is block.task:
            raise LoopBlocked("The handler blocked the event loop for too long.")

    def _say(self, block: BlockedTime, blocked: float) -> None:
        frame = sys._current_frames().get(self._ident)
        if block.culprit is None:
            who, where = "Something", place(frame, None)
        else:
            call = block.culprit.call
            who = f"{call.stage.name} {call.name} of {call.row.id}"
            where = place(frame, getattr(getattr(call.stage.handler, "__code__", None), "co_filename", None))
        said, like_it = self._throttle.count(who.split()[0], where, str(block.pause))
        log.log(
            logging.WARNING if said else logging.DEBUG,
            "[%s] %s has blocked the event loop for %.1f s, at %s: nothing else in this worker runs. Use await, "
            "asyncio.to_thread, or a plain def handler%s",
            self._worker.id, who, blocked, where, like_it,
        )  # fmt: skip


def place(frame: FrameType | None, file: str | None) -> str:
    """The innermost line of the handler's own file, or else of any file, with its code."""
    innermost = frame
    while frame is not None and file is not None and frame.f_code.co_filename != file:
        frame = frame.f_back
    shown = frame or innermost
    if shown is None:
        return "an unknown place"
    name, number = shown.f_code.co_filename, shown.f_lineno
    code = linecache.getline(name, number).strip()[:100]
    return f"{name}:{number} in {shown.f_code.co_name}" + (f" ({code})" if code else "")
