"""What does an item look like? Pictures that a pipeline draws when somebody looks, in a child process, a few of them kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from fanfold.engine.children import Children
from fanfold.errors import ChildDied, NotFound
from fanfold.model.pipeline import Pipeline
from fanfold.settings import Settings

KEPT_BYTES = 64_000_000
AT_ONCE = 1
DRAWING_SECONDS = 20.0
"""A picture that takes longer is given up, with the child that draws it."""


class Pictures:
    """Draws one picture at a time; those who want the same one wait for it."""

    def __init__(self, settings: Settings) -> None:
        self._children = Children(settings, at_once=AT_ONCE)
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def draw(self, pipeline: Pipeline | None, name: str, value: Any) -> bytes:
        """The picture of an item's input; ``name`` is what it is kept under."""
        if pipeline is None or pipeline.picture is None:
            raise NotFound("This item has no picture.", code="no_picture")
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
            drawn = self._drawn(pipeline.picture, value)
            self._keep(name, drawn)
            return drawn

    def close(self) -> None:
        """End the child."""
        self._children.close()

    def _drawn(self, picture: Callable[[Any], bytes], value: Any) -> bytes:
        child = self._children.take()
        patience = threading.Timer(DRAWING_SECONDS, child.kill)
        patience.start()
        try:
            drawn = child.run(picture, (value,), {})
        except ChildDied as error:
            self._children.discard(child)
            raise NotFound(f"The picture can not be drawn: {error}", code="no_picture") from None
        except (Exception, SystemExit) as error:  # Raised by the pipeline's function, in the child.
            self._children.give_back(child)
            raise NotFound(f"The picture can not be drawn: {error}", code="no_picture") from None
        finally:
            patience.cancel()
        self._children.give_back(child)
        if not isinstance(drawn, bytes):
            raise NotFound("The picture can not be drawn: the pipeline gave no bytes.", code="no_picture")
        return drawn

    def _keep(self, name: str, drawn: bytes) -> None:
        self._kept[name] = drawn
        self._size += len(drawn)
        while self._size > KEPT_BYTES and len(self._kept) > 1:
            self._size -= len(self._kept.popitem(last=False)[1])
