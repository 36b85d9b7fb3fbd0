"""Was this worked out already? What is made of an object, once for everybody who has the very same object."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")
KEPT = 1_000


class Once(Generic[Made]):
    """Remembers what was made of the last objects: not of equal ones, of the very same."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[object, ...], tuple[object, Made]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, about: object, seen: tuple[object, ...], make: Callable[[], Made]) -> Made:
        """What was made of it for those who see it so, made now if it was not; the object is kept as long as that."""
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
        """Make it anew for the next who wants it."""
        with self._lock:
            self._kept.pop((id(about), *seen), None)
