"""Renders pictures of items on demand with the pipeline's function, in a child process, and caches a few."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from fanfold.engine.worker.attempt.attempt_result import said_by
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import ChildDied, FanfoldError, NotFound
from fanfold.model.pipelines.pipeline import Pipeline
from fanfold.model.text.sentences import say
from fanfold.settings import Settings

KEPT_BYTES = 64_000_000
WAITING = 16
"""Most pictures that may wait at the same time; they are rendered one after the other."""
DRAWING_SECONDS = 20.0
"""Timeout for one picture; after that, its child process is killed."""
FAILED_SECONDS = 300.0
"""Time before a failed picture is tried again."""


class Busy(FanfoldError):
    """Too many requests at the same time."""

    code = "busy"


class Pictures:
    """Renders one picture at a time in its own thread; requests for the same picture share the result.

    Everything but the rendering happens in the event loop, so that no lock is needed.
    """

    def __init__(self, settings: Settings) -> None:
        self._children = Children(settings, at_once=1)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pictures")
        self._under_way: dict[str, asyncio.Future[bytes]] = {}
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._failed: dict[str, tuple[float, str]] = {}
        self._size = 0

    async def draw(self, pipeline: Pipeline | None, name: str, value: Any, page: int | None = None) -> bytes:
        """The picture of an item's input, or of one of its pages, cached under ``name``."""
        if pipeline is None or pipeline.picture is None or (page is not None and not draws_pages(pipeline)):
            raise NotFound(say("no_picture"), code="no_picture")
        name = name if page is None else f"{name}/{page}"
        if name in self._kept:
            self._kept.move_to_end(name)
            return self._kept[name]
        self._remember_failure(name)
        if name not in self._under_way:
            if len(self._under_way) >= WAITING:
                raise Busy(say("too_many_pictures"))
            self._under_way[name] = asyncio.ensure_future(self._finish(pipeline.picture, name, value, page))
        # Shielded: a request that is cancelled must not cancel the picture for the others that wait for it.
        return await asyncio.shield(self._under_way[name])

    def close(self) -> None:
        """Stop the child process."""
        self._children.close()
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _remember_failure(self, name: str) -> None:
        now = time.monotonic()
        self._failed = {one: known for one, known in self._failed.items() if known[0] > now}
        if name in self._failed:
            raise NotFound(self._failed[name][1], code="no_picture")

    async def _finish(self, picture: Callable[..., bytes], name: str, value: Any, page: int | None) -> bytes:
        try:
            drawn = await asyncio.get_running_loop().run_in_executor(self._thread, self._drawn, picture, value, page)
        except NotFound as problem:
            self._failed[name] = (time.monotonic() + FAILED_SECONDS, problem.message)
            raise
        finally:
            del self._under_way[name]
        self._keep(name, drawn)
        return drawn

    def _drawn(self, picture: Callable[..., bytes], value: Any, page: int | None) -> bytes:
        child = self._children.take()
        patience = threading.Timer(DRAWING_SECONDS, child.kill)
        patience.start()
        try:
            drawn = child.run(picture, (value,), {} if page is None else {"page": page})
        except ChildDied as error:
            self._children.discard(child)
            raise NotFound(say("picture_failed", why=error.message), code="no_picture") from None
        except (Exception, SystemExit) as error:  # Raised by the pipeline's function, in the child.
            self._children.give_back(child)
            raise NotFound(say("picture_failed", why=said_by(error)), code="no_picture") from None
        finally:
            patience.cancel()
        self._children.give_back(child)
        if not isinstance(drawn, bytes):
            raise NotFound(say("picture_failed", why=say("picture_no_bytes")), code="no_picture")
        return drawn

    def _keep(self, name: str, drawn: bytes) -> None:
        self._kept[name] = drawn
        self._size += len(drawn)
        while self._size > KEPT_BYTES and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])


def draws_pages(pipeline: Pipeline) -> bool:
    """Whether the pipeline's function for pictures takes the number of a page."""
    return pipeline.picture is not None and "page" in inspect.signature(pipeline.picture).parameters
