"""Measures how much of a hidden rate limit real worker processes use, and how often they are refused.

The loopback service of the tests allows a number of calls per minute, and reports it in headers. Two worker processes share
the limit through the database.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import fanfold as ff
from benchmarks.batches import asking
from fanfold.settings import load
from fanfold.store.store import Store
from tests.ai_protocol import slow
from tests.ai_server import AIServer, HiddenLimit
from tests.conftest import environment_of

PER_MINUTE, CALLS, WORKERS = 300, 300, 2


def main(calls: int) -> None:
    """Print one row for SQLite, which all processes of one machine share."""
    with tempfile.TemporaryDirectory() as folder, AIServer() as ai:
        ai.always(slow(0.1))
        given = environment_of(ai) | {
            "FANFOLD_DATABASE": f"sqlite:///{folder}/limits.db",
            "FANFOLD_DATA": f"{folder}/data",
        }
        store = Store.open(load(given, Path(folder)))
        client = ff.Client(store=store)
        task = client.submit(asking, items=[f"question {number}" for number in range(calls)])
        words = [sys.executable, "-m", "fanfold.cli", "worker", "benchmarks.batches:asking", "--concurrency", "40"]
        workers = [subprocess.Popen(words, env=os.environ | given) for _ in range(WORKERS)]
        try:
            while not ai.calls:
                time.sleep(0.05)
            limit, begun = HiddenLimit(PER_MINUTE), time.monotonic()
            ai.limit = limit
            before = len(ai.calls)
            while client.get(task.id).state == "active":
                time.sleep(0.2)
            seconds = time.monotonic() - begun
        finally:
            for worker in workers:
                worker.terminate()
            for worker in workers:
                worker.wait(60)
        store.close()
    could = 3 * PER_MINUTE / 60 + seconds * PER_MINUTE / 60
    made = min(limit.allowed, calls - before)
    print("| workers | allowed per minute | answered | refused | time | share of what the service allowed |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {WORKERS} | {PER_MINUTE} | {made} | {limit.refused} ({limit.refused / max(1, made):.1%}) | {seconds:.0f} s "
        f"| {made / could:.0%} |"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else CALLS)
