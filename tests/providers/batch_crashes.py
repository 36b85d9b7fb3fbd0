"""One task in the batch lane whose workers are killed at chosen steps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fanfold.model.task import Task
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.providers.batch_worker import asking

ROOT = Path(__file__).parents[2]
QUICK = {"batch_quiet_seconds": 0.3, "batch_poll_seconds": 0.2, "batch_trial": 0, "lease_seconds": 30.0}
"""The lease is long: the death of a process on the same machine is seen without it."""
OFTEN = {
    "FANFOLD_HEARTBEAT_SECONDS": "1", "FANFOLD_SWEEP_SECONDS": "0.3", "FANFOLD_POLL_SECONDS": "0.2",
    "FANFOLD_CRASH_LIMIT": "1000",
}  # fmt: skip


def speak(kind: str, ai: AIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the provider `fake` speak a protocol with batches; questions that begin with `late` expire once."""
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_KIND", kind)
    if kind == "anthropic":
        monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BASE_URL", ai.url)
    ai.answer(lambda call: f"You said {call.prompt}")
    expired: set[str] = set()

    def expires(prompt: str) -> bool:
        is_first = prompt.startswith("late") and prompt not in expired
        expired.add(prompt)
        return is_first

    ai.batches.expires = expires


class Mortal:
    """A process whose children are killed, one at each step; then it completes the task."""

    def __init__(self, live: Live, steps: list[str], items: int = 10) -> None:
        self.live = live
        self.items = [f"{'late' if number % 2 else 'early'} {number}" for number in range(items)]
        self.folder = live.store.settings.data_folder
        settings = live.store.settings
        environment = os.environ | OFTEN | {f"FANFOLD_{name.upper()}": str(value) for name, value in QUICK.items()}
        environment |= {"FANFOLD_DATABASE": settings.database_url, "FANFOLD_DATA": str(self.folder)}
        self._environment = environment | {"KILL_AT": ",".join(steps)}
        self._log = self.folder / "deaths.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Mortal:
        return self

    def run(self, ai: AIServer) -> Task:
        """Submit the task, and return it completed."""
        live = self.live
        task = live.client.submit(live.know(asking), items=self.items, options={"lane": "batch"})
        words = [sys.executable, "-m", "tests.providers.batch_worker"]
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                words, cwd=ROOT, env=self._environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
            )
        done = live.until(task, "completed", 100)
        assert live.client.result(task.id) == [f"You said {item}" for item in self.items]
        return done

    def deaths(self) -> dict[str, int]:
        """The steps at which a worker ended, and how."""
        lines = [line.rpartition(": ") for line in self._log.read_text().splitlines() if ": -" in line]
        return {step: int(code) for step, _, code in lines if code.lstrip("-").isdecimal()}

    def __exit__(self, *problem: Any) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(60)
        if problem[0] is not None:
            print(self._log.read_text())
