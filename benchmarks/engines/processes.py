"""Runs worker processes: starts them together, watches them, and always ends them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
END_SECONDS = 8.0
LAST_WORDS = 1_500


class WorkerDied(Exception):
    """A worker ended by itself; the text is what it said last."""


class Workers:
    """Some processes for the time of a `with`. What they print goes to a file, to be shown when one dies."""

    def __init__(self, commands: list[list[str]], folder: Path | None = None, **environment: str) -> None:
        self.commands = commands
        self.environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
        self.log = (folder or Path(os.environ["ENGINES_FOLDER"])) / f"workers-{time.monotonic_ns()}.log"
        self.running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Workers:
        for number, command in enumerate(self.commands):
            with self.log.open("ab") as sink:
                process = subprocess.Popen(
                    command,
                    cwd=ROOT,
                    env=self.environment | {"ENGINES_WORKER": str(number)},
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                )
            self.running.append(process)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.running:
            process.terminate()
        end = time.monotonic() + END_SECONDS
        for process in self.running:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def check(self) -> None:
        """Raise when a worker is gone."""
        if any(process.poll() is not None for process in self.running):
            raise WorkerDied(self.log.read_text(errors="replace")[-LAST_WORDS:].strip() or "a worker ended in silence")


def run_group(command: list[str], environment: dict[str, str], seconds: float) -> subprocess.CompletedProcess[str]:
    """Run a command and its children as a group of their own, which ends with it or when its time is over."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_group(process.pid)
            output, errors = process.communicate()
            errors += f"\nnot done within {seconds:g} s"
        finally:
            end_group(process.pid)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def end_group(number: int) -> None:
    """Kill what is left of a group that was started here."""
    try:
        os.killpg(number, signal.SIGKILL)
    except ProcessLookupError:
        pass
