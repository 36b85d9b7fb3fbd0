"""Caches values made from an object, once for all callers that hold the same object."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")
KEPT = 1_000


class Once(Generic[Made]):
    """Cache keyed by object identity, not equality."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[object, ...], tuple[object, Made]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, about: object, seen: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """The cached value for this object and view, made now if missing. The object is kept alive with it."""
        key = (id(about), *seen)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][1]
        made = make()
        with self._lock:
            self._kept[key] = (about, made)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made

    def forget(self, about: object, seen: tuple[object, ...]) -> None:
        """Drop the value, so that it is made again."""
        with self._lock:
            self._kept.pop((id(about), *seen), None)
