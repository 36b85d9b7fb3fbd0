"""Who keeps the workers running? A small supervisor: starts processes, replaces those that die, passes a stop on."""

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
"""A process that has lived so long is replaced without much of a pause when it dies."""
LOOK_SECONDS = 0.1


@dataclass
class WorkerProcess:
    """One of the processes: as it is now, and when it may be started again."""

    name: str
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    start_at: float = 0.0
    pause: float = FIRST_PAUSE
    told: int = 0
    """How often it was told to stop."""


class Supervisor:
    """Keeps ``count`` processes running until it is told to stop; the children do the work, it holds nothing itself."""

    def __init__(self, count: int, arguments: Sequence[str], name: str) -> None:
        self.arguments = list(arguments)
        self.places = [WorkerProcess(f"{name}-{number}") for number in range(1, count + 1)]
        self._stops = 0

    def run(self) -> None:
        """Start, watch and replace the processes until a signal says stop; returns when all of them have stopped."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self.stop())
        self.keep()

    def stop(self) -> None:
        """Have them stop: first gracefully, at the second call at once."""
        self._stops += 1

    def keep(self) -> None:
        """The same without signals, in any thread, until ``stop``."""
        log.info("[supervisor] Starting %d processes", len(self.places))
        while not (self._stops and not any(place.process for place in self.places)):
            for place in self.places:
                try:
                    self._look_after(place)
                except (
                    OSError
                ) as error:  # No more processes, memory or files for now: the others are still looked after.
                    self._put_off(place, error)
            time.sleep(LOOK_SECONDS)
        log.info("[supervisor] Stopped")

    def _look_after(self, place: WorkerProcess) -> None:
        if place.process is not None and place.process.poll() is not None:
            self._bury(place, place.process)
        if place.process is None and not self._stops and time.monotonic() >= place.start_at:
            # Its own group: Ctrl-C on a terminal reaches the supervisor alone, which passes it on once.
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
        """Say stop through the leash: unlike a signal, it is not lost on a process that is just starting."""
        assert process.stdin is not None
        try:
            process.stdin.write(b".")
        except BrokenPipeError:
            log.debug("[supervisor] Process %d has ended by itself", process.pid)

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
    """Stop once for every byte that comes through the leash, and at once when its other end is gone.

    A supervisor that was killed must not leave workers behind. The bytes are read past the buffer: a thread that waits in
    it would hold its lock when the interpreter ends.
    """

    def wait() -> None:
        while os.read(leash.fileno(), 1):
            stop()
        stop()
        stop()

    threading.Thread(target=wait, name="leash", daemon=True).start()


def ending(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def worker_command(
    invocation: Invocation, targets: Sequence[str], stages: Sequence[str], concurrency: int | None
) -> list[str]:
    """The command line of one of the workers."""
    said = ["--database", invocation.database] if invocation.database else []
    said += ["--data", invocation.data] if invocation.data else []
    said += ["--verbose"] * invocation.verbose
    said += ["--stages", ",".join(stages)] if stages else []
    said += ["--concurrency", str(concurrency)] if concurrency else []
    return ["worker", *said, *targets]
