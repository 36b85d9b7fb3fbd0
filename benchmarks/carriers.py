"""Compares plain Celery with Fanfold carried by Celery: the same no-op work, the same broker, the same worker processes.

`python -m benchmarks.carriers` needs redis-server and fanfold[celery]. Both runs are timed from the first submission to the end.
For Celery the end is when its queue is empty, which is slightly before its last task is done; for Fanfold it is when the task is
completed, with every result stored.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
from celery import Celery

import fanfold as ff

BROKER = os.environ.get("CELERY_BROKER_URL", "memory://")
app = Celery("carriers", broker=BROKER)
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 64
"""The best that was found for plain no-op tasks; hints do not care."""

nothing = ff.Pipeline("nothing")


@nothing.each(concurrency=8)
async def pass_on(item: ff.ItemWork) -> int:
    """The no-op of Fanfold; its result is stored."""
    return int(item.input)


@app.task(name="noop", ignore_result=True)  # type: ignore[untyped-decorator]
def noop(number: int) -> int:
    """The no-op of Celery."""
    return number


ff.celery.attach(app, [nothing])


def main() -> None:
    """Measure both in turn, and print a line for each run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.carriers", description=__doc__)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    wanted = parser.parse_args()
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("There is no redis-server. Install it: apt-get install redis-server")
    with tempfile.TemporaryDirectory() as folder, broker(program, Path(folder)) as url:
        os.environ |= {
            "CELERY_BROKER_URL": url,
            "FANFOLD_DATABASE": f"sqlite:///{folder}/fanfold.db",
            "FANFOLD_DATA": f"{folder}/data",
        }
        with workers(Path(folder), url):
            for number in range(wanted.rounds):
                for name, run in (("Celery", plain), ("Fanfold on Celery", carried)):
                    seconds = run(url, wanted.items)
                    print(
                        f"round {number + 1}: {name}: {wanted.items / seconds:,.0f} items/s ({seconds:.2f} s)",
                        flush=True,
                    )


def plain(url: str, count: int) -> float:
    """Seconds for this many Celery tasks."""
    started = time.monotonic()
    with redis.Redis.from_url(url) as client, app.connection_for_write(url=url) as connection:
        with app.amqp.Producer(connection) as producer:
            for number in range(count):
                app.send_task("noop", args=[number], producer=producer, ignore_result=True)
        until(lambda: client.llen("celery") == 0)
    return time.monotonic() - started


def carried(url: str, count: int) -> float:
    """Seconds for this many items of one Fanfold task."""
    started = time.monotonic()
    with ff.Client() as client:
        task = client.submit(nothing, items=range(count))
        until(lambda: client.get(task.id).state == "completed")
    return time.monotonic() - started


@contextmanager
def broker(program: str, folder: Path) -> Iterator[str]:
    """A Redis of its own."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with (folder / "redis.log").open("wb") as sink:
        server = subprocess.Popen([program, "--port", str(port), "--save", ""], stdout=sink, cwd=folder)
    url = f"redis://127.0.0.1:{port}/0"
    try:
        with redis.Redis.from_url(url) as client:
            until(lambda: answers(client))
        yield url
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def workers(folder: Path, url: str) -> Iterator[None]:
    """A Celery worker with one process per core, and a dispatcher."""
    name = "benchmarks.carriers"
    commands = (
        ["-m", "celery", "-A", name, "worker", "-l", "WARNING"],
        ["-m", "fanfold.cli", "dispatch", "--carrier", "celery", "-A", name],
    )
    with (folder / "workers.log").open("wb") as sink:
        started = [subprocess.Popen([sys.executable, *words], stdout=sink, stderr=sink) for words in commands]
    try:
        plain(url, 100)
        carried(url, 100)
        yield
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(60)


def answers(client: redis.Redis) -> bool:
    """Whether Redis is up."""
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False


def until(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds:g} s")
        time.sleep(0.005)


if __name__ == "__main__":
    main()
