"""Keeps a service thread running: any exception is logged, and the thread continues after a pause.

A dead thread would go unnoticed: the worker would look healthy while nothing recovers the items of dead workers.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from fanfold.engine.worker.log_throttle import LogThrottle
from fanfold.errors import DatabaseProblem

log = logging.getLogger("fanfold.worker")
FIRST_PAUSE = 0.1
LONGEST_PAUSE = 5.0
HEALTHY_SECONDS = 60.0
"""Time without an error after which the next pause is the shortest again."""


def keep_running(run: Callable[[], None], over: threading.Event, worker: Callable[[], str], name: str) -> None:
    """Run ``run`` until it returns. After an exception, log it and run again after a pause, until ``over`` is set."""
    pause, repeats = FIRST_PAUSE, LogThrottle()
    while True:
        started = time.monotonic()
        try:
            return run()
        except BaseException as error:  # Including SystemExit: the user's on_move runs in the sweep.
            if over.is_set():
                log.debug("[%s] The %s failed while the worker was leaving", worker(), name, exc_info=error)
                return None
            if time.monotonic() - started > HEALTHY_SECONDS:
                pause = FIRST_PAUSE
            _say(repeats, worker(), name, error, pause)
        over.wait(pause)
        pause = min(LONGEST_PAUSE, pause * 2)


def _say(repeats: LogThrottle, worker: str, name: str, error: BaseException, pause: float) -> None:
    """Log one line per kind of error, with the traceback of the first."""
    what = str(error) if isinstance(error, DatabaseProblem) else f"{type(error).__name__}: {error}"
    said, like_it = repeats.count(name, what)
    level = logging.WARNING if isinstance(error, DatabaseProblem) else logging.ERROR
    shown = error if said and not like_it and not isinstance(error, DatabaseProblem) else None
    line = "[%s] The %s failed: %s. Trying again in %.1f s%s"
    log.log(level if said else logging.DEBUG, line, worker, name, what.rstrip("."), pause, like_it, exc_info=shown)
