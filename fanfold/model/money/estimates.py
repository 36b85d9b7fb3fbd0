"""What a task will cost, before it starts: low, expected and high, for each lane, and what that is based on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.text.sentences import Sentence, say

LIVE, BATCH = "live", "batch"


@dataclass(frozen=True)
class ExpectedCall:
    """Calls that a pipeline expects to make, for ``@pipeline.estimate``: ``count`` calls of the same size.

    Give the text that is sent, or its number of tokens if known. With ``output_tokens=None``, the estimate uses the history of
    earlier calls.
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
    """What an ``@pipeline.estimate`` function gets: what would be submitted."""

    inputs: Sequence[Any] = ()
    """Files are paths."""
    items: Sequence[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    in_child: Callable[..., Any] = _in_this_process
    """``in_child(function, …)`` runs a function in a child process, for files that may crash the code that reads them."""

    @property
    def files(self) -> list[Path]:
        """The inputs that are files."""
        return [one for one in self.inputs if isinstance(one, Path)]


@dataclass(frozen=True)
class Sample:
    """The part of a task from which its cost is extrapolated."""

    stage: str
    """The stage whose items were processed."""
    later: Sequence[str]
    """The stages after it, whose cost is not known."""
    total: int
    over: int
    """Items that are done or have failed."""
    free: int
    """Those of them that asked no model."""
    model: str
    failed: int = 0
    """Those of them that have failed."""
    begun: float = 0.0
    """What the other items have cost so far: part of what they will cost."""


@dataclass(frozen=True)
class LaneEstimate:
    """The cost of a task in one lane, in US dollars; None is unknown."""

    lane: str
    low: float | None = None
    expected: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Estimate:
    """What a task will cost."""

    lanes: tuple[LaneEstimate, ...]
    why: str
    """What the estimate is based on, or why there is none."""
    model: str = ""
    """`provider:model`."""
    items: int | None = None
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    sampled: int = 0
    """Items that were processed for real as a sample."""
    spent: float = 0.0
    """Cost of the sample; included in the estimate."""
    task: str | None = None
    """The task that the sample belongs to. It continues when it is resumed."""

    @property
    def live(self) -> LaneEstimate:
        """The lane that answers at once."""
        return self.lanes[0]


def is_sampled(wait_reason: str | None) -> bool:
    """Whether a task is paused after its sample, judged by why it waits."""
    if not isinstance(wait_reason, Sentence):
        return False
    why = wait_reason.parameters.get("why")
    return isinstance(why, dict) and why["code"] == "sampled"


def check_sample(count: Any) -> int:
    """How many items to process for real; BadInput if the number is invalid."""
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**31:
        raise BadInput(say("sample_count", value=repr(count)))
    return count
