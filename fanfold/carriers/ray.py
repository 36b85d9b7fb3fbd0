"""Ray as a carrier: actors follow hints, with the CPUs and GPUs that their stage asks for, and keep loaded models between items.

An actor serves one stage. It is used again for the next hint, so whatever a handler's module has loaded stays in memory. Actors
read the settings from the environment of their node: no address or password of a database travels through Ray.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanfold.carriers.dispatch import HINTS
from fanfold.carriers.hint import CarrierDown, Hint, follow
from fanfold.engine.discovery import load_all
from fanfold.errors import BadInput
from fanfold.model.pipelines.pipeline import Pipeline, Stage
from fanfold.settings import load as load_settings
from fanfold.store.store import Store

log = logging.getLogger("fanfold.ray")
CPU, GPU = "CPU", "GPU"
IDLE_SECONDS = 300.0
"""How long an actor without work keeps its resources."""
Pair = tuple[str, str]


class Follower:
    """What runs in an actor: follows one hint at a time, with a store of its own."""

    def __init__(self, targets: Sequence[str]) -> None:
        logging.basicConfig(level=logging.INFO)
        self.pipelines = load_all(list(targets))
        self.store = Store.open(load_settings())

    def work(self, pipeline: str, stage: str, seconds: float, hint: str) -> int:
        """Follow a hint; returns how many items are done.

        An actor may start so slowly that its hint counts as lost. It is followed all the same: Ray delivers nothing twice.
        """
        known = self.pipelines.values()
        report = follow(self.store, known, Hint(pipeline, stage, seconds, hint))
        report = report or follow(self.store, known, Hint(pipeline, stage, seconds))
        return 0 if report is None else report.finished


@dataclass
class Actor:
    """An actor and what it does."""

    handle: Any
    answer: Any = None
    """The reference to what it returns, until that was seen."""
    hint: str = ""
    used_at: float = field(default_factory=time.monotonic)


class RayCarrier:
    """Sends hints to actors, which it starts and ends as they are needed."""

    name = "ray"

    def __init__(
        self, targets: Sequence[str], pipelines: Mapping[str, Pipeline], address: str | None = None, most: int = HINTS
    ) -> None:
        """``targets``: the pipelines as the actors import them; ``address``: as for ``ray.init``; ``most``: actors per stage."""
        try:
            import ray
        except ImportError:
            raise BadInput("The carrier ray needs a package more: pip install 'fanfold[ray]'") from None
        self._ray = ray
        self._targets = list(targets)
        self._pipelines = pipelines
        self._most = most
        self._actors: dict[Pair, list[Actor]] = {}
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False, include_dashboard=False, logging_level=logging.WARNING)

    def send(self, hint: Hint) -> None:
        """Give it to an idle actor of the stage, or to a new one; a new one starts when its resources are free.

        If there are enough actors, all busy or waiting for resources, it is dropped; the dispatcher sends another one later.
        """
        try:
            self._end_idle()
            actor = self._idle(hint)
            if actor is None and len(self._actors[hint.pipeline, hint.stage]) >= self._most:
                return
            actor = actor or self._new(hint)
            actor.answer = actor.handle.work.remote(hint.pipeline, hint.stage, hint.seconds, hint.id)
            actor.hint, actor.used_at = hint.id, time.monotonic()
        except self._ray.exceptions.RayError as error:
            raise CarrierDown(f"Ray takes no hints: {type(error).__name__}.") from error

    def revoke(self, hint: str, *, kill: bool) -> bool:
        """End the actor that follows a hint; its place is taken by a new one when there is work."""
        for actors in self._actors.values():
            for actor in actors:
                if actor.hint == hint and kill:
                    self._ray.kill(actor.handle)
                    actors.remove(actor)
                    return True
        return False

    def close(self) -> None:
        """End all actors. Items that they run are recovered, like those of any worker that dies."""
        for actors in self._actors.values():
            for actor in actors:
                self._ray.kill(actor.handle)
        self._actors.clear()

    def _idle(self, hint: Hint) -> Actor | None:
        """An actor of the stage that has nothing to do. Those that have died are forgotten."""
        actors = self._actors.setdefault((hint.pipeline, hint.stage), [])
        for actor in list(actors):
            if actor.answer is None:
                return actor
            done, _ = self._ray.wait([actor.answer], timeout=0)
            if not done:
                continue
            try:
                self._ray.get(actor.answer)
            except self._ray.exceptions.RayActorError as error:
                log.warning(
                    "[dispatch] The actor of %s has died: %s. Starting another", actor.hint, type(error).__name__
                )
                actors.remove(actor)
                continue
            except self._ray.exceptions.RayTaskError as error:
                log.warning("[dispatch] %s failed: %s", actor.hint, str(error.cause).splitlines()[0])
            actor.answer, actor.hint = None, ""
            return actor
        return None

    def _new(self, hint: Hint) -> Actor:
        stage = self._pipelines[hint.pipeline].find(hint.stage)
        assert stage is not None, "only stages of known pipelines are dispatched"
        self._make_room(hint, options_of(stage))
        made = self._ray.remote(Follower).options(**options_of(stage), name=hint.id, max_restarts=0)
        actor = Actor(made.remote(self._targets))
        self._actors.setdefault((hint.pipeline, hint.stage), []).append(actor)
        return actor

    def _make_room(self, hint: Hint, options: Mapping[str, Any]) -> None:
        """End one idle actor of another stage if the cluster has no room: work comes before a loaded model."""
        free = self._ray.available_resources()
        if free.get(CPU, 0) >= options["num_cpus"] and free.get(GPU, 0) >= options["num_gpus"]:
            return
        others = [actors for pair, actors in self._actors.items() if pair != (hint.pipeline, hint.stage)]
        idle = [(one.used_at, one, actors) for actors in others for one in actors if not self._is_busy(one)]
        if idle:
            _, actor, actors = min(idle, key=lambda found: found[0])
            self._ray.kill(actor.handle)
            actors.remove(actor)

    def _is_busy(self, actor: Actor) -> bool:
        return actor.answer is not None and not self._ray.wait([actor.answer], timeout=0)[0]

    def _end_idle(self) -> None:
        """End actors that have had nothing to do for a while: others may need their GPU."""
        for actors in self._actors.values():
            for actor in list(actors):
                if self._is_busy(actor):
                    actor.used_at = time.monotonic()
                elif time.monotonic() - actor.used_at > IDLE_SECONDS:
                    self._ray.kill(actor.handle)
                    actors.remove(actor)


def options_of(stage: Stage) -> dict[str, Any]:
    """A stage's resources as Ray's options: one CPU unless it says something else."""
    wanted = dict(stage.resources or {})
    return {"num_cpus": wanted.pop(CPU, 1), "num_gpus": wanted.pop(GPU, 0), "resources": wanted}
