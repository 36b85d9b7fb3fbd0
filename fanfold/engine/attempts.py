"""What runs here right now? The attempts under way in one worker, from their start to their settlement."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from fanfold.engine.calling import Call, Caller
from fanfold.engine.settlement import Settlement
from fanfold.engine.tally import Tally

log = logging.getLogger("fanfold.worker")

Held = dict[int, tuple[int, bool]]
"""What the database thinks a worker runs: item → (lease, whether its task still wants it)."""


@dataclass
class Attempt:
    """One attempt under way."""

    call: Call
    task: asyncio.Task[None]
    started_at: float
    unwanted: str | None = None
    """`release` when it is to be handed back, `lost` when its lease is gone; set before the task is cancelled."""


class Attempts:
    """Starts calls in the loop, ends those that are no longer wanted, and collects how they ended. Lives in the loop's thread."""

    def __init__(self, caller: Caller, worker: Callable[[], str], wake: Callable[[], None]) -> None:
        self.tally = Tally()
        self.endings: Counter[str] = Counter()
        self._caller = caller
        self._worker = worker
        self._wake = wake
        self._running: dict[int, Attempt] = {}
        self._settled: list[Settlement] = []
        self._strays: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._running)

    @property
    def has_settled(self) -> bool:
        """Whether an ending waits to be written."""
        return bool(self._settled)

    def take_settled(self) -> list[Settlement]:
        """The endings since the last time."""
        settled, self._settled = self._settled, []
        return settled

    def per_stage(self) -> Counter[tuple[str, str]]:
        """How many run in each (pipeline, stage)."""
        return Counter((attempt.call.row.pipeline, attempt.call.stage.name) for attempt in self._running.values())

    def tasks(self) -> set[int]:
        """The tasks that something runs of."""
        return {attempt.call.claimed.task for attempt in self._running.values()}

    def start(self, call: Call) -> None:
        """Begin one attempt."""
        task = asyncio.get_running_loop().create_task(self._attend(call))
        self._running[call.claimed.id] = Attempt(call, task, time.monotonic())

    async def hand_back(self) -> None:
        """End everything that still runs; each is given back unharmed."""
        for attempt in list(self._running.values()):
            attempt.unwanted = attempt.unwanted or "release"
            attempt.task.cancel()
        await asyncio.gather(*(attempt.task for attempt in self._running.values()))

    def lose_all(self) -> None:
        """The leases are gone: end everything, settle nothing."""
        for attempt in list(self._running.values()):
            self._end(attempt, "lost")

    def compare(self, held: Held, asked_at: float, *, turning: bool) -> list[dict[str, int]]:
        """End what was taken away or is no longer wanted; returns strays, which the database thinks run here but do not.

        What began after the database was asked is not in its answer, and is left alone until the next one.
        A stray comes from a claim whose commit went through while its answer got lost. It must be seen twice, and not
        while a turn is under way, before it is handed back.
        """
        for item, attempt in list(self._running.items()):
            if attempt.started_at >= asked_at:
                continue
            lease, wanted = held.get(item, (None, False))
            if lease != attempt.call.claimed.lease:
                self._end(attempt, "lost")
            elif not wanted:
                self._end(attempt, "release")
        here = set(self._running) | {one.claimed.id for one in self._settled}
        strays = {} if turning else {item: lease for item, (lease, _) in held.items() if item not in here}
        confirmed = [{"id": item, "lease": lease} for item, lease in strays.items() if self._strays.get(item) == lease]
        self._strays = strays
        return confirmed

    async def _attend(self, call: Call) -> None:
        """Run one attempt and keep its settlement; a lost lease leaves nothing to settle."""
        item = call.claimed.id
        started = time.monotonic()
        try:
            settlement: Settlement | None = await self._caller.run(call)
        except asyncio.CancelledError:
            lost = self._running[item].unwanted == "lost"
            settlement = None if lost else Settlement(call.claimed, "release")
        del self._running[item]
        if settlement is not None:
            self._say(call, settlement)
            self.endings[settlement.verb] += 1
            if settlement.verb in ("finish", "fail"):
                self.tally.add(settlement.verb == "finish", time.monotonic() - started)
            self._settled.append(settlement)
        self._wake()

    def _end(self, attempt: Attempt, unwanted: str) -> None:
        if attempt.unwanted is None:
            call, why = attempt.call, "no longer ours" if unwanted == "lost" else "no longer wanted"
            log.info(
                "[%s] Stopping %s %s of %s: %s", self._worker(), call.stage.name, call.claimed.key, call.row.id, why
            )
            attempt.unwanted = unwanted
            attempt.task.cancel()

    def _say(self, call: Call, settlement: Settlement) -> None:
        """One line that says what happens next; the plain course of things only where somebody listens closely."""
        what = f"{call.stage.name} {call.claimed.key} of {call.row.id}"
        if settlement.verb == "fail":
            log.warning("[%s] Failed %s: %s; giving up", self._worker(), what, settlement.error_message)
        elif settlement.verb == "back_off":
            limit = call.stage.retry.limit if call.row.retry_limit is None else call.row.retry_limit
            tries = f"({call.claimed.failures + 1} of {limit})" if settlement.counted else "(not counted)"
            wait = f"trying again in {settlement.delay:.1f} s {tries}"
            log.warning("[%s] Failed %s: %s; %s", self._worker(), what, settlement.error_message, wait)
        elif settlement.verb == "crash":
            log.warning("[%s] Lost %s: %s It runs again", self._worker(), what, settlement.error_message)
        elif log.isEnabledFor(logging.DEBUG):
            verb = {"finish": "Finished", "postpone": "Postponed", "release": "Released"}[settlement.verb]
            log.debug("[%s] %s %s", self._worker(), verb, what)
