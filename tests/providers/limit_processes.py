"""Real processes that share a rate limit and a manual clock, which is in their shared memory."""

import asyncio
import json
import multiprocessing
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from fanfold.model.money.rate_limits import Dimension
from fanfold.providers.limits.lease import LimitRows
from fanfold.providers.limits.need import NOTHING, Need
from fanfold.providers.limits.shared import SharedLimit
from fanfold.settings import Settings
from fanfold.store.store import Store
from tests.installation import BEGINNING

CALL: Need = NOTHING | {Dimension.REQUESTS: 1.0, Dimension.REQUESTS_DAY: 1.0}
FINISHED = float("inf")
PATIENCE_SECONDS = 300.0
SPAWN = multiprocessing.get_context("spawn")


@dataclass(frozen=True)
class Findings:
    """What the processes did: the times of all calls, the most connections in use in one process, and all transactions."""

    calls: list[float]
    busiest_pool: int
    visits: int


class SharedClock:
    """Seconds in shared memory: index 0 is the current time, and each process has an index for the time it sleeps until."""

    def __init__(self, memory: Any, process: int) -> None:
        self.memory = memory
        self.process = process

    def seconds(self) -> float:
        """The time in seconds."""
        return float(self.memory[0])

    def moment(self) -> datetime:
        """The time as a datetime, for the database."""
        return BEGINNING + timedelta(seconds=self.seconds())

    async def rest(self, wake: asyncio.Event, seconds: float) -> None:
        """Announce how long this process sleeps, and wait until the clock is advanced that far."""
        until = self.seconds() + seconds
        self.memory[1 + self.process] = until
        while self.seconds() < until and not wake.is_set():
            await asyncio.sleep(0.002)
        self.memory[1 + self.process] = 0.0


def work(url: str, folder: str, memory: Any, process: int, coroutines: int, size: float, seconds: float) -> None:
    """Run one process, whose coroutines make calls until the time is over."""
    clock = SharedClock(memory, process)
    store = Store.open(Settings(database=url, data=f"{folder}/{process}"), read_clock=clock.moment)
    out = [0]
    busiest = [0]

    def count(*_: Any, change: int) -> None:
        out[0] += change
        busiest[0] = max(busiest[0], out[0])

    sa.event.listen(store.database.engine, "checkout", lambda *_: count(change=1))
    sa.event.listen(store.database.engine, "checkin", lambda *_: count(change=-1))
    calls: list[float] = []
    visits = asyncio.run(call_until(store, clock, calls, coroutines, size, seconds))
    store.close()
    findings = {"calls": calls, "busiest_pool": busiest[0], "visits": visits}
    Path(folder, f"{process}.json").write_text(json.dumps(findings))
    memory[1 + process] = FINISHED


async def call_until(
    store: Store, clock: SharedClock, calls: list[float], coroutines: int, size: float, seconds: float
) -> int:
    """Make calls from many coroutines; returns the number of transactions."""
    rows = LimitRows(store, "fake:large", {Dimension.REQUESTS: size}, coroutines, f"process-{clock.process}")
    limit = SharedLimit(rows, now=clock.seconds, rest=clock.rest, patience=lambda: float("inf"))

    async def again() -> None:
        while clock.seconds() < seconds:
            await limit.enter(CALL)
            calls.append(clock.seconds())
            limit.leave(CALL)
            await asyncio.sleep(0)

    callers = [asyncio.create_task(again()) for _ in range(coroutines)]
    while clock.seconds() < seconds:
        await asyncio.sleep(0.01)
    for caller in callers:
        caller.cancel()
    await asyncio.gather(*callers, return_exceptions=True)
    await limit.close()
    return limit.visits


def run_processes(url: str, folder: Path, processes: int, coroutines: int, size: float, seconds: float) -> Findings:
    """Start the processes, and advance the clock whenever all of them sleep."""
    memory = SPAWN.Array("d", 1 + processes, lock=False)
    started = [
        SPAWN.Process(target=work, args=(url, str(folder), memory, number, coroutines, size, seconds))
        for number in range(processes)
    ]
    for process in started:
        process.start()
    last = time.monotonic() + PATIENCE_SECONDS
    while not all(memory[1 + number] == FINISHED for number in range(processes)):
        assert time.monotonic() < last, f"stuck at {memory[0]} s: {list(memory)}"
        assert all(process.is_alive() or process.exitcode == 0 for process in started)
        resting = [memory[1 + number] for number in range(processes)]
        if min(resting) > memory[0] and min(resting) != FINISHED:
            memory[0] = min(resting)
        time.sleep(0.002)
    for process in started:
        process.join(60)
    found = [json.loads((folder / f"{number}.json").read_text()) for number in range(processes)]
    calls = sorted(moment for one in found for moment in one["calls"])
    return Findings(calls, max(one["busiest_pool"] for one in found), sum(one["visits"] for one in found))
