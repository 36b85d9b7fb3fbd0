"""Runs plain functions in daemon threads, which are reused, and abandoned if a function never returns."""

from __future__ import annotations

import contextvars
import logging
import os
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, ClassVar

log = logging.getLogger("fanfold.worker")

Job = tuple[Callable[[], Any], "Future[Any]"]
MANY_THREADS = 100
"""Number of threads, besides those that run handlers, at which a warning is logged."""
MOST_AT_ONCE = min(32, (os.cpu_count() or 1) + 4)
"""Most calls of `asyncio.to_thread` at the same time, as in the standard library."""
LEAVE_SECONDS = 0.5
"""How long a worker's process waits at its end for threads that are about to end."""


class Threads:
    """A pool that grows as needed. Unlike the standard one it never waits at exit for a handler that hangs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._idle: list[SimpleQueue[Job | None]] = []
        self._line: deque[Job] = deque()
        """Jobs that wait for a free thread when the system refuses to create more."""
        self._lock = threading.Lock()
        self._closed = False
        self._made = 0

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        """Run ``function`` in a thread, in the context of the caller."""
        future: Future[Any] = Future()
        function = partial(contextvars.copy_context().run, function)
        with self._lock:
            try:
                inbox = self._idle.pop() if self._idle else self._new()
            except RuntimeError as error:
                # The system refuses more threads: handlers or other programs have used them up.
                if not self._made:
                    raise
                self._line.append((function, future))
                log.warning("[%s] %s: waiting for one of its %d threads", self.name, error, self._made)
                return future
        inbox.put((function, future))
        return future

    def close(self) -> None:
        """End idle threads; busy ones end with their function or with the process."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _new(self) -> SimpleQueue[Job | None]:
        inbox: SimpleQueue[Job | None] = SimpleQueue()
        name = f"{self.name}-{self._made + 1}"
        threading.Thread(target=self._serve, args=(inbox,), name=name, daemon=True).start()
        self._made += 1
        return inbox

    def _serve(self, inbox: SimpleQueue[Job | None]) -> None:
        while (job := inbox.get()) is not None:
            function, future = job
            # From here on the future gets a result, even if nobody waits for it.
            if future.set_running_or_notify_cancel():
                _answer(function, future)
            del function, future, job
            with self._lock:
                if self._closed:
                    return
                if self._line:
                    inbox.put(self._line.popleft())
                else:
                    self._idle.append(inbox)


class Watch:
    """Detects threads that pile up: started by handlers and never ended, or abandoned because a handler hangs."""

    _all: ClassVar[weakref.WeakSet[Watch]] = weakref.WeakSet()
    """Those of all workers in this process: the threads of the others are no reason to warn."""
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self._most_running = 0
        self._seen = threading.active_count()
        self._grown: Counter[str] = Counter()
        self._many = MANY_THREADS
        with self._guard:
            self._all.add(self)

    def look(self, stage: str, running: int) -> str | None:
        """The warning to log after a call of a stage, if any: at the first hundred too many, and each time they double."""
        if running > self._most_running:
            self._most_running = running
        now, before = threading.active_count(), self._seen
        if now == before:
            return None
        self._seen = now
        if now > before:
            self._grown[stage] += now - before
        with self._guard:
            workers, needed = len(self._all), sum(one._most_running for one in self._all)
        spare = now - needed
        if spare < self._many * workers:
            return None
        self._many = 2 * spare // workers
        (worst, _), *_ = self._grown.most_common(1)
        return (
            f"{spare} threads more than its work needs, most of them since calls of {worst}: does it start threads that "
            "never end? Have it end them, or set isolate=True: a child process is replaced now and then"
        )


class LoopExecutor(ThreadPoolExecutor):
    """The pool of a worker's loop for `asyncio.to_thread`. The standard one waits at the end for calls that nobody awaits."""

    def __init__(self, name: str) -> None:
        super().__init__(1)  # Starts no thread: the base class is there because the loop insists on it.
        self._pool = Threads(name)
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._busy = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a call as soon as a thread is free."""
        future: Future[Any] = Future()
        with self._lock:
            self._waiting.append((partial(fn, *args, **kwargs), future))
            if self._busy < MOST_AT_ONCE:
                self._busy += 1
                self._pool.submit(self._run)
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._busy -= 1
                    return
                function, future = self._waiting.popleft()
            if future.set_running_or_notify_cancel():
                _answer(function, future)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let idle threads end. Busy ones are left behind: what they work on was handed back."""
        self._pool.close()


def leave_threads_behind(name: str) -> None:
    """End the process now if threads that handlers started would keep it alive: everything that counts is in the database."""
    ours = (threading.main_thread(), threading.current_thread())
    end = time.monotonic() + LEAVE_SECONDS
    left = [one for one in threading.enumerate() if one not in ours and not one.daemon]
    for one in left:
        one.join(max(0.0, end - time.monotonic()))
    left = [one for one in left if one.is_alive()]
    if left:
        names = ", ".join(one.name for one in left[:5])
        log.warning("[%s] Leaving %d threads behind that handlers have started: %s …", name, len(left), names)
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _answer(function: Callable[[], Any], future: Future[Any]) -> None:
    try:
        result = function()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)
