"""Measures what the batch lane costs one worker process: thousands of questions, 30 % of which expire in their first batch.

The loopback service of the tests answers the batches, in this process; the worker runs in another one.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sqlalchemy as sa

import fanfold as ff
from fanfold.engine.worker.loop import Worker
from fanfold.settings import load
from fanfold.store.store import Store
from tests.ai_server import AIServer
from tests.conftest import environment_of
from tests.databases import PostgresDatabases
from tests.servers import PostgresServer

ITEMS, EXPIRED = 10_000, 0.3
SETTINGS = {
    "FANFOLD_PROVIDERS_FAKE_BATCH": "1",
    "FANFOLD_BATCH_QUIET_SECONDS": "3",
    "FANFOLD_BATCH_POLL_SECONDS": "1",
    "FANFOLD_BATCH_TRIAL": "0",
    "FANFOLD_SWEEP_SECONDS": "1",
}
asking = ff.Pipeline("asking")


@asking.each
async def ask(item: ff.ItemWork) -> str:
    """One question for each item."""
    return str((await item.ask(str(item.input))).text)


def main(count: int) -> None:
    """Print the table."""
    columns = (
        "database", "questions", "batches", "expired", "paid", "twice", "time", "processor", "memory grown by",
        "statements per question", "those of batches alone",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    with tempfile.TemporaryDirectory() as folder:
        measure("SQLite", f"sqlite:///{folder}/batches.db", Path(folder), count)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # The server may run under an account of its own.
        server = PostgresServer(Path(folder) / "server")
        server.start()
        try:
            source = PostgresDatabases(server)
            source.make_template()
            with source.fresh() as url:
                measure("PostgreSQL", url, Path(folder), count)
        finally:
            server.remove()


def measure(name: str, url: str, folder: Path, count: int) -> None:
    """One task in an empty database."""
    with AIServer() as ai:
        ai.answer(lambda call: f"You said {call.prompt}")
        expired = some_expire(ai)
        given = environment_of(ai) | SETTINGS | {"FANFOLD_DATABASE": url, "FANFOLD_DATA": str(folder / "data")}
        store = Store.open(load(given, folder))
        client = ff.Client(store=store)
        task = client.submit(asking, items=[f"question {n}" for n in range(count)], options={"lane": "batch"})
        started = time.monotonic()
        words = [sys.executable, "-m", "benchmarks.batches", "work", task.id]
        done = subprocess.run(words, env=os.environ | given, stdout=subprocess.PIPE, text=True, check=True)
        seconds, seen = time.monotonic() - started, json.loads(done.stdout.splitlines()[-1])
        found = client.get(task.id)
        assert (found.done, found.spending.calls) == (count, count), found
        twice = sum(times > 1 for times in ai.batches.paid.values())
        sent, paid = len(client.batches(limit=1_000)), ai.batches.paid.total()
        row = (
            name, f"{count:,}", sent, sum(expired.values()), paid, twice, f"{seconds:.0f} s", f"{seen['processor']:.0f} s",
            f"{seen['grown']:.0f} MB", f"{seen['statements'] / count:.1f}", f"{seen['of_batches'] / count:.2f}",
        )  # fmt: skip
        print(f"| {' | '.join(map(str, row))} |", flush=True)
        store.close()


def some_expire(ai: AIServer) -> dict[str, bool]:
    """Have some questions expire the first time they are in a batch; returns which, as it becomes known."""
    dice, first = random.Random(1), dict[str, bool]()

    def expires(prompt: str) -> bool:
        if prompt in first:
            return False
        first[prompt] = dice.random() < EXPIRED
        return first[prompt]

    ai.batches.expires = expires
    return first


def work(task: str) -> None:
    """Work until a task is finished, and print what that took."""
    store = Store.open(load())
    statements: Counter[str] = Counter()

    def count(*event: Any) -> None:
        statements["batches" if threading.current_thread().name.endswith("-batches") else "others"] += 1

    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    client = ff.Client(store=store)
    grown_from = peak_megabytes()
    worker = Worker([asking], store=store, concurrency=50)
    worker.run(until=finished(client, task))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "processor": used.ru_utime + used.ru_stime,
                "grown": peak_megabytes() - grown_from,
                "statements": statements.total(),
                "of_batches": statements["batches"],
            }
        )
    )
    store.close()


def peak_megabytes() -> float:
    """The most memory this process has had; what `getrusage` says begins with the peak of the process that started it."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def finished(client: ff.Client, task: str) -> Callable[[], bool]:
    """Whether a task is finished; it looks once a second, so that looking does not count."""
    looked_at, is_over = 0.0, False

    def look() -> bool:
        nonlocal looked_at, is_over
        if time.monotonic() - looked_at > 1.0:
            looked_at, is_over = time.monotonic(), client.get(task).state not in ("active", "waiting")
        return is_over

    return look


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        work(sys.argv[2])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else ITEMS)
