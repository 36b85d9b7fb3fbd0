"""Starts the killers of mutants from a process that has imported their libraries already.

Importing pytest, its plugins, SQLAlchemy and the other libraries takes longer than most killers need. A mutant changes none
of them, so one process imports them once and forks for each killer. Fanfold itself and its tests are imported after the fork,
from the copy that lacks a guard.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

LIBRARIES = (
    "pytest", "xdist.plugin", "hypothesis.stateful", "anyio.pytest_plugin", "schemathesis.pytest.plugin",
    "sqlalchemy.dialects.sqlite", "sqlalchemy.dialects.postgresql.psycopg", "alembic.command", "psycopg",
    "fastapi.testclient", "jinja2", "redis.asyncio", "openai", "anthropic", "opentelemetry.sdk.trace",
    "opentelemetry.sdk.metrics", "click", "rich.console", "psutil",
)  # fmt: skip
OURS = ("fanfold", "tests")
POLL_SECONDS = 0.02


class Ended(NamedTuple):
    """How a killer ended: its exit code, None if it took too long, and what it printed."""

    code: int | None
    printed: str


class Prefork:
    """A process that forks for each run. Serves one caller at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        words = [sys.executable, "-P", __file__]
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(self, module: str, words: Sequence[str], folder: Path, longest_seconds: float) -> Ended:
        """Run `python -m module words` in a folder, which is the first place to import from."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.NamedTemporaryFile("r", errors="replace") as output:
            asked = [module, list(words), str(folder), output.name, longest_seconds]
            self._process.stdin.write(json.dumps(asked) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
            if not answer:
                raise RuntimeError("the process that forks has ended")
            return Ended(json.loads(answer), output.read())


def serve() -> None:
    """Import the libraries, then fork for each line of the standard input and answer with the exit code."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for name in LIBRARIES:
        importlib.import_module(name)
    ours = [name for name in sys.modules if name.partition(".")[0] in OURS]
    if ours:
        raise SystemExit(f"imported before the fork, so mutants of them would not be seen: {', '.join(ours)}")
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        module, words, folder, output, longest_seconds = json.loads(line)
        child = os.fork()
        if child == 0:
            answers.close()
            _become(module, words, folder, output)
        print(json.dumps(_waited_for(child, longest_seconds)), file=answers, flush=True)


def _become(module: str, words: list[str], folder: str, output: str) -> None:
    """Go on as `python -m module words`, started in this folder."""
    os.setsid()
    os.chdir(folder)
    with open(os.devnull, "rb") as nothing, open(output, "wb") as file:
        os.dup2(nothing.fileno(), 0)
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.path.insert(0, folder)
    sys.argv = [module, *words]
    importlib.invalidate_caches()
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    sys.exit(0)


def _waited_for(child: int, longest_seconds: float) -> int | None:
    """The exit code of a child; it and what it has started are killed when it takes too long."""
    until = time.monotonic() + longest_seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    serve()
