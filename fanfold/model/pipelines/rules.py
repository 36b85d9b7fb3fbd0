"""The rules of a stage, with their types: the parameters of a pipeline's decorators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from fanfold.model.pipelines.gates import Gate
from fanfold.model.retry import Retry

TaskHandler = TypeVar("TaskHandler", bound=Callable[[Any], Any])
"""A handler that takes one argument: the task, or the item."""
MergeHandler = TypeVar("MergeHandler", bound=Callable[[Any, Any], Any])
"""A handler that takes the task and the stream of results."""


class RunRules(TypedDict, total=False):
    """How the handler is run. Only the process that runs it needs to know this."""

    retry: Retry
    """How often to retry after an error, and how long to wait in between."""
    timeout: float | None
    """Timeout of one call in seconds; None for no timeout."""
    concurrency: int | None
    """Most calls that one worker runs at the same time."""
    limit: int | None
    """Most items that run at the same time over all workers."""
    batch: int | None
    """Most items that one call gets. The handler then takes a list of items and returns a list of results."""
    isolate: bool
    """Whether each call runs in a child process, which can be killed and whose crash affects only that item."""
    resources: Mapping[str, float] | None
    """What one process needs on a Ray cluster, such as ``{"CPU": 1, "GPU": 0.5}``. Other workers do not look at it."""
    wait_limit: float
    """Seconds that an external job may take before its item fails."""
    lane: str
    """How its questions to models are asked: `live`, `batch` (half price, within a day) or `auto`. A task's option wins."""


class StageRules(RunRules, total=False):
    """All rules of a stage. Those that do not concern running are stored with the task, so every process sees them."""

    name: str
    """The name of the stage; by default that of the handler."""
    gate: bool | Gate
    """Whether the task waits for a person before this stage; a ``Gate`` with options also asks for an answer."""
    ready: str
    """The word for a task that is due in this stage but not being worked on."""
    doing: str
    """The word for a task that is being worked on in this stage."""
    retrying: str
    """The word for a task whose only item of this stage waits for its next attempt."""
    phase: str
    """The application's name for this part of the work; by default the name of the stage."""
    tolerate: float
    """How many items may fail without stopping the task: a share below 1, or a count."""
    fail_fast: bool
    """Whether the first failed item fails the task at once."""
    weight: float
    """The weight of this stage in the task's progress."""
    crash_limit: int | None
    """How often an item may crash its process without progress; None for the setting's value."""
    takes: float
    """Seconds that a call usually takes. A tick with less time left does not start one."""
    spends: bool
    """False if its handler reports no costs (``item.used(cost=…)``): it then runs even when such costs used up the budget."""
    quiet_seconds: float
    """Seconds without a further decision before the merge is repeated with the decisions made."""


RUN_RULES = tuple(RunRules.__annotations__)
PLANNED_RULES = tuple(rule for rule in StageRules.__annotations__ if rule not in {*RUN_RULES, "name"})
