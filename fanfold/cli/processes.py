"""A small supervisor for worker processes: starts them, replaces those that die and forwards stop requests."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from fanfold.running.terminal.invocation import Invocation

log = logging.getLogger("fanfold.processes")
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
HEALTHY_SECONDS = 30.0
"""Uptime after which a process counts as healthy: the restart backoff starts over when it dies."""
LOOK_SECONDS = 0.1


@dataclass
class WorkerProcess:
    """One supervised process and the earliest time it may be restarted."""

    name: str
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    pause: float = FIRST_PAUSE
    told: int = 0
    """Stop requests sent to it."""


class Supervisor:
    """Keeps ``count`` processes running until told to stop. The children do all the work."""

    def __init__(self, count: int, arguments: Sequence[str], name: str) -> None:
        self.arguments = list(arguments)
        self.places = [WorkerProcess(f"{name}-{number}") for number in range(1, count + 1)]
        self._stops = 0

    def run(self) -> None:
        """Supervise until SIGTERM or SIGINT; return when every process has stopped."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self.stop())
        self.keep()

    def stop(self) -> None:
        """Ask the processes to stop: gracefully on the first call, immediately on the second."""
        self._stops += 1

    def keep(self) -> None:
        """Supervise until ``stop`` is called. Installs no signal handlers, so it may run in any thread."""
        log.info("[supervisor] Starting %d processes", len(self.places))
        while not (self._stops and not any(place.process for place in self.places)):
            for place in self.places:
                try:
                    self._look_after(place)
                except OSError as error:  # Out of processes, memory or file handles: keep supervising the others.
                    self._put_off(place, error)
            time.sleep(LOOK_SECONDS)
        log.info("[supervisor] Stopped")

    def _look_after(self, place: WorkerProcess) -> None:
        if place.process is not None and place.process.poll() is not None:
            self._bury(place, place.process)
        if place.process is None and not self._stops and time.monotonic() >= place.start_at:
            # A separate process group: Ctrl-C reaches only the supervisor, which forwards it once.
            command = [sys.executable, "-m", "fanfold.cli", *self.arguments, "--name", place.name, "--leashed"]
            place.process = subprocess.Popen(command, process_group=0, stdin=subprocess.PIPE, bufsize=0)
            place.started_at, place.told = time.monotonic(), 0
        while place.process is not None and place.told < self._stops:
            self._tell(place.process)
            place.told += 1

    def _put_off(self, place: WorkerProcess, error: OSError) -> None:
        log.warning("[supervisor] %s: %s; trying again in %.1f s", place.name, error, place.pause)
        place.start_at = time.monotonic() + place.pause
        place.pause = min(LONGEST_PAUSE, place.pause * 2)

    def _tell(self, process: subprocess.Popen[bytes]) -> None:
        """Send a stop byte through the leash (the child's stdin). A signal would be lost while the process is starting."""
        assert process.stdin is not None
        try:
            process.stdin.write(b".")
        except BrokenPipeError:
            log.debug("[supervisor] Process %d had already ended", process.pid)

    def _bury(self, place: WorkerProcess, process: subprocess.Popen[bytes]) -> None:
        place.process = None
        if process.stdin is not None:
            process.stdin.close()
        if self._stops:
            return
        healthy = time.monotonic() - place.started_at > HEALTHY_SECONDS
        place.pause = FIRST_PAUSE if healthy else place.pause
        place.start_at = time.monotonic() + place.pause
        log.warning(
            "[supervisor] %s ended (%s); starting another in %.1f s",
            place.name,
            ending(process.returncode),
            place.pause,
        )
        place.pause = min(LONGEST_PAUSE, place.pause * 2)


def follow(leash: BinaryIO, stop: Callable[[], None]) -> None:
    """Call ``stop`` for every byte read from the leash, and twice (stop immediately) when the other end closes.

    A killed supervisor must not leave workers behind. Reads bypass the buffer: a thread blocked in a buffered read would
    hold the buffer's lock when the interpreter exits.
    """

    def wait() -> None:
        while os.read(leash.fileno(), 1):
            stop()
        stop()
        stop()

    threading.Thread(target=wait, name="leash", daemon=True).start()


def ending(code: int) -> str:
    """Exit code or signal name of an ended process."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def worker_command(
    invocation: Invocation, targets: Sequence[str], stages: Sequence[str], concurrency: int | None
) -> list[str]:
    """Command line of one worker process."""
    said = ["--database", invocation.database] if invocation.database else []
    said += ["--data", invocation.data] if invocation.data else []
    said += ["--verbose"] * invocation.verbose
    said += ["--stages", ",".join(stages)] if stages else []
    said += ["--concurrency", str(concurrency)] if concurrency else []
    return ["worker", *said, *targets]
