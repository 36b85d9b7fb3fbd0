"""Kills workers at every step in the life of a batch: nothing is paid for twice, and nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import fanfold as ff
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.installation import Installation
from tests.waiting import eventually

PROGRAM = Path(__file__).with_name("batch_worker.py")
BOTH = ("created", "fetching", "delivered")
"""The steps after which a worker is killed on both databases; the others do not depend on the database."""
STEPS = [
    *BOTH,
    *(
        pytest.param(step, marks=pytest.mark.one_database)
        for step in ("begun", "intended", "kept", "looked", "given_back", "ended")
    ),
]
QUICK = {"batch_quiet_seconds": 0.3, "batch_poll_seconds": 0.2, "batch_trial": 0, "lease_seconds": 4.0}


@pytest.mark.acceptance
@pytest.mark.parametrize("step", STEPS)
def test_a_worker_killed_at_any_step_costs_nothing_twice(
    step: str, database_url: str, tmp_path: Path, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FANFOLD_PROVIDERS_FAKE_BATCH", "1")
    ai.answer(lambda call: f"You said {call.prompt}")
    expired: set[str] = set()

    def expires(prompt: str) -> bool:
        is_first = prompt.startswith("late") and prompt not in expired
        expired.add(prompt)
        return is_first

    ai.batches.expires = expires
    live = Live(database_url, tmp_path, **QUICK)
    items = [f"early {number}" for number in range(5)] + [f"late {number}" for number in range(5)]
    from tests.providers.batch_worker import asking

    task = live.client.submit(live.know(asking), items=items, options={"lane": "batch"})
    killed = start(live, step)
    assert killed.wait(100) == -signal.SIGKILL
    survivor = start(live, "")
    try:
        done = live.until(task, "completed", 100)
    finally:
        survivor.terminate()
        survivor.wait(60)
    assert live.client.result(task.id) == [f"You said {item}" for item in items]
    assert ai.batches.paid == dict.fromkeys(items, 1)
    assert ai.calls == []
    assert done.spending.calls == len(items)
    eventually(lambda: {one.state for one in live.client.batches()} == {"done"})
    live.store.close()


def start(live: Installation, step: str) -> subprocess.Popen[bytes]:
    """Start a worker process that kills itself at a step; without a step, it keeps running."""
    settings = live.store.settings
    environment = os.environ | {f"FANFOLD_{name.upper()}": str(value) for name, value in QUICK.items()}
    environment |= {
        "FANFOLD_DATABASE": settings.database_url, "FANFOLD_DATA": str(settings.data_folder), "KILL_AT": step,
        "FANFOLD_HEARTBEAT_SECONDS": "1", "FANFOLD_SWEEP_SECONDS": "0.5", "FANFOLD_POLL_SECONDS": "0.2",
    }  # fmt: skip
    return subprocess.Popen([sys.executable, "-m", "tests.providers.batch_worker"], env=environment)


def test_the_client_names_batches_in_public_types() -> None:
    assert ff.Batch.__doc__
