"""The rules that a stage can be given, with their types: what the decorators of a pipeline take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

from fanfold.model.retry import Retry

TaskHandler = TypeVar("TaskHandler", bound=Callable[[Any], Any])
"""A handler that takes one argument: the task, or the item."""
MergeHandler = TypeVar("MergeHandler", bound=Callable[[Any, Any], Any])
"""A handler that takes the task and the stream of results."""


class RunRules(TypedDict, total=False):
    """How the handler is run. Only the process that runs it needs to know."""

    retry: Retry
    """How often to try again after an error, and how long to wait in between."""
    timeout: float | None
    """Seconds that one call may take; None: as long as it likes."""
    concurrency: int | None
    """How many of its items one worker runs at the same time."""
    limit: int | None
    """How many of its items run at the same time, over all workers."""
    isolate: bool
    """Whether each call runs in a child process, which can be killed and whose crash costs only that item."""
    wait_limit: float
    """Seconds that an external job may take before its item fails."""
    lane: str
    """How its questions to models are asked: `live`, `batch` (half price, within a day) or `auto`; a task's option wins."""


class StageRules(RunRules, total=False):
    """All rules of a stage. Those that are not about running are kept with the task, for every process to see."""

    name: str
    """The name of the stage; by default that of the handler."""
    gate: bool
    """Whether the task waits for a person before this stage."""
    ready: str
    """The word for a task that is due in this stage but not being worked on."""
    doing: str
    """The word for a task that is being worked on in this stage."""
    retrying: str
    """The word for a task whose one item of this stage waits for its next try."""
    phase: str
    """What the application calls this part of the work; by default the name of the stage."""
    tolerate: float
    """How many items may fail without stopping the task: a share below 1, or a number."""
    fail_fast: bool
    """Whether the first failed item fails the task at once."""
    weight: float
    """The share of this stage in the task's progress, compared with the other stages."""
    crash_limit: int | None
    """How often an item may lose its process without getting further; None: as the settings say."""
    takes: float
    """Seconds that a call usually takes; a tick with less left does not start one."""
    quiet_seconds: float
    """Seconds without a further decision before a merge is done again for those that were taken."""


RUN_RULES = tuple(RunRules.__annotations__)
PLANNED_RULES = tuple(rule for rule in StageRules.__annotations__ if rule not in {*RUN_RULES, "name"})
