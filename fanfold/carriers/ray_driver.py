"""The process that is connected to Ray for a dispatcher: starts actors for hints, and ends those that are not needed.

It serves one request after the other. If the head node or the node of this process is gone, it ends, and the carrier starts
another one: Ray itself would block here for minutes. Actors do not depend on it.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from fanfold.carriers.ray_actor import THREADS, Follower

log = logging.getLogger("fanfold.ray")
WATCH_SECONDS = 2.0
WATCH_LIMIT = 3
"""A node counts as gone when it has refused this many connections in a row."""
LEAVE_SECONDS = 5.0
IDLE_SECONDS = 300.0
"""How long an actor without work keeps its resources."""
TEND_SECONDS = 5.0
NODE_GONE = 3
TOLD_LENGTH = 300
Pair = tuple[str, str]


@dataclass
class RayActor:
    """An actor and what it does."""

    handle: Any
    options: Mapping[str, Any]
    """The resources that it holds, or waits for."""
    heard: Any
    """The reference to its last answer to `stay`."""
    has_started: bool = False
    answer: Any = None
    """The reference to what it returns, until that was seen."""
    hint: str = ""
    used_at: float = field(default_factory=time.monotonic)


class Actors:
    """The actors of one dispatcher, by stage."""

    def __init__(
        self, *, targets: Sequence[str], address: str | None, most: int, namespace: str, grace_seconds: float
    ) -> None:
        import ray

        self._ray = ray
        self._targets = list(targets)
        self._most = most
        self._grace = grace_seconds if address is None else 0.0
        self._actors: dict[Pair, list[RayActor]] = {}
        self._lost: list[str] = []
        self._lock = threading.Lock()
        here: dict[str, Any] = {"include_dashboard": False} if address is None else {}
        if address is not None and ":" in address.removeprefix("ray://"):
            check_listens(address)
        # Without "local" it would connect to whatever Ray was started on this machine before.
        ray.init(
            address=address or "local", namespace=namespace, log_to_driver=False, logging_level=logging.WARNING, **here
        )
        # Those of a driver that was ended before: their hints are followed to the end.
        for name in ray.util.list_named_actors():
            ray.get_actor(name).leave.remote()

    def nodes(self) -> list[tuple[str, int]]:
        """Where the head node and the node of this process listen."""
        here = self._ray.get_runtime_context()
        host, _, port = here.gcs_address.rpartition(":")
        own = [node for node in self._ray.nodes() if node["NodeID"] == here.get_node_id()]
        return [(host, int(port)), *((node["NodeManagerAddress"], node["NodeManagerPort"]) for node in own)]

    def send(self, hint: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Give it to an idle actor of its stage, or to a new one. False if there are enough, all of them busy."""
        pair = (hint["pipeline"], hint["stage"])
        with self._lock:
            actor = self._idle(pair)
            if actor is None and len(self._actors[pair]) >= self._most:
                return False
            actor = actor or self._new(pair, hint["id"], options)
            actor.answer = actor.handle.work.remote(*pair, hint["seconds"], hint["id"])
            actor.hint, actor.used_at = hint["id"], time.monotonic()
        return True

    def kill(self, hint: str) -> bool:
        """End the actor that follows a hint. False if it is not known."""
        with self._lock:
            for actors in self._actors.values():
                for actor in actors:
                    if actor.hint == hint:
                        self._end(actors, actor)
                        return True
        return False

    def lost(self) -> list[str]:
        """Hints whose actor has died since the last time."""
        with self._lock:
            self._forget_dead()
            found, self._lost = self._lost, []
        return found

    def tend(self) -> None:
        """Keep idle actors, whose models are loaded, for a while; then end them: others may need their GPU."""
        while True:
            time.sleep(TEND_SECONDS)
            with self._lock:
                for pair, actors in self._actors.items():
                    for actor in list(actors):
                        self._keep_or_end(actors, actor)
                    for actor in actors:
                        if not actor.has_started:
                            self._make_room(pair, actor.options)

    def _keep_or_end(self, actors: list[RayActor], actor: RayActor) -> None:
        if self._is_busy(actor):
            actor.used_at = time.monotonic()
        elif time.monotonic() - actor.used_at > IDLE_SECONDS:
            self._end(actors, actor)
            return
        if self._ray.wait([actor.heard], timeout=0)[0]:
            actor.has_started = True
            actor.heard = actor.handle.stay.remote()

    def close(self) -> None:
        """Let every actor end after what it does now; with a Ray of its own, wait for that within the grace time."""
        self._lock.acquire()  # For good: nothing is sent or kept any more.
        every = [actor for actors in self._actors.values() for actor in actors]
        left = [actor.handle.leave.remote() for actor in every]
        if left:
            self._ray.wait(left, num_returns=len(left), timeout=LEAVE_SECONDS)
        busy = [actor.answer for actor in every if actor.answer is not None]
        if busy and self._grace:
            self._ray.wait(busy, num_returns=len(busy), timeout=self._grace)
        self._ray.shutdown()

    def _idle(self, pair: Pair) -> RayActor | None:
        """An actor of the stage that has nothing to do."""
        self._forget_dead()
        return next((actor for actor in self._actors.setdefault(pair, []) if actor.answer is None), None)

    def _forget_dead(self) -> None:
        """Look at the answers that have come: an actor has done its work, or has died."""
        for actors in self._actors.values():
            for actor in [one for one in actors if one.answer is not None and not self._is_busy(one)]:
                if not self._has_survived(actor):
                    actors.remove(actor)
                    self._lost.append(actor.hint)
                actor.answer, actor.hint, actor.used_at = None, "", time.monotonic()

    def _has_survived(self, actor: RayActor) -> bool:
        """Whether an actor that has answered can be used again."""
        errors = self._ray.exceptions
        try:
            self._ray.get(actor.answer)
        except errors.RayTaskError as error:
            log.warning("[dispatch] %s failed: %s", actor.hint, str(error.cause).splitlines()[0])
        except errors.RayActorError as error:
            # If it could not even start, the last line says why.
            why = (str(error).strip().splitlines() or [""])[-1][:TOLD_LENGTH]
            log.warning("[dispatch] The actor of %s has died: %s: %s", actor.hint, type(error).__name__, why)
            return False
        return True

    def _new(self, pair: Pair, name: str, options: Mapping[str, Any]) -> RayActor:
        actors = self._actors.setdefault(pair, [])
        self._make_room(pair, options)
        made = self._ray.remote(Follower).options(
            **options,
            name=f"{name}-{secrets.token_hex(2)}",
            lifetime="detached",
            max_restarts=0,
            max_concurrency=THREADS,
        )
        handle = made.remote(self._targets)
        actor = RayActor(handle, options, handle.stay.remote())
        actors.append(actor)
        return actor

    def _make_room(self, pair: Pair, options: Mapping[str, Any]) -> None:
        """End one idle actor of another stage if the cluster has no room: work comes before a loaded model.

        Those that are busy now may be idle soon, so this is repeated while an actor waits for its resources.
        """
        free = self._ray.available_resources()
        wanted = {"CPU": options["num_cpus"], "GPU": options["num_gpus"], **options["resources"]}
        if all(free.get(name, 0) >= amount for name, amount in wanted.items()):
            return
        others = [actors for other, actors in self._actors.items() if other != pair]
        idle = [(one.used_at, one, actors) for actors in others for one in actors if not self._is_busy(one)]
        if idle:
            _, actor, actors = min(idle, key=lambda found: found[0])
            self._end(actors, actor)

    def _is_busy(self, actor: RayActor) -> bool:
        return actor.answer is not None and not self._ray.wait([actor.answer], timeout=0)[0]

    def _end(self, actors: list[RayActor], actor: RayActor) -> None:
        self._ray.kill(actor.handle)
        actors.remove(actor)


def main(number: int) -> None:
    """Connect to Ray as the first message says, and serve requests until the other side of the socket is closed."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    asked = Connection(number)
    try:
        actors = Actors(**json.loads(asked.recv_bytes()))
        threading.Thread(target=end_without, args=(actors.nodes(),), daemon=True).start()
        threading.Thread(target=actors.tend, daemon=True).start()
    except Exception as error:  # Whatever Ray raises when it cannot be reached.
        _answer(asked, {"problem": f"Ray takes no hints: {_told(error)}."})
        raise SystemExit(NODE_GONE) from None
    _answer(asked, {"value": True})
    while (request := _next(asked)) is not None:
        verb = request.pop("verb")
        try:
            value = getattr(actors, verb)(**request)
        except Exception as error:
            _answer(asked, {"problem": f"Ray takes no hints: {_told(error)}."})
            raise SystemExit(NODE_GONE) from None
        _answer(asked, {"value": value})
    actors.close()


def end_without(nodes: Sequence[tuple[str, int]]) -> None:
    """End this process when one of these nodes no longer accepts connections."""
    refused = dict.fromkeys(nodes, 0)
    while max(refused.values()) < WATCH_LIMIT:
        time.sleep(WATCH_SECONDS)
        for node in nodes:
            refused[node] = 0 if accepts(node) else refused[node] + 1
    log.warning("[dispatch] A node of Ray is gone: %s", ", ".join(f"{host}:{port}" for host, port in nodes))
    os._exit(NODE_GONE)


def check_listens(address: str) -> None:
    """ConnectionError if nobody listens there. Ray itself would try for two minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if not any(accepts((host, int(port))) for _ in range(WATCH_LIMIT)):
        raise ConnectionError(f"nobody listens at {host}:{port}")


def accepts(node: tuple[str, int]) -> bool:
    """Whether somebody listens there. The kernel answers, so a busy process does not look like a dead one."""
    try:
        socket.create_connection(node, timeout=WATCH_SECONDS).close()
    except OSError:
        return False
    return True


def _next(asked: Connection) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(asked.recv_bytes())
    except (EOFError, ConnectionError):
        return None
    return found


def _answer(asked: Connection, answer: Mapping[str, Any]) -> None:
    try:
        asked.send_bytes(json.dumps(answer).encode())
    except OSError:
        log.debug("[dispatch] The dispatcher is gone")


def _told(error: Exception) -> str:
    first = (str(error).strip().splitlines() or [""])[0].rstrip(".")
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
