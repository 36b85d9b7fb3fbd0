"""Stands in for the task when a function made with ``@fanfold.task`` is called as a plain function: nothing is kept."""

from __future__ import annotations

from typing import Any, NoReturn

from fanfold.errors import BadInput


class Alone:
    """A task that is none: it takes progress, pieces and usage, and forgets them."""

    id = task_id = title = idempotency_key = ""
    attempt = 1
    retries_left = 0
    cancelled = False

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = dict(options)
        self.metadata: dict[str, Any] = {}
        self.memory: dict[str, Any] = {}

    def remember(self, **values: Any) -> None:
        """Keep values until the call returns."""
        self.memory |= values

    def check(self) -> None:
        """Nobody can pause or cancel a plain call."""

    def progress(self, share: float, message: str | None = None) -> None:
        """Nobody watches."""

    def emit(self, value: Any) -> None:
        """Nobody listens."""

    def flush(self) -> None:
        """There is nothing to write."""

    def used(self, *, model: str | None = None, **usage: Any) -> None:
        """Nobody keeps accounts."""

    def degraded(self, reason: str) -> None:
        """There is no item to mark."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadInput(f"task.{name} needs a task that is kept: run the function with fanfold.run(…), or submit it.")
