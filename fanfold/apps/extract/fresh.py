"""Starts over with `--fresh`: cached answers are not used, and the next run without it finds the new task."""

from __future__ import annotations

import time
from typing import Any

from fanfold.running.one import RunWish

FRESH = "fresh"


def afresh(options: dict[str, Any], wanted: bool) -> dict[str, Any]:
    """The options; with `--fresh`, with a new mark, so that no cached answer matches."""
    return options | ({FRESH: f"{time.time_ns():x}"} if wanted else {})


class Wish(RunWish):
    """A run whose task is known without the mark."""

    def key(self) -> str:
        """The same with and without `--fresh`."""
        plain = {name: value for name, value in self.options.items() if name != FRESH}
        return RunWish(self.pipeline, self.inputs, self.items, plain).key()
