"""Ray carries the work: hints get lost, doubled, late and out of order, and children, actors, nodes and the head node die."""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from fanfold.engine.discovery import load
from tests.acceptance.fleet import Fleet, fleet, patiently
from tests.acceptance.work import crowd
from tests.chaos.findings import Finding, kind_of, note, only_in_full
from tests.chaos.meter import Meter
from tests.chaos.processes import family_of, has_killed, is_spawned, process_of
from tests.chaos.whole import check_crowd
from tests.s3_server import free_port

pytestmark = [pytest.mark.acceptance, only_in_full]
COUNT = 500
CROWD = "tests.acceptance.work:crowd"
DEAF = "tests.chaos.handlers:deaf_function"
IN_CHILDREN = "tests.chaos.handlers:crowd_in_children"
Process = subprocess.Popen[bytes]


def environment() -> dict[str, str]:
    """Quick to start, without the measures of Ray, and closed to others."""
    return {
        "FANFOLD_CRASH_LIMIT": "1000",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_DISABLE_MEMORY_MONITOR": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
    }


class Cluster:
    """A head node without CPUs, a worker node with two, and a dispatcher."""

    def __init__(self, ours: Fleet) -> None:
        pytest.importorskip("ray")
        self.ours = ours
        self.port = free_port()
        self.head = self.start_head()
        self.node = self.start_node()
        self.dispatcher: Process | None = None

    def start_head(self) -> Process:
        """A head node. Its port is outside the range of those of its workers."""
        return self._ray("--head", f"--port={self.port}", "--num-cpus=0", "--include-dashboard=false")

    def start_node(self) -> Process:
        """A node whose actors do the work."""
        return self._ray(f"--address={self.address}", "--num-cpus=2", '--resources={"special": 1}')

    def _ray(self, *words: str, tries: int = 3) -> Process:
        """Start a node. On a busy machine Ray may give up on its own start, so that is tried again."""
        usual = ("--block", "--min-worker-port=0", "--max-worker-port=0", "--dashboard-agent-listen-port=0")
        process = self.ours.run("-m", "ray.scripts.scripts", "start", "--node-ip-address=127.0.0.1", *usual, *words)
        log = self.ours.folder / f"process-{len(self.ours.processes)}.log"
        patiently(lambda: "Ray runtime started" in log.read_text() or process.poll() is not None, 120, self.ours.said)
        if process.poll() is None:
            return process
        assert tries > 1, self.ours.said()
        return self._ray(*words, tries=tries - 1)

    @property
    def address(self) -> str:
        """Where the head node listens."""
        return f"127.0.0.1:{self.port}"

    def dispatch(self, target: str) -> None:
        """A dispatcher that behaves."""
        words = ("--hints", "2", "--seconds", "3", "--resend", "10", "--address", self.address, target)
        self.dispatcher = self.ours.run("-m", "fanfold.cli", "dispatch", "--carrier", "ray", *words)

    def dispatch_badly(self, target: str) -> None:
        """A dispatcher whose hints get lost, doubled, late and out of order."""
        self.dispatcher = self.ours.run("-m", "tests.chaos.ray_dispatch", self.address, target)

    def at_work(self) -> list[psutil.Process]:
        """The actors that run items."""
        busy = [worker.pid for worker in self.ours.client.workers() if worker.running]
        return [one for pid in busy if (one := process_of(pid)) is not None]

    def an_actor(self) -> psutil.Process:
        """An actor in the middle of its work."""
        patiently(self.at_work, 100, self.ours.said)
        return next(iter(self.at_work()), None) or self.an_actor()

    def kill_child(self) -> None:
        """kill -9 of a process in which an actor runs an item."""
        patiently(lambda: any(map(has_killed, self._children())), 200, self.ours.said)

    def _children(self) -> list[psutil.Process]:
        return [child for actor in self.at_work() for child in family_of(actor) if is_spawned(child)]

    def kill_actor(self) -> None:
        """kill -9 of a process that follows a hint."""
        patiently(lambda: any(map(has_killed, self.at_work())), 200, self.ours.said)

    def dispatched(self) -> str:
        """All that the dispatcher has said: what `said` gives may begin after its first hints."""
        assert self.dispatcher is not None
        number = self.ours.processes.index(self.dispatcher) + 1
        return (self.ours.folder / f"process-{number}.log").read_text(errors="replace")

    def kill_node(self) -> None:
        """kill -9 of the node with all its actors, and a new one."""
        self.an_actor()
        end(self.node)
        self.node = self.start_node()

    def kill_head(self) -> None:
        """kill -9 of the head node, which takes the other nodes with it, and a new one that knows nothing at its address."""
        self.an_actor()
        end(self.head)
        end(self.node)
        self.head = self.start_head()
        self.node = self.start_node()


def end(process: Process) -> None:
    """kill -9 with everything that it has started."""
    known = process_of(process.pid)
    for one in [] if known is None else [*family_of(known), known]:
        has_killed(one)
    process.wait(60)


@contextmanager
def cluster(url: str, folder: Path) -> Iterator[Cluster]:
    """Everything is started, and everything is gone in the end."""
    with fleet(url, folder, **environment()) as ours:
        made = Cluster(ours)
        try:
            yield made
        finally:
            for process in (made.dispatcher, made.node, made.head):
                if process is not None:
                    end(process)


def submit(ours: Fleet, pipeline: object = crowd, count: int = COUNT, seconds: float = 0.5) -> str:
    options = {"count": count, "seconds": seconds, "log": str(ours.log)}
    return ours.client.submit(pipeline, options=options).id  # type: ignore[arg-type]


FAULTS: dict[str, tuple[Callable[[Cluster], None], str]] = {
    "an actor killed": (Cluster.kill_actor, "its items run again; another actor takes its place"),
    "a node killed": (Cluster.kill_node, "its items run again when there is another node"),
    "the head node killed": (Cluster.kill_head, "the dispatcher connects again when there is a new one"),
}


def test_every_item_is_done_once_though_actors_and_nodes_die(database_url: str, tmp_path: Path) -> None:
    with cluster(database_url, tmp_path) as ours:
        ours.dispatch(CROWD)
        task = submit(ours.ours)
        meter, found = Meter(ours.ours, task), list[Finding]()
        for fault, (act, promised) in FAULTS.items():
            patiently(lambda: meter.done() > 0, 200, ours.ours.said)
            act(ours)
            recovered = meter.next_done(meter.done(), 200)
            seen = f"work continues; in the end each of {COUNT} items was done once and merged once"
            found.append(Finding(f"Ray: {fault}", kind_of(database_url), promised, seen, round(recovered, 1)))
        assert meter.done() < COUNT, "the last fault must find work"
        ours.ours.until(task, seconds=300)
        check_crowd(ours.ours, task, COUNT)
        assert ours.dispatcher is not None
        assert ours.dispatcher.poll() is None, "it outlives the head node"
    for finding in found:
        note(finding)


def test_every_item_is_done_once_though_hints_are_unreliable_and_children_die(
    database_url: str, tmp_path: Path
) -> None:
    with cluster(database_url, tmp_path) as ours:
        ours.dispatch_badly(IN_CHILDREN)
        task = submit(ours.ours, load(IN_CHILDREN), 100, 0.2)
        meter = Meter(ours.ours, task)
        patiently(lambda: meter.done() > 0, 200, ours.ours.said)
        ours.kill_child()
        recovered = meter.next_done(meter.done(), 200)
        ours.ours.until(task, seconds=300)
        check_crowd(ours.ours, task, 100)
        fates = ours.dispatched()
    assert "Ray does not answer" not in fates, "a doubled hint is no reason to connect again"
    assert all(f"[post] {fate}" in fates for fate in ("lose", "double", "delay")), fates
    promised = "a lost hint is sent again, others claim nothing; the item of a dead child runs again"
    seen = "each of 100 items was done once and merged once"
    name = "Ray: hints lost, doubled, late, reordered; a child killed"
    note(Finding(name, kind_of(database_url), promised, seen, round(recovered, 1)))


def test_an_actor_keeps_its_model_between_hints_and_survives_the_dispatcher(sqlite_url: str, tmp_path: Path) -> None:
    """A dispatcher that is killed takes nothing with it: what its actors have begun is done once."""
    with cluster(sqlite_url, tmp_path) as ours:
        ours.dispatch("examples.ray_models:describe")
        loaded: set[tuple[int, int]] = set()
        for names in (["cat", "dog"], ["bird"]):
            task = ours.ours.client.submit(load("examples/ray_models.py:describe"), items=names).id
            ours.ours.until(task, seconds=200)
            found = ours.ours.client.result(task)
            assert [one["picture"] for one in found] == names
            assert all(one["model"] == one["process"] for one in found)
            loaded |= {(one["model"], one["process"]) for one in found}
        assert len(loaded) <= 2, "two actors at most, and none was replaced between the tasks"
        assert ours.dispatcher is not None
        end(ours.dispatcher)
        ours.dispatch(CROWD)
        task = submit(ours.ours, count=2, seconds=20)
        patiently(lambda: len(ours.ours.calls("start")) == 2, 200, ours.ours.said)
        ours.dispatcher.kill()
        actors = ours.at_work()
        ours.dispatch(CROWD)
        ours.ours.until(task, seconds=200)
        assert all(len(calls) == 1 for calls in ours.ours.calls("start").values()), "nothing ran again"
        patiently(lambda: not any(one.is_running() for one in actors), 100, ours.ours.said)


def test_an_actor_whose_handler_ignores_cancel_is_ended(database_url: str, tmp_path: Path) -> None:
    """It is replaced when there is work again. Its stage asks for a resource that only one node has."""
    with cluster(database_url, tmp_path) as ours:
        ours.dispatch(DEAF)
        task = ours.ours.client.submit(load(DEAF), items=["x"], options={"log": str(ours.ours.log)}).id
        patiently(lambda: ours.ours.calls("start"), 200, ours.ours.said)
        [[(_, _, pid)]] = ours.ours.calls("start").values()
        ours.ours.client.cancel(task)
        cancelled_at = time.monotonic()
        patiently(lambda: process_of(pid) is None, 100, ours.ours.said)
        took = time.monotonic() - cancelled_at
        assert ours.ours.client.get(task).state == "cancelled"
        again = ours.ours.client.submit(load(DEAF), items=["y"], options={"log": str(ours.ours.log)}).id
        patiently(lambda: len(ours.ours.calls("start")["1"]) == 2, 200, ours.ours.said)
        ours.ours.client.cancel(again)
    name, promised = "Ray: a handler ignores cancel", "its actor is ended; another one takes its place"
    note(Finding(name, kind_of(database_url), promised, "the actor was ended and replaced", round(took, 1)))


def test_a_wrong_address_is_told_in_a_sentence(sqlite_url: str, tmp_path: Path) -> None:
    pytest.importorskip("ray")
    words = ("dispatch", "--carrier", "ray", "--address", f"127.0.0.1:{free_port()}", CROWD)
    with fleet(sqlite_url, tmp_path, **environment()) as ours:
        process = ours.run("-m", "fanfold.cli", *words)
        assert process.wait(100) != 0, ours.said()
        assert "nobody listens at 127.0.0.1" in ours.said()
        assert "Traceback" not in ours.said()
