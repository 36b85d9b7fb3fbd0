"""Celery as a carrier: a message is a hint, and the Celery worker that gets it claims, runs and settles items by itself.

So nothing depends on messages. They are acknowledged at once, have no result, and expire. A lost one is sent again, a doubled one
finds nothing to do, and Celery's visibility timeout cannot duplicate work.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from fanfold.carriers.celery_tasks import queue_of_task
from fanfold.carriers.dispatch import RESEND_SECONDS
from fanfold.carriers.hint import CarrierDown, Hint, follow
from fanfold.carriers.kept_children import KeptChildren
from fanfold.engine.discovery import load_all
from fanfold.errors import BadInput
from fanfold.model.pipelines.pipeline import Pipeline, Target, by_name
from fanfold.settings import Settings
from fanfold.settings import load as load_settings
from fanfold.store.store import Store

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger("fanfold.celery")
WORK = "fanfold.work"
"""The name of the one Celery task."""
QUEUE = "fanfold.{pipeline}.{stage}"
DEFAULT_PREFETCH = 4
"""Celery's own default of `worker_prefetch_multiplier`."""


class Attached:
    """An app that carries Fanfold's work: its pipelines, their queues, and the store of each of its processes."""

    def __init__(self, pipelines: dict[str, Pipeline], settings: Settings, queue: str) -> None:
        self.pipelines = pipelines
        self.settings = settings
        self.queue = queue
        self._store: tuple[int, Store] | None = None
        self._children: KeptChildren | None = None

    def store(self) -> Store:
        """The store of this process: opened at first use, so never before a fork."""
        if self._store is None or self._store[0] != os.getpid():
            # One that was inherited by a fork is not closed here: its connections belong to the parent.
            self._inherited = self._store
            self._store = (os.getpid(), Store.open(self.settings))
        return self._store[1]

    def children(self) -> KeptChildren:
        """The children of this process, which follows one hint at a time."""
        store = self.store()
        if self._children is None:
            self._children = KeptChildren(store.settings)
        return self._children

    def close(self) -> None:
        """Close the store of this process, if it has one, and end its children."""
        if self._children is not None:
            self._children.end()
            self._children = None
        if self._store is not None and self._store[0] == os.getpid():
            self._store[1].close()
            self._store = None

    def queue_of(self, hint: Hint) -> str:
        """The queue of a stage: that of the Celery task it wraps, or one of its own."""
        own = queue_of_task(self.pipelines[hint.pipeline])
        return own or self.queue.format(pipeline=hint.pipeline, stage=hint.stage)


_attached: WeakKeyDictionary[Any, Attached] = WeakKeyDictionary()


def attach(
    app: Celery,
    pipelines: Iterable[Target] | None = None,
    *,
    database: str | None = None,
    data: str | None = None,
    queue: str = QUEUE,
) -> None:
    """Let a Celery app carry Fanfold's work. Call it in the app's module, after the app is configured.

    Without ``pipelines`` all installed ones are served. ``queue`` names the queue of a stage, with `{pipeline}` and `{stage}`;
    a Celery worker without `-Q` takes all of them. Start one, and `fanfold dispatch --carrier celery -A APP`.
    """
    known = load_all(()) if pipelines is None else by_name(pipelines)
    one = Attached(known, load_settings(database=database, data=data), queue)
    _attached[app] = one
    app.task(
        work,
        name=WORK,
        acks_late=False,
        ignore_result=True,
        store_errors_even_if_ignored=False,
        track_started=False,
        max_retries=0,
        serializer="json",
    )
    _declare_queues(app, one)
    if app.conf.worker_prefetch_multiplier == DEFAULT_PREFETCH:
        app.conf.worker_prefetch_multiplier = 1
    _open_after_fork(one)


def work(pipeline: str, stage: str, seconds: float, hint: str = "") -> None:
    """The Celery task: there may be work for this stage. Messages hold names only, no data of tasks."""
    from celery import current_app

    one = attached(current_app._get_current_object())
    own = _is_own_process()
    children = one.children() if own else None
    wanted = Hint(pipeline, stage, seconds, hint)
    report = follow(one.store(), one.pipelines.values(), wanted, own_process=own, children=children)
    log.info("[%s] %s", hint or f"{pipeline}.{stage}", report or "nothing to do: the hint came twice or too late")


def _is_own_process() -> bool:
    """Whether this process runs one hint at a time and can be replaced: a child of the prefork pool."""
    from billiard.process import current_process

    return bool(current_process().name != "MainProcess")


def attached(app: Any) -> Attached:
    """What was attached to an app; BadInput if nothing was."""
    if app not in _attached:
        raise BadInput(
            f"The Celery app {app.main or app} does not carry Fanfold. Add to its module: fanfold.celery.attach(app)"
        )
    return _attached[app]


def find_app(name: str) -> Celery:
    """The Celery app of a name, as `celery -A` understands it."""
    try:
        from celery.app.utils import find_app as find
    except ImportError:
        raise BadInput("The carrier celery needs a package more: pip install 'fanfold[celery]'") from None
    import sys

    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found: Celery = find(name)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"There is no Celery app at {name}: {error}") from None
    return found


class CeleryCarrier:
    """Sends hints as Celery messages."""

    name = "celery"

    def __init__(self, app: Celery, resend_seconds: float = RESEND_SECONDS) -> None:
        self.app = app
        self.attached = attached(app)
        self._expires = resend_seconds

    def send(self, hint: Hint) -> None:
        """Send it to the stage's queue; it expires when the dispatcher sends another one instead."""
        from kombu.exceptions import KombuError

        try:
            self.app.send_task(
                WORK,
                args=[hint.pipeline, hint.stage, hint.seconds, hint.id],
                task_id=hint.id,
                shadow=hint.name,
                queue=self.attached.queue_of(hint),
                expires=self._expires,
                ignore_result=True,
                retry=False,
                headers={"fanfold": hint.name},
            )
        except (KombuError, OSError) as error:
            why = type(error).__name__ if "@" in str(error) else str(error).rstrip(".")
            raise CarrierDown(f"Celery's broker takes no hints: {why}.") from None

    def revoke(self, hint: str, *, kill: bool) -> bool:
        """Take it back. Processes are ended by SIGTERM, which only Celery's prefork pool can do; others cooperate."""
        from kombu.exceptions import KombuError

        try:
            self.app.control.revoke(hint, terminate=kill, signal="SIGTERM")
        except (KombuError, OSError) as error:
            log.warning("[dispatch] Could not revoke %s: %s", hint, type(error).__name__)
            return False
        return True

    def lost(self) -> list[str]:
        """Celery does not tell."""
        return []

    def close(self) -> None:
        """Close the connections to the broker."""
        self.app.close()


def _declare_queues(app: Celery, one: Attached) -> None:
    """Declare a queue for each stage, beside those of the team, so that a worker without `-Q` takes all of them."""
    from kombu import Exchange, Queue

    def queue(name: str, exchange: str | None = None, key: str | None = None) -> Queue:
        # With an exchange of its own: queues that share exchange and key would each get a copy of every message.
        return Queue(name, Exchange(exchange or name), routing_key=key or name)

    conf = app.conf
    pairs = ((pipeline.name, stage.name) for pipeline in one.pipelines.values() for stage in pipeline.all_stages())
    wanted = {one.queue_of(Hint(*pair)) for pair in pairs}
    usual = queue(conf.task_default_queue, conf.task_default_exchange, conf.task_default_routing_key)
    known = list(conf.task_queues or [usual])
    names = {one.name for one in known}
    conf.task_queues = [*known, *(queue(name) for name in sorted(wanted - names))]


def _open_after_fork(one: Attached) -> None:
    from celery.signals import worker_process_init, worker_process_shutdown

    worker_process_init.connect(lambda **_: one.store(), weak=False)
    worker_process_shutdown.connect(lambda **_: one.close(), weak=False)
