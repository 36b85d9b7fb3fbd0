"""Measures what the operations of a worker cost the server: processor time of its processes, and bytes of its log."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psycopg

import fanfold as ff
from benchmarks.scale.workload import counting
from fanfold.engine.tasks.recovery.sweep import recover_now, take_duty
from fanfold.engine.worker.attempt.attempt_result import Settlement
from fanfold.engine.worker.claiming.claim import Claimer
from fanfold.engine.worker.claiming.room import Room
from fanfold.engine.worker.turn import take_turn
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.store.rows.workers import Report
from fanfold.store.store import Store

WORKER = "measured"
SERVES = [("counting", "count"), ("counting", "add")]
BATCHES = (1, 10, 100)
ROUNDS, FEWER = 300, 40
LISTENERS = (1, 40, 80)
LOCKED = 5_000
STALE = 20_000


@dataclass(frozen=True)
class Cost:
    """One operation: seconds that it takes, processor seconds of the server, and bytes of its log."""

    seconds: float
    processor: float
    log_bytes: float


@dataclass(frozen=True)
class Costs:
    """All that the model needs to know."""

    turn: dict[int, Cost]
    """Settle and claim this many items in one transaction."""
    beat: Cost
    held: Cost
    look: Cost
    duty: Cost
    """Ask whether it is this worker's turn to sweep."""
    batches: Cost
    """Ask whether a batch of questions is due."""
    sweep: Cost
    submit: Cost
    """Submit and advance a task of one item."""
    notify: dict[int, Cost]
    """Commit with a notification, with this many listeners."""
    per_locked_item: float
    """Processor seconds for each item that a claim passes because another claim holds it."""
    per_claimed_item: float
    """Processor seconds for each item that a claim from the start passes because it was claimed before."""
    bytes_per_item: float
    """Disk space of one finished item with its indexes."""

    def dump(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), indent=2)


def load(text: str) -> Costs:
    """The costs that `dump` wrote."""
    told: dict[str, Any] = json.loads(text)
    for name in ("turn", "notify"):
        told[name] = {int(size): Cost(**one) for size, one in told[name].items()}
    plain = ("per_locked_item", "per_claimed_item", "bytes_per_item")
    return Costs(**{name: one if name in (*plain, "turn", "notify") else Cost(**one) for name, one in told.items()})


class Meter:
    """Reads the server's processor time and log position."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def processor(self) -> float:
        """Seconds on a processor of all server processes of this database, except the meter's own."""
        asked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return sum(on_processor(pid) for (pid,) in self.connection.execute(asked.encode()).fetchall())

    def log(self) -> int:
        """Bytes of the log so far."""
        row = self.connection.execute(b"SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        return 0 if row is None else int(row[0])

    def of(self, act: Callable[[], object], rounds: int = ROUNDS) -> Cost:
        """The mean cost of an operation, after a few calls that prepare its statements."""
        for _ in range(5):
            act()
        log, processor, began = self.log(), self.processor(), time.perf_counter()
        for _ in range(rounds):
            act()
        seconds = time.perf_counter() - began
        return Cost(seconds / rounds, (self.processor() - processor) / rounds, (self.log() - log) / rounds)


def on_processor(pid: int) -> float:
    """Seconds that a process was on a processor; 0 if it has just ended."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def measure(store: Store, url: str) -> Costs:
    """Measure everything on an empty database; takes about half a minute."""
    meter, client = Meter(url), ff.Client(store=store, pipelines=[counting])
    with store.write() as tx:
        tx.workers.register(WORKER, "here", 1, SERVES, 8)
    periodic = _periodic(store, meter)
    submit = meter.of(lambda: _small_task(client), FEWER)
    client.submit(counting, items=range(sum(BATCHES) * (FEWER + 10) + 4 * STALE))
    turns = {size: meter.of(_turns(store, size), FEWER) for size in BATCHES}
    notify = {count: _notified(store, meter, url, count) for count in LISTENERS}
    locked, claimed = _passed(store, meter, url, turns[10])
    space = meter.connection.execute(
        b"SELECT (pg_total_relation_size('items') + pg_total_relation_size('item_data'))::float / count(*) FROM items"
    ).fetchone()
    meter.connection.close()
    return Costs(
        turn=turns, submit=submit, notify=notify, per_locked_item=locked, per_claimed_item=claimed,
        bytes_per_item=float(space[0]) if space else 0.0, **periodic,
    )  # fmt: skip


def _periodic(store: Store, meter: Meter) -> dict[str, Cost]:
    """What every worker does every few seconds, with nothing to work on."""
    claimer = _claimer(store)

    def beat() -> None:
        with store.read() as tx:
            tx.misfit()
        with store.write() as tx:
            tx.workers.beat(WORKER, Report(), store.settings.lease_seconds)

    def held() -> None:
        with store.read() as tx:
            tx.workers.held(WORKER)

    def batches() -> None:
        with store.read() as tx:
            tx.batches.is_anything_due()

    return {
        "beat": meter.of(beat),
        "held": meter.of(held),
        "look": meter.of(lambda: claimer.look(True, now=True)),
        "duty": meter.of(lambda: take_duty(store, "recover", 3_600.0, force=False)),
        "batches": meter.of(batches),
        "sweep": meter.of(lambda: recover_now(store, {"counting": counting}, "measured"), FEWER),
    }


def _claimer(store: Store) -> Claimer:
    return Claimer(store, {"counting": counting})


def _small_task(client: ff.Client) -> None:
    """A task of one item, from submit to its result."""
    client.submit(counting, items=[1])
    turn = _turns(client.store, 1)
    while turn():
        pass


def _turns(store: Store, size: int) -> Callable[[], int]:
    """Turns of a worker that settles what it claimed in the turn before, and claims as much again."""
    claimer, running = _claimer(store), list[Claimed]()

    def turn() -> int:
        settled = [Settlement(one, Ending.FINISH, output="1") for one in running]
        taken = take_turn(
            store, claimer, {"counting": counting}, WORKER, settled, Room(size), in_flight=set(), hinted=True
        )
        running[:] = [claimed for _, claimed in taken.claimed]
        return len(running) + len(settled)

    return turn


def _notified(store: Store, meter: Meter, url: str, count: int) -> Cost:
    """A commit with a notification. Listeners read it as soon as they are asked, so the server's part is counted."""

    def announce() -> None:
        with store.write() as tx:
            tx.announce()

    with _listeners(url, count) as listening:
        cost = meter.of(announce, FEWER)
        for connection in listening:
            list(connection.notifies(timeout=0))
    return cost


@contextlib.contextmanager
def _listeners(url: str, count: int) -> Iterator[list[psycopg.Connection[Any]]]:
    with contextlib.ExitStack() as opened:
        made = [opened.enter_context(psycopg.connect(url, autocommit=True)) for _ in range(count)]
        for connection in made:
            connection.execute(b"LISTEN fanfold")
        yield made


def _passed(store: Store, meter: Meter, url: str, usual: Cost) -> tuple[float, float]:
    """What a claim of 10 pays for each item before them: held by another transaction, and claimed since the last VACUUM."""
    first = b"SELECT id FROM items WHERE state = 'pending' ORDER BY task, id LIMIT %d FOR UPDATE" % LOCKED
    with psycopg.connect(url) as holder:
        holder.execute(first)
        locked = _first_claim(store, meter)
    turn = _turns(store, STALE // 10)
    for _ in range(10):
        turn()
    stale = _first_claim(store, meter)
    return max(0.0, locked - usual.processor) / LOCKED, max(0.0, stale - usual.processor) / STALE


def _first_claim(store: Store, meter: Meter) -> float:
    """Processor seconds of the first claim of a new worker, which has no cursor."""
    turn = _turns(store, 10)
    before = meter.processor()
    turn()
    return meter.processor() - before
