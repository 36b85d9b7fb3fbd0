"""What a task will cost, before it starts: low, expected and high, for each lane, and how that is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import say

LIVE, BATCH = "live", "batch"


@dataclass(frozen=True)
class ExpectedCall:
    """Calls that a pipeline expects to make, for ``@pipeline.estimate``: so many of the same size.

    Give the text that is sent, or its tokens where they are known. ``output_tokens`` None takes what earlier calls needed.
    """

    text: str = ""
    images: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    count: int = 1


def _in_this_process(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    return function(*arguments, **named)


@dataclass(frozen=True)
class EstimateWork:
    """What an ``@pipeline.estimate`` function gets: what the task would be submitted with."""

    inputs: Sequence[Any] = ()
    """Files are paths."""
    items: Sequence[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    in_child: Callable[..., Any] = _in_this_process
    """``in_child(function, …)`` runs a function in a child process: for files that may crash their reader."""

    @property
    def files(self) -> list[Path]:
        """The inputs that are files."""
        return [one for one in self.inputs if isinstance(one, Path)]


@dataclass(frozen=True)
class LaneEstimate:
    """What a task will cost in one lane, in US dollars; None is unknown."""

    lane: str
    low: float | None = None
    expected: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Estimate:
    """What a task will cost."""

    lanes: tuple[LaneEstimate, ...]
    why: str
    """How this is known, or why it is not."""
    model: str = ""
    """`provider:model`."""
    items: int | None = None
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    sampled: int = 0
    """Items that were processed for real."""
    spent: float = 0.0
    """What the sample has cost; it is part of the estimate."""
    task: str | None = None
    """The task that the sample is of; it goes on when it is resumed."""

    @property
    def live(self) -> LaneEstimate:
        """The lane that answers at once."""
        return self.lanes[0]


def check_sample(count: Any) -> int:
    """How many items to process for real; BadInput when it is no such number."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise BadInput(say("sample_count", value=repr(count)))
    return count
