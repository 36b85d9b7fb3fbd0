"""A discrete-event model of a fleet of workers before one PostgreSQL, fed with measured costs.

The server has some processor cores, a log that it flushes for all waiting commits together, and a pool of connections. Each
operation of a worker waits for a connection, then for a core, and, if it writes, for the next flush. Workers do what real
ones do: turns, heartbeats, checks, polls, sweeps, and a poll after each notification. Random numbers come from one seed.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from benchmarks.scale.costs import Cost, Costs

GATHER_SECONDS = 0.01
ROUND_TRIP_SECONDS = 0.0005
"""Network and driver, per operation."""


@dataclass(frozen=True)
class Rules:
    """How often workers ask, and how they follow notifications."""

    beat: float = 4.0
    check: float = 0.5
    poll: float = 2.0
    sweep: float = 5.0
    paced: bool = True
    """Whether a large fleet shares a budget of questions, as `fanfold.engine.worker.fleet_pace` does."""

    def polls_every(self, workers: int) -> float:
        """Seconds between two polls of an idle worker."""
        return max(self.poll, min(30.0, workers / 100)) if self.paced and workers > 50 else self.poll

    def checks_every(self, workers: int) -> float:
        """Seconds between two checks of a busy worker."""
        return max(self.check, min(self.beat, workers / 2_000)) if self.paced and workers > 50 else self.check

    def listeners(self, workers: int) -> int:
        """Workers that listen."""
        return min(workers, 200) if self.paced else workers

    def follows_after(self, workers: int, dice: random.Random) -> float:
        """Seconds from a notification to the poll of a worker that listens."""
        if not self.paced or workers <= 50 or dice.random() < 50 / workers:
            return 0.0
        return dice.uniform(0.0, min(30.0, workers / 500))


@dataclass(frozen=True)
class Fleet:
    """What is modelled: workers, their slots, how long handlers take, and the server."""

    workers: int
    slots: int = 8
    handler_seconds: float = 1.0
    busy: bool = True
    """Whether there is always work; else the fleet is idle."""
    submits_per_second: float = 0.0
    """Tasks of one item, submitted to the fleet."""
    cores: int = 8
    connections: int = 100
    flush_seconds: float = 0.001
    worker_processor: float = 0.0
    """Processor seconds of a worker per item, if the workers share the server's cores; 0 if they have their own."""
    slowness: float = 1.0
    """How much longer everything takes because other programs use the same cores."""
    rules: Rules = field(default_factory=Rules)


@dataclass
class Outcome:
    """What came of some modelled seconds."""

    seconds: float
    items: int = 0
    operations: Counter[str] = field(default_factory=Counter)
    processor: Counter[str] = field(default_factory=Counter)
    log_bytes: float = 0.0
    slowest: Counter[str] = field(default_factory=Counter)
    """The longest time from wish to answer, by operation."""
    starts: list[float] = field(default_factory=list)
    """Seconds from submit to claim, for tasks submitted to an idle fleet."""
    submitted: int = 0

    @property
    def items_per_second(self) -> float:
        """Items settled."""
        return self.items / self.seconds

    @property
    def cores(self) -> float:
        """Cores of the server in use."""
        return sum(self.processor.values()) / self.seconds

    def cores_for(self, *operations: str) -> float:
        """Cores in use for some operations."""
        return sum(self.processor[name] for name in operations) / self.seconds


class Model:
    """One run."""

    def __init__(self, fleet: Fleet, costs: Costs, seed: int = 1) -> None:
        self.fleet, self.costs, self.dice = fleet, costs, random.Random(seed)
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._free_cores, self._free_connections = fleet.cores, fleet.connections
        self._for_core: deque[Callable[[], None]] = deque()
        self._for_connection: deque[Callable[[], None]] = deque()
        self._flushing: list[Callable[[], None]] = []
        self._pending: deque[float] = deque()
        self._swept_at = -1e9
        self._counted: Outcome | None = None

    def run(self, seconds: float, warm_up: float = 5.0) -> Outcome:
        """Model some seconds, after a while in which the fleet comes into step."""
        for _ in range(self.fleet.workers):
            self._start_worker()
        if self.fleet.submits_per_second:
            self._after(0.0, self._submit)
        outcome = Outcome(seconds)
        self._after(warm_up, lambda: setattr(self, "_counted", outcome))
        while self._events and self._events[0][0] <= warm_up + seconds:
            self.now, _, act = heapq.heappop(self._events)
            act()
        return outcome

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._order), act))

    def _every(self, seconds: float, act: Callable[[Callable[[], None]], None]) -> None:
        """Repeat an operation at an interval that begins with its end, from a random moment on."""

        def again() -> None:
            act(lambda: self._after(seconds, again))

        self._after(self.dice.uniform(0.0, seconds), again)

    def _start_worker(self) -> None:
        fleet, rules = self.fleet, self.fleet.rules
        self._every(rules.beat, lambda then: self._ask("beat", self.costs.beat, then))
        self._every(rules.sweep, self._sweep)
        self._every(rules.sweep, lambda then: self._ask("batches", self.costs.batches, then))
        if fleet.busy:
            checks = rules.checks_every(fleet.workers)
            self._every(checks, lambda then: self._ask("check", self.costs.held, then))
            self._after(self.dice.uniform(0.0, max(fleet.handler_seconds, GATHER_SECONDS)), lambda: self._turn(1))
        else:
            self._every(rules.polls_every(fleet.workers), lambda then: self._look("poll", then))

    def _sweep(self, then: Callable[[], None]) -> None:
        """One worker per interval sweeps; the others learn that it is not their turn."""
        if self.now - self._swept_at < self.fleet.rules.sweep:
            self._ask("duty", self.costs.duty, then)
            return
        self._swept_at = self.now
        self._ask("sweep", self.costs.sweep, then)

    def _turn(self, size: int) -> None:
        """Settle and claim this many items, then gather the next results."""
        began = self.now

        def done() -> None:
            if self._counted is not None:
                self._counted.items += size
            rate = self.fleet.slots / max(self.fleet.handler_seconds, 1e-9)
            wait = max(GATHER_SECONDS, 1 / rate) if self.fleet.handler_seconds else 0.0
            ended = max(1, min(self.fleet.slots, round(rate * (self.now - began + wait))))
            self._after(wait, lambda: self._turn(ended))

        def claimed() -> None:
            self._ask("turn", self._turn_cost(size), done)

        self._work(size * self.fleet.worker_processor, claimed)

    def _work(self, seconds: float, then: Callable[[], None]) -> None:
        """The worker's own part of a turn, if it needs one of the server's cores for it."""
        if not seconds:
            then()
            return

        def worked() -> None:
            self._give_core()
            then()

        self._take_core(lambda: self._after(seconds * self.fleet.slowness, worked))

    def _turn_cost(self, size: int) -> Cost:
        """Between the measured sizes, along a line; and for each claim at work beside it, the items that it passes."""
        sizes = sorted(self.costs.turn)
        low = max((one for one in sizes if one <= size), default=sizes[0])
        high = min((one for one in sizes if one > low), default=low)
        share = 0.0 if high == low else (size - low) / (high - low)
        few, many = self.costs.turn[low], self.costs.turn[high]
        beside = (self.fleet.cores - self._free_cores) * size
        processor = few.processor + share * (many.processor - few.processor) + beside * self.costs.per_locked_item
        return Cost(0.0, processor, few.log_bytes + share * (many.log_bytes - few.log_bytes))

    def _submit(self) -> None:
        """Submit a task, and wake those who listen."""
        rules, workers = self.fleet.rules, self.fleet.workers
        self._after(self.dice.expovariate(self.fleet.submits_per_second), self._submit)
        listeners = rules.listeners(workers)
        fewest, most = min(self.costs.notify), max(self.costs.notify)
        few, many = self.costs.notify[fewest], self.costs.notify[most]
        told = few.processor + max(0, listeners - fewest) * (many.processor - few.processor) / (most - fewest)

        def written() -> None:
            self._pending.append(self.now)
            if self._counted is not None:
                self._counted.submitted += 1
            for _ in range(listeners):
                self._after(
                    rules.follows_after(workers, self.dice), lambda: self._look("poll after a hint", lambda: None)
                )

        self._ask("submit", self.costs.submit, lambda: self._ask("notify", Cost(0.0, told, 0.0), written))

    def _look(self, name: str, then: Callable[[], None]) -> None:
        """Poll; the first that comes claims a task that waits."""

        def seen() -> None:
            if self._pending:
                began = self._pending.popleft()
                if self._counted is not None:
                    self._counted.starts.append(self.now - began)
            then()

        self._ask(name, self.costs.look, seen)

    def _ask(self, name: str, cost: Cost, then: Callable[[], None]) -> None:
        """An operation: a connection, a core for its processor time, and the next flush if it writes."""
        began = self.now

        def answered() -> None:
            self._give_connection()
            if (counted := self._counted) is not None:
                counted.operations[name] += 1
                counted.processor[name] += cost.processor
                counted.log_bytes += cost.log_bytes
                counted.slowest[name] = max(counted.slowest[name], self.now - began)  # type: ignore[assignment]
            then()

        def computed() -> None:
            self._give_core()
            if cost.log_bytes >= 1:
                self._flush(answered)
            else:
                self._after(ROUND_TRIP_SECONDS, answered)

        def connected() -> None:
            self._take_core(lambda: self._after(cost.processor * self.fleet.slowness, computed))

        if self._free_connections > 0:
            self._free_connections -= 1
            connected()
        else:
            self._for_connection.append(connected)

    def _give_connection(self) -> None:
        if self._for_connection:
            self._for_connection.popleft()()
        else:
            self._free_connections += 1

    def _take_core(self, act: Callable[[], None]) -> None:
        if self._free_cores > 0:
            self._free_cores -= 1
            act()
        else:
            self._for_core.append(act)

    def _give_core(self) -> None:
        if self._for_core:
            self._for_core.popleft()()
        else:
            self._free_cores += 1

    def _flush(self, answered: Callable[[], None]) -> None:
        """All commits that wait share the next flush."""
        self._flushing.append(answered)
        if len(self._flushing) == 1:
            self._after(self.fleet.flush_seconds, self._flushed)

    def _flushed(self) -> None:
        done, self._flushing = self._flushing, []
        for answered in done:
            answered()
