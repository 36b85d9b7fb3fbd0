"""Celery carries the work: messages get lost, doubled, late and out of order, and children, workers and the broker die."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import sqlalchemy as sa

from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.store.schema.tables import items
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import crowd
from tests.chaos import celery_app
from tests.chaos.findings import FULL, Finding, kind_of, note, only_in_full
from tests.chaos.handlers import crowd_in_children, deaf_function
from tests.chaos.meter import Meter
from tests.chaos.processes import family_of, has_killed, is_spawned
from tests.chaos.whole import check_crowd
from tests.redis_server import RedisServer

APP = "tests.chaos.celery_app"
QUEUE = "fanfold.crowd.work"
COUNT = 600 if FULL else 120
SECONDS = 0.5 if FULL else 0.4
"""How long an item takes: long enough that every fault finds items in the middle of their work."""
WITHIN = 20.0
"""Seconds within which the items of a killed worker must be free for others."""
HINTS = {"FANFOLD_CRASH_LIMIT": "1000"}
"""Innocent items may run on killed processes by chance, which is what a poison item looks like."""

pytestmark = pytest.mark.acceptance


class Cluster:
    """A broker, a Celery worker with two processes, and a dispatcher."""

    def __init__(self, ours: Fleet, broker: RedisServer) -> None:
        self.ours = ours
        self.broker = broker
        self.environment = {"CELERY_BROKER_URL": broker.url}
        self.worker = self.start_worker()
        self.dispatcher = ours.run(
            "-m", "fanfold.cli", "dispatch", "--carrier", "celery", "-A", APP,
            "--hints", "2", "--seconds", "3", "--resend", "4", **self.environment,
        )  # fmt: skip

    def start_worker(self) -> subprocess.Popen[bytes]:
        """A Celery worker; each of its two processes follows one hint at a time."""
        words = ("-m", "celery", "-A", APP, "worker", "-c", "2", "-l", "INFO", "--without-mingle", "--without-gossip")
        return self.ours.run(*words, **self.environment)

    def children(self) -> list[psutil.Process]:
        """The processes of the pool."""
        try:
            return psutil.Process(self.worker.pid).children()
        except psutil.NoSuchProcess:
            return []

    def kill_child(self) -> None:
        """kill -9 of a process that follows a hint."""
        patiently(lambda: any(map(has_killed, self.busy_children())), 60, self.ours.said)

    def busy_children(self) -> list[psutil.Process]:
        """The processes of the pool that run items."""
        at_work = self.at_work()
        return [one for one in self.children() if one.pid in at_work]

    def isolated(self) -> list[psutil.Process]:
        """Processes in which those of the pool run isolated handlers."""
        return [one for child in self.children() for one in family_of(child) if is_spawned(one)]

    def at_work(self) -> set[int]:
        """The processes of workers that the database knows."""
        return {worker.pid for worker in self.ours.client.workers() if worker.running}

    def kill_worker(self) -> None:
        """kill -9 of the whole worker with its processes, and a new one, when their items are free for others."""
        children = self.children()
        self.worker.kill()
        for child in children:
            child.kill()
        self.worker.wait(60)
        patiently(lambda: not self.running(), WITHIN, self.ours.said)
        self.worker = self.start_worker()
        log = self.ours.folder / f"process-{len(self.ours.processes)}.log"
        patiently(lambda: " ready." in log.read_text(), 200, self.ours.said)

    def running(self) -> int:
        """How many items somebody is believed to work on."""
        with self.ours.store.read() as tx:
            counted = sa.select(sa.func.count()).where(items.c.state == "running")
            return int(tx.connection.execute(counted).scalar_one())

    def double(self) -> None:
        """The same hints again, and some that nobody has recorded, which have no id."""
        with self.ours.store.read() as tx:
            ids = [row.id for row in tx.hints.under_way("celery")]
        with celery_app.app.connection_for_write(url=self.broker.url) as connection:
            for id_ in [*ids, *ids, "", ""]:
                celery_app.app.send_task(
                    "fanfold.work", args=["crowd", "work", 1.0, id_], queue=QUEUE, connection=connection
                )

    def reorder(self) -> None:
        """Messages of the queue in reverse order, some of them late."""
        with self.broker.client() as client:
            messages: Any = client.lrange(QUEUE, 0, -1)
            client.delete(QUEUE)
            time.sleep(1)
            for message in messages:
                client.lpush(QUEUE, message)

    def lose(self) -> None:
        """All messages on their way are gone, and everything else that the broker knew."""
        self.broker.flush()

    def kill_broker(self) -> None:
        """kill -9 of the broker, and a new one that knows nothing."""
        self.broker.kill()
        time.sleep(2)
        self.broker.start()


@contextmanager
def cluster(url: str, folder: Path, broker: RedisServer) -> Iterator[Cluster]:
    """Everything is started, and everything is gone in the end, including the processes of killed workers."""
    with fleet(url, folder, **HINTS) as ours:
        made = Cluster(ours, broker)
        try:
            yield made
        finally:
            for child in made.children():
                child.kill()


def submit(ours: Fleet, count: int = COUNT, seconds: float = SECONDS, pipeline: Pipeline = crowd) -> str:
    options = {"count": count, "seconds": seconds, "log": str(ours.log)}
    return ours.client.submit(pipeline, options=options).id


FAULTS: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "doubled messages": (Cluster.double, "a doubled message claims nothing"),
    "late and reordered messages": (Cluster.reorder, "their order does not matter"),
    "lost messages (Redis flushed)": (Cluster.lose, "hints are sent again from the waiting items"),
    "a child killed": (Cluster.kill_child, "its items run again at once"),
    "the whole worker killed": (
        Cluster.kill_worker,
        f"its items are free for others within {WITHIN:.0f} s, without Celery's visibility timeout",
    ),
    "the broker killed": (Cluster.kill_broker, "processes at work continue; hints are sent again"),
}
CHEAP = ("doubled messages", "lost messages (Redis flushed)", "a child killed")


def test_every_item_is_done_once_whatever_happens_to_messages_and_processes(
    database_url: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    """One fault after the other, in the middle of the work."""
    if kind_of(database_url) == "PostgreSQL" and not FULL:
        pytest.skip("on PostgreSQL `make chaos` runs it")
    with cluster(database_url, tmp_path, redis_server) as ours:
        task = submit(ours.ours)
        meter, found = Meter(ours.ours, task), list[Finding]()
        for fault in FAULTS if FULL else CHEAP:
            act, promised = FAULTS[fault]
            patiently(lambda: meter.done() > 0, 100, ours.ours.said)
            act(ours)
            recovered = meter.next_done(meter.done(), 100)
            seen = "work continues; in the end each item was done once and merged once"
            found.append(Finding(f"Celery: {fault}", kind_of(database_url), promised, seen, round(recovered, 1)))
        assert meter.done() < COUNT, "the last fault must find work"
        ours.ours.until(task, seconds=300)
        check_crowd(ours.ours, task, COUNT)
    for finding in found:
        note(finding)


@only_in_full
def test_isolated_handlers_run_in_children_of_celery_processes_and_end_with_them(
    database_url: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    """kill -9 of a child that runs an item, and of the Celery process that has started another."""
    with cluster(database_url, tmp_path, redis_server) as ours:
        task = submit(ours.ours, 100, 0.2, crowd_in_children)
        meter = Meter(ours.ours, task)
        patiently(lambda: meter.done() > 0, 200, ours.ours.said)
        patiently(lambda: any(map(has_killed, ours.isolated())), 100, ours.ours.said)
        recovered = meter.next_done(meter.done(), 100)
        patiently(ours.isolated, 100, ours.ours.said)
        family = ours.isolated()
        for child in ours.children():
            has_killed(child)
        patiently(lambda: not any(one.is_running() for one in family), 100, ours.ours.said)
        ours.ours.until(task, seconds=300)
        check_crowd(ours.ours, task, 100)
    promised = "isolated handlers run in processes of their own below Celery's; an item of a killed one runs again"
    seen = "each of 100 items was done once and merged once; nothing outlived its Celery process"
    name = "Celery: a child of isolate=True killed, and its Celery process"
    note(Finding(name, kind_of(database_url), promised, seen, round(recovered, 1)))


@only_in_full
def test_a_cancelled_function_that_does_not_listen_is_ended_with_its_process(
    database_url: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    with cluster(database_url, tmp_path, redis_server) as ours:
        task = ours.ours.client.submit(deaf_function, items=["x"], options={"log": str(ours.ours.log)}).id
        patiently(lambda: ours.ours.calls("start"), 100, ours.ours.said)
        [[(_, _, pid)]] = ours.ours.calls("start").values()
        ours.ours.client.cancel(task)
        cancelled_at = time.monotonic()
        patiently(lambda: not psutil.pid_exists(pid), 100, ours.ours.said)
        took = time.monotonic() - cancelled_at
        assert ours.ours.client.get(task).state == "cancelled"
        promised = "Celery ends the process (revoke with terminate), and starts another"
        note(
            Finding(
                "Celery: a handler ignores cancel",
                kind_of(database_url),
                promised,
                "the process was ended",
                round(took, 1),
            )
        )


@only_in_full
def test_an_existing_celery_task_is_carried_with_progress_and_retry(
    database_url: str, tmp_path: Path, redis_server: RedisServer
) -> None:
    with cluster(database_url, tmp_path, redis_server) as ours:
        mark = tmp_path / "counted"
        task = ours.ours.client.submit(celery_app.counted, str(mark), 7).id
        ours.ours.until(task)
        assert ours.ours.client.result(task) == "7 of 1"
        assert mark.read_text() == "7"
        with redis_server.client() as client:
            keys: Any = client.keys("celery-task-meta-*")
            assert keys == [], "there is no result backend"
