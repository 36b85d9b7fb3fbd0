"""Compares plain Celery with Fanfold carried by Celery: the same work, the same broker, the same worker processes, in one run.

`python -m benchmarks.carriers` needs redis-server and fanfold[celery]. Celery has its usual fast settings: messages are
acknowledged early, there is no result backend, and processes prefetch 4 messages each, which is Celery's default
(`--prefetch`). All runs are timed from the first submission to the end. For Celery the end is when its queue is empty, which is
slightly before its last task is done; for Fanfold it is when the task is completed, with every result stored.

Beside the time, each line has the processor time of all processes: Celery's, the dispatcher's, Redis and the one that submits.
On a machine that is busy with other work, that is the steadier figure.
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
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median

import psutil
import redis
from celery import Celery

import fanfold as ff

BROKER = os.environ.get("CELERY_BROKER_URL", "memory://")
WORK_SECONDS = float(os.environ.get("CARRIERS_WORK_SECONDS", "0"))
app = Celery("carriers", broker=BROKER)
app.conf.broker_connection_retry_on_startup = True
PLAIN = "Celery"


def work(number: int) -> int:
    """What both of them do."""
    if WORK_SECONDS:
        time.sleep(WORK_SECONDS)
    return number


@app.task(name="noop", ignore_result=True)  # type: ignore[untyped-decorator]
def noop(number: int) -> int:
    """The work as a task of Celery."""
    return work(number)


function = ff.Pipeline("function")


@function.each
def call(item: ff.ItemWork) -> int:
    """The work as a function, one at a time in each process, as in Celery; its result is stored."""
    return work(item.input)


coroutine = ff.Pipeline("coroutine")


@coroutine.each
async def call_async(item: ff.ItemWork) -> int:
    """The work as a coroutine without any settings."""
    return work(item.input)


wide = ff.Pipeline("wide")


@wide.each(concurrency=64)
async def call_many(item: ff.ItemWork) -> int:
    """The work as a coroutine, 64 at a time."""
    return work(item.input)


CARRIED = {
    "Fanfold on Celery, def": function,
    "Fanfold on Celery, async def": coroutine,
    "Fanfold on Celery, async def, concurrency 64": wide,
}
ff.celery.attach(app, CARRIED.values())
# `attach` sets 1; hints do not care.
app.conf.worker_prefetch_multiplier = int(os.environ.get("CARRIERS_PREFETCH", "4"))


def main() -> None:
    """Measure all of them in turn, and print a line for each run, and ratios in the end."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.carriers", description=__doc__)
    parser.add_argument("--items", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--prefetch", type=int, default=4, help="Celery's worker_prefetch_multiplier")
    parser.add_argument("--work-seconds", type=float, default=0.0, help="how long the work of one item sleeps")
    parser.add_argument("--database", help="a database for Fanfold; without it a new SQLite file")
    wanted = parser.parse_args()
    program = shutil.which("redis-server")
    if program is None:
        raise SystemExit("There is no redis-server. Install it: apt-get install redis-server")
    with tempfile.TemporaryDirectory() as folder, broker(program, Path(folder)) as (url, server):
        os.environ |= {
            "CARRIERS_PREFETCH": str(wanted.prefetch),
            "CARRIERS_WORK_SECONDS": str(wanted.work_seconds),
            "CELERY_BROKER_URL": url,
            "FANFOLD_DATABASE": wanted.database or f"sqlite:///{folder}/fanfold.db",
            "FANFOLD_DATA": f"{folder}/data",
        }
        runs = {PLAIN: plain} | {name: partial(carried, pipeline) for name, pipeline in CARRIED.items()}
        with workers(Path(folder), runs, url) as started:
            compare(runs, url, [server, *started], wanted.items, wanted.rounds)


Run = Callable[[str, int], float]


def compare(runs: dict[str, Run], url: str, processes: list[subprocess.Popen[bytes]], items: int, rounds: int) -> None:
    """Each run once per round, in an order that changes; ratios are taken within a round."""
    names = list(runs)
    ratios = defaultdict[str, list[tuple[float, float]]](list)
    for number in range(rounds):
        figures: dict[str, tuple[float, float]] = {}
        for name in names[number % len(names) :] + names[: number % len(names)]:
            before = processor_seconds(processes)
            seconds = runs[name](url, items)
            figures[name] = seconds, processor_seconds(processes) - before
            cost = figures[name][1] / items * 1e6
            print(
                f"round {number + 1}: {name}: {items / seconds:,.0f} items/s, {cost:,.0f} µs of processor", flush=True
            )
        for name in CARRIED:
            (time_plain, cpu_plain), (time_carried, cpu_carried) = figures[PLAIN], figures[name]
            ratios[name].append((time_plain / time_carried, cpu_plain / cpu_carried))
    for name, found in ratios.items():
        speeds, costs = zip(*found, strict=True)
        print(
            f"{name}: {median(speeds):.1f} × as many items/s as Celery ({min(speeds):.1f} – {max(speeds):.1f}), "
            f"Celery takes {median(costs):.1f} × its processor time ({min(costs):.1f} – {max(costs):.1f})"
        )


def processor_seconds(processes: list[subprocess.Popen[bytes]]) -> float:
    """What these processes, their children and this one have used."""
    every = [psutil.Process()]
    for process in processes:
        every += [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
    return sum(sum(one.cpu_times()[:2]) for one in every)


def plain(url: str, count: int) -> float:
    """Seconds for this many Celery tasks."""
    started = time.monotonic()
    with redis.Redis.from_url(url) as client, app.connection_for_write(url=url) as connection:
        with app.amqp.Producer(connection) as producer:
            for number in range(count):
                app.send_task("noop", args=[number], producer=producer, ignore_result=True)
        until(lambda: client.llen("celery") == 0)
    return time.monotonic() - started


def carried(pipeline: ff.Pipeline, url: str, count: int) -> float:
    """Seconds for this many items of one Fanfold task."""
    started = time.monotonic()
    with ff.Client() as client:
        task = client.submit(pipeline, items=range(count))
        until(lambda: client.get(task.id).state == "completed")
    return time.monotonic() - started


@contextmanager
def broker(program: str, folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
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
        yield url, server
    finally:
        server.terminate()
        server.wait(30)


@contextmanager
def workers(folder: Path, runs: dict[str, Run], url: str) -> Iterator[list[subprocess.Popen[bytes]]]:
    """A Celery worker with one process per core, and a dispatcher."""
    name = "benchmarks.carriers"
    commands = (
        ["-m", "celery", "-A", name, "worker", "-l", "WARNING"],
        ["-m", "fanfold.cli", "dispatch", "--carrier", "celery", "-A", name],
    )
    with (folder / "workers.log").open("wb") as sink:
        started = [subprocess.Popen([sys.executable, *words], stdout=sink, stderr=sink) for words in commands]
    try:
        for run in runs.values():
            run(url, 100)
        yield started
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
