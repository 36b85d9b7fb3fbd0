"""Replaces the task when a function made with ``@fanfold.task`` is called as a plain function: nothing is stored."""

from __future__ import annotations

from typing import Any, NoReturn

from fanfold.errors import BadInput


class Alone:
    """Takes progress, pieces and usage, and discards them."""

    id = task_id = title = idempotency_key = ""
    attempt = 1
    retries_left = 0
    cancelled = False

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = dict(options)
        self.metadata: dict[str, Any] = {}
        self.memory: dict[str, Any] = {}

    def remember(self, **values: Any) -> None:
        """Keep values only until the call returns."""
        self.memory |= values

    def check(self) -> None:
        """A plain call cannot be paused or cancelled."""

    def progress(self, share: float, message: str | None = None) -> None:
        """Nothing shows progress of a plain call."""

    def emit(self, value: Any) -> None:
        """Nothing reads pieces of a plain call."""

    def flush(self) -> None:
        """There is nothing to write."""

    def used(self, *, model: str | None = None, **usage: Any) -> None:
        """Usage of a plain call is not recorded."""

    def degraded(self, reason: str) -> None:
        """There is no item to mark."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise BadInput(f"task.{name} needs a stored task: run the function with fanfold.run(…), or submit it.")
