"""Drives Huey: its SQLite storage with default settings, one worker thread, and a chord."""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"

from __future__ import annotations

import sys

import huey as library

from benchmarks.engines import tally
from benchmarks.engines.engine import Engine, work_folder

huey = library.SqliteHuey("bench", filename=str(work_folder() / "huey.db"), immediate=False)


@huey.task()
def noop(number: int) -> int:
    """Nothing, and a result that is kept."""
    tally.started()
    return 1


@huey.task()
def add(results: list[int]) -> int:
    """The body of the chord."""
    tally.fanned_in(sum(results))
    return sum(results)


class HueySqlite(Engine):
    """Tasks of one function, or a chord."""

    def prepare(self) -> None:
        """The file lies in a folder of this run and is empty."""
        huey.flush()

    def commands(self) -> list[list[str]]:
        """Its own consumer; more threads or processes made it slower."""
        words = ["-m", "huey.bin.huey_consumer", f"{__name__}.huey", "-w", "1", "-k", "thread", "-q", "-n"]
        return [[sys.executable, *words]]

    def enqueue(self, count: int) -> None:
        """All with one call."""
        noop.map(range(count))

    def finished(self) -> int:
        """Results that are kept."""
        return int(huey.result_count())

    def fan_out(self, count: int) -> None:
        """One chord."""
        huey.enqueue(library.chord([noop.s(number) for number in range(count)], add.s()))

    def close(self) -> None:
        """Close the file."""
        huey.storage.close()


ENGINE = HueySqlite
