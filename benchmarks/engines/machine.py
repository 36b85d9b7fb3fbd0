"""Describes the machine of a run: cores, memory, kernel, software, and how long a durable write takes."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

GIGABYTE = 1024**3
SAMPLES, FEW, BLOCK = 200, 20, 4096
MOODY, BUSY = 3.0, 0.2
LOOK_SECONDS, PAUSE_SECONDS = 0.2, 0.5


def describe(folder: Path) -> dict[str, str]:
    """The machine in words."""
    median, slow = durable_write(folder)
    return {
        "processor": f"{len(os.sched_getaffinity(0))} cores, {processor()}",
        "memory": f"{psutil.virtual_memory().total / GIGABYTE:.1f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "fdatasync of 4 kB": f"{median * 1e3:.2f} ms median, {slow * 1e3:.2f} ms p95, on {file_system(folder)}",
        "load before": f"{os.getloadavg()[0]:.2f}",
        "Python": platform.python_version(),
    }


def processor() -> str:
    """The model, where the kernel tells it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.machine()


def file_system(folder: Path) -> str:
    """The kind of file system that the servers write to."""
    inside = [part for part in psutil.disk_partitions(all=True) if folder.is_relative_to(part.mountpoint)]
    return max(inside, key=lambda part: len(part.mountpoint)).fstype if inside else "an unknown file system"


@dataclass(frozen=True)
class Mood:
    """How a shared machine was just before a run: what its disk took, and how much of its processor others used."""

    fdatasync_seconds: float
    others_share: float


class Surroundings:
    """Others may keep disk and processor busy for a while: wait for a quiet moment, but not forever."""

    def __init__(self, folder: Path, patience_seconds: float) -> None:
        self.folder = folder
        self.left = patience_seconds
        self.fastest = durable_write(folder, FEW)[0]

    def calm(self) -> Mood:
        """Wait until it is about as quiet as it was at its best, and say how quiet it is."""
        while True:
            began = time.monotonic()
            mood = self.look()
            self.fastest = min(self.fastest, mood.fdatasync_seconds)
            quiet = mood.fdatasync_seconds < MOODY * self.fastest and mood.others_share < BUSY
            if quiet or self.left <= 0:
                return mood
            time.sleep(PAUSE_SECONDS)
            self.left -= time.monotonic() - began

    def look(self) -> Mood:
        """A moment in which nothing of ours works."""
        psutil.cpu_percent()
        time.sleep(LOOK_SECONDS)
        share = psutil.cpu_percent() / 100
        return Mood(durable_write(self.folder, FEW)[0], share)


def durable_write(folder: Path, samples: int = SAMPLES) -> tuple[float, float]:
    """Seconds of a write with its fdatasync: the median and the 95th percentile."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(16 * BLOCK))
        os.fsync(file.fileno())
        for number in range(samples):
            began = time.perf_counter()
            os.pwrite(file.fileno(), bytes(BLOCK), number % 16 * BLOCK)
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken), statistics.quantiles(taken, n=20)[-1]


def sqlite_versions() -> dict[str, str]:
    """The SQLite of Fanfold and of the peers."""
    import sqlite3

    found = {"SQLite of Python": sqlite3.sqlite_version}
    try:
        from pysqlite3 import dbapi2
    except ImportError:
        return found
    return found | {"SQLite of Fanfold": str(dbapi2.sqlite_version)}
