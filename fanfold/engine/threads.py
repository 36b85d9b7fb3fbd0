"""Where do plain functions run? In daemon threads that are reused, and left behind when a function never returns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

Job = tuple[Callable[[], Any], "Future[Any]"]


class Threads:
    """A pool that grows as needed. Unlike the standard one it never waits at exit for a handler that hangs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._idle: list[SimpleQueue[Job | None]] = []
        self._lock = threading.Lock()
        self._closed = False
        self._made = 0

    def submit(self, function: Callable[[], Any]) -> Future[Any]:
        """Run ``function`` in a thread."""
        future: Future[Any] = Future()
        with self._lock:
            inbox = self._idle.pop() if self._idle else self._new()
        inbox.put((function, future))
        return future

    def close(self) -> None:
        """Let idle threads go; busy ones end with their function, or with the process."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for inbox in idle:
            inbox.put(None)

    def _new(self) -> SimpleQueue[Job | None]:
        inbox: SimpleQueue[Job | None] = SimpleQueue()
        self._made += 1
        threading.Thread(target=self._serve, args=(inbox,), name=f"{self.name}-{self._made}", daemon=True).start()
        return inbox

    def _serve(self, inbox: SimpleQueue[Job | None]) -> None:
        while (job := inbox.get()) is not None:
            function, future = job
            future.set_running_or_notify_cancel()  # From here on it is answered, also when nobody waits any more.
            try:
                result = function()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            del function, future, job
            with self._lock:
                if self._closed:
                    return
                self._idle.append(inbox)
