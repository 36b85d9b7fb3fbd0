"""Queries that wait between two polls, written once for plain and for `async` callers.

Such a query is a generator that yields a ``Pause`` where it has to wait. A plain call sleeps there, in its thread. `AsyncClient`
takes the same steps through ``.steps`` and sleeps in the event loop, so that waiting holds no thread and can be cancelled.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar

Given = ParamSpec("Given")
Found = TypeVar("Found")
Steps = Callable[..., Any]


class Pause(NamedTuple):
    """Wait this long before the next poll."""

    seconds: float


def pausing(steps: Callable[Given, Generator[Pause, None, Found]]) -> Callable[Given, Found]:
    """Make a query from steps that return its answer at the end."""

    @wraps(steps)
    def ask(*given: Given.args, **named: Given.kwargs) -> Found:
        under_way = steps(*given, **named)
        while True:
            try:
                time.sleep(next(under_way).seconds)
            except StopIteration as end:
                found: Found = end.value
                return found

    _mark(ask, steps, lambda returned: returned.removeprefix("Generator[Pause, None, ").removesuffix("]"))
    return ask


def pausing_stream(steps: Callable[Given, Iterator[Found | Pause]]) -> Callable[Given, Iterator[Found]]:
    """Make a stream from steps that yield its elements, with pauses between them."""

    @wraps(steps)
    def ask(*given: Given.args, **named: Given.kwargs) -> Iterator[Found]:
        for step in steps(*given, **named):
            if isinstance(step, Pause):
                time.sleep(step.seconds)
            else:
                yield step

    _mark(ask, steps, lambda returned: returned.replace(" | Pause", ""))
    return ask


def steps_of(method: Callable[..., Any]) -> Steps | None:
    """The steps that a query is made from; None for a query that never waits."""
    steps: Steps | None = getattr(method, "steps", None)
    return steps


def _mark(ask: Callable[..., Any], steps: Steps, without_pauses: Callable[[str], str]) -> None:
    """Keep the steps with the query, and show a signature without pauses."""
    shown = inspect.signature(steps)
    returned = without_pauses(str(shown.return_annotation))
    ask.__dict__["steps"] = steps
    ask.__dict__["__signature__"] = shown.replace(return_annotation=returned)
    ask.__annotations__ = {**steps.__annotations__, "return": returned}
