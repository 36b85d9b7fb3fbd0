"""A real fleet: several workers per process, through PgBouncer, on one task of many items."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

import fanfold as ff
from benchmarks.scale.costs import Meter
from benchmarks.scale.server_work import Observer, Work
from benchmarks.scale.workload import counting
from fanfold.engine.worker.loop import Worker
from fanfold.settings import load
from fanfold.store.store import Store

PATIENCE_SECONDS = 7_200.0
LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Run:
    """What a real run took."""

    workers: int
    items: int
    seconds: float
    """From the first start of an item to the last end."""
    server_cores: float
    log_bytes_per_item: float
    most_connections: int
    """Server connections at the same time, those of the pooler included."""
    attempts: int
    """Attempts of all items: as many as items if each was done once."""
    result: int
    worker_processor: float
    """Processor seconds of the workers' processes per item."""
    others_cores: float
    """Cores that neither the server nor the workers got: used by other programs, PgBouncer among them."""
    work: Work
    """What the server did meanwhile."""


def work_in_threads(count: int, slots: int) -> None:
    """In a process of its own: this many workers, each with its own store, until SIGTERM."""
    workers, parent = [], os.getppid()
    for number in range(count):
        store = Store.open(load(dict(os.environ), Path.cwd()))
        workers.append(Worker([counting], store=store, concurrency=slots, name=f"w{number}"))
    threads = [threading.Thread(target=worker.run, daemon=True) for worker in workers]
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    for thread in threads:
        thread.start()
    while not over.wait(LOOK_SECONDS):
        if os.getppid() != parent:
            os._exit(
                1
            )  # The benchmark was killed, and the server with it. Hundreds of threads would go on asking for it.
    for worker in workers:
        worker.stop()
    for thread in threads:
        thread.join(30)


def run(
    store: Store, direct: str, pooled: str, folder: Path, observer: Observer, *, workers: int, processes: int, slots: int,
    items: int, seconds: float,
) -> Run:  # fmt: skip
    """Start the fleet, wait until it is there, and let it work on one task."""
    client = ff.Client(store=store, pipelines=[counting])
    # A worker of a fleet that is too large for its machine may wait for a processor longer than a usual lease lasts.
    given = {"FANFOLD_DATABASE": pooled, "FANFOLD_DATA": str(folder / "files"), "FANFOLD_LEASE_SECONDS": "120"}
    code = f"from benchmarks.scale.real_fleet import work_in_threads as w; w({workers // processes}, {slots})"
    fleet: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(1, processes + 1):
            # One process after the other: if all start at once, they take the processors from each other for minutes.
            fleet.append(subprocess.Popen([sys.executable, "-c", code], env=os.environ | given))
            wanted = workers // processes * number
            _until(lambda wanted=wanted: len(client.workers()) >= wanted, fleet)  # type: ignore[misc]
        return _measured(client, direct, fleet, observer, workers // processes * processes, items, seconds)
    finally:
        for process in fleet:
            process.terminate()
        for process in fleet:
            process.wait(60)


def _measured(
    client: ff.Client, direct: str, fleet: list[subprocess.Popen[bytes]], observer: Observer, workers: int, items: int,
    seconds: float,
) -> Run:  # fmt: skip
    meter, most = Meter(direct), 0
    observer.begin()
    task = client.submit(counting, items=range(items), options={"seconds": seconds})
    log, processor, workers_used, machine = meter.log(), meter.processor(), _used_by(fleet), _machine_seconds()
    began = time.monotonic()
    while client.get(task.id).state == "active":
        row = meter.connection.execute(b"SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL").fetchone()
        most = max(most, int(row[0]) if row else 0)
        observer.look()
        _check(fleet)
        time.sleep(LOOK_SECONDS)
    work = observer.end()
    used, written, elapsed = meter.processor() - processor, meter.log() - log, time.monotonic() - began
    by_workers = _used_by(fleet) - workers_used
    others = max(0.0, (_machine_seconds() - machine - used - by_workers) / elapsed)
    with psycopg.connect(direct) as connection:
        found = connection.execute(
            b"SELECT count(*), sum(attempts), extract(epoch FROM max(finished_at) - min(started_at)) FROM items"
            b" WHERE stage = 'count' AND state = 'done'"
        ).fetchone()
    assert found is not None
    assert found[0] == items, f"{found} of {items} items are done"
    taken = float(found[2])
    return Run(
        workers, items, taken, used / taken, written / items, most, int(found[1]), int(client.result(task.id)),
        by_workers / items, others, work,
    )  # fmt: skip


def _used_by(fleet: list[subprocess.Popen[bytes]]) -> float:
    """Processor seconds of all threads of these processes."""
    tick = os.sysconf("SC_CLK_TCK")
    parts = [Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split() for process in fleet]
    return sum(int(part[11]) + int(part[12]) for part in parts) / tick


def _machine_seconds() -> float:
    """Processor seconds that the whole machine has spent on anything but waiting."""
    user, nice, system, _idle, _wait, *rest = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:9])
    return (user + nice + system + sum(rest)) / os.sysconf("SC_CLK_TCK")


def _until(reached: object, fleet: list[subprocess.Popen[bytes]]) -> None:
    assert callable(reached)
    end = time.monotonic() + PATIENCE_SECONDS
    while not reached():
        _check(fleet)
        if time.monotonic() > end:
            raise TimeoutError("The fleet did not come up")
        time.sleep(LOOK_SECONDS)


def _check(fleet: list[subprocess.Popen[bytes]]) -> None:
    ended = [process.args for process in fleet if process.poll() is not None]
    if ended:
        raise RuntimeError(f"Processes of the fleet have ended: {len(ended)}")
