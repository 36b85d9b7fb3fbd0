"""Ray as a carrier: actors follow hints, with the CPUs and GPUs that their stage asks for, and keep loaded models between items.

The connection to Ray has a process of its own (`ray_driver`). When the head node dies, Ray's calls block for minutes or end
the process that made them; this process is then replaced, and the dispatcher continues.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import secrets
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from multiprocessing.connection import Connection
from typing import Any

from fanfold.carriers.dispatch import HINTS
from fanfold.carriers.hint import CarrierDown, Hint
from fanfold.errors import BadInput
from fanfold.model.pipelines.pipeline import Pipeline, Stage

log = logging.getLogger("fanfold.ray")
START_SECONDS = 120.0
"""How long the first connection may take: a Ray on this machine has to be started first."""
ANSWER_SECONDS = 20.0
"""A driver that does not answer for this long is replaced. Its actors continue."""
CHECK_SECONDS = 1.0
"""How long the dispatcher waits for a driver that is being started again, before it does something else."""
END_SECONDS = 10.0
CPU, GPU = "CPU", "GPU"


class RayCarrier:
    """Sends hints to actors, through a driver process that starts and ends them as they are needed."""

    name = "ray"

    def __init__(
        self,
        targets: Sequence[str],
        pipelines: Mapping[str, Pipeline],
        address: str | None = None,
        most: int = HINTS,
        grace_seconds: float = 0.0,
    ) -> None:
        """``targets``: the pipelines as the actors import them; ``address``: as for ``ray.init``; ``most``: actors per stage.

        ``grace_seconds``: how long a Ray that was started here waits for its actors before it ends.
        """
        if importlib.util.find_spec("ray") is None:
            raise BadInput("The carrier ray needs a package more: pip install 'fanfold[ray]'")
        self._pipelines = pipelines
        self._grace = grace_seconds
        self._order = {
            "targets": list(targets),
            "address": address,
            "most": most,
            "namespace": f"fanfold-{secrets.token_hex(4)}",
            "grace_seconds": grace_seconds,
        }
        self._refused: list[str] = []
        """Hints that no actor was free for."""
        self._driver: Driver | None = Driver(self._order)
        try:
            self._driver.wait(START_SECONDS)
        except CarrierDown as problem:
            self._drop()
            raise BadInput(f"{problem} Is a Ray cluster running at {address or 'this machine'}?") from None

    def send(self, hint: Hint) -> None:
        """Give it to an idle actor of the stage, or to a new one; a new one starts when its resources are free.

        If there are enough actors, all busy or waiting for resources, it counts as lost, and the dispatcher soon sends another
        one: an actor may have ended its last hint in the database just now, and its answer is still on the way.
        """
        stage = self._pipelines[hint.pipeline].find(hint.stage)
        assert stage is not None, "only stages of known pipelines are dispatched"
        if not self._ask("send", hint=asdict(hint), options=options_of(stage)):
            self._refused.append(hint.id)

    def revoke(self, hint: str, *, kill: bool) -> bool:
        """End the actor that follows a hint; its place is taken by a new one when there is work."""
        try:
            return kill and bool(self._ask("kill", hint=hint))
        except CarrierDown as problem:
            log.warning("[dispatch] Could not end the actor of %s: %s", hint, problem)
            return False

    def lost(self) -> list[str]:
        """Hints whose actor has died, and those that no actor was free for."""
        found, self._refused = self._refused, []
        if self._driver is None:
            return found
        try:
            return [*found, *self._ask("lost")]
        except CarrierDown as problem:
            log.warning("[dispatch] %s", problem)
            return found

    def close(self) -> None:
        """Let the actors end after what they do now. A Ray that was started here ends with them, within the grace time."""
        if self._driver is not None:
            self._driver.end(self._grace + END_SECONDS)
            self._driver = None

    def _ask(self, verb: str, **named: Any) -> Any:
        """What the driver answers. One that has ended or does not answer is replaced; CarrierDown until the new one is ready."""
        if self._driver is None:
            self._driver = Driver(self._order)
        try:
            self._driver.wait(CHECK_SECONDS)
            return self._driver.ask({"verb": verb, **named}, ANSWER_SECONDS)
        except DriverEnded as ended:
            self._drop()
            raise CarrierDown(str(ended)) from None

    def _drop(self) -> None:
        if self._driver is not None:
            self._driver.kill()
            self._driver = None


class DriverEnded(CarrierDown):
    """The driver has ended, or must be ended because it does not answer."""


class Driver:
    """The process that is connected to Ray, and the socket to it."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            # A session of its own: Ctrl-C is meant for the dispatcher, which then lets the actors finish.
            code = f"from fanfold.carriers.ray_driver import main; main({theirs.fileno()})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._socket = Connection(ours.detach())
        self._is_ready = False
        self._socket.send_bytes(json.dumps(order).encode())

    def wait(self, seconds: float) -> None:
        """Wait until it is connected to Ray; CarrierDown if that takes longer."""
        if not self._is_ready:
            try:
                self._answer(seconds)
            except TimeoutError:
                raise CarrierDown("Ray does not answer yet.") from None
            self._is_ready = True

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """The answer to a request."""
        try:
            self._socket.send_bytes(json.dumps(request).encode())
            return self._answer(seconds)
        except TimeoutError:
            raise DriverEnded(f"Ray has not answered within {seconds:g} s; connecting again.") from None
        except OSError:
            raise DriverEnded("The connection to Ray was lost; connecting again.") from None

    def _answer(self, seconds: float) -> Any:
        try:
            if not self._socket.poll(seconds):
                raise TimeoutError
            answer = json.loads(self._socket.recv_bytes())
        except (EOFError, ConnectionError):
            raise DriverEnded("The connection to Ray was lost; connecting again.") from None
        if "problem" in answer:
            raise DriverEnded(answer["problem"])
        return answer["value"]

    def end(self, seconds: float) -> None:
        """Let it end by itself; kill it after some seconds."""
        self._socket.close()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once. Actors on a cluster continue; a Ray that it has started ends with it."""
        self._socket.close()
        self._process.kill()
        self._process.wait()


def options_of(stage: Stage) -> dict[str, Any]:
    """A stage's resources as Ray's options: one CPU unless it says something else."""
    wanted = dict(stage.resources or {})
    return {"num_cpus": wanted.pop(CPU, 1), "num_gpus": wanted.pop(GPU, 0), "resources": wanted}
