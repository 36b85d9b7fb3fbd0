"""Reports the engine's work to telemetry. If the settings do not ask for it, the cost is one check of a setting.

The packages of OpenTelemetry are imported only if telemetry is on. Errors in them, or in the program's SDK, never
affect the work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from fanfold.model.money.questions import Usage
from fanfold.settings import Settings

if TYPE_CHECKING:
    from fanfold.engine.tasks.submitting.submission import Submission
    from fanfold.engine.telemetry.spans import Carrier, Telemetry
    from fanfold.engine.worker.attempt.attempt_result import Settlement
    from fanfold.engine.worker.attempt.call import Call
    from fanfold.model.lifecycle import TaskState
    from fanfold.model.task import TaskRow

log = logging.getLogger("fanfold.telemetry")
Found = TypeVar("Found")


def submitting(settings: Settings, pipeline: str, wanted: Submission) -> AbstractContextManager[Submission]:
    """The submission, with the current trace in its metadata."""
    return (
        _guarded(lambda: _spans().submitting(pipeline, wanted), wanted) if settings.telemetry else nullcontext(wanted)
    )


def begun(call: Call, worker: str) -> Any:
    """The span of an attempt that starts, current in the caller's context. Called only if telemetry is on."""
    return _quietly(lambda: _spans().begin_attempt(call, worker))


def ended(span: Any, call: Call, settlement: Settlement | None, seconds: float) -> None:
    """The attempt with this span has ended; without a settlement if its lease was lost."""
    _quietly(lambda: _spans().end_attempt(span, call, settlement, seconds))


def left_stage(settings: Settings, before: TaskRow, moved: TaskState | None) -> TaskState | None:
    """A task has left its previous stage, and the move is committed; returns its new state."""
    if settings.telemetry and moved is not None:
        _quietly(lambda: _spans().leave_stage(before, moved))
    return moved


def model_call(settings: Settings, provider: str, model: str) -> AbstractContextManager[Callable[[Usage], None]]:
    """A block around one call to a model, to which the usage of the answer is reported."""
    return _guarded(lambda: _spans().model_call(provider, model), _not_told) if settings.telemetry else _UNTOLD


def carrier(settings: Settings) -> Carrier | None:
    """The current trace, for a child process."""
    return _quietly(lambda: _spans().carrier()) if settings.telemetry else None


@contextmanager
def carried_on(found: Carrier | None) -> Iterator[None]:
    """In a child process: spans are children of the parent's trace."""
    with _spans().carried_on(found) if found else nullcontext():
        yield


@contextmanager
def _guarded(begin: Callable[[], AbstractContextManager[Found]], otherwise: Found) -> Iterator[Found]:
    """A span around some work. An error at its start or end never affects the work, which may be paid for."""
    span = _quietly(begin)
    entered = None if span is None else _quietly(lambda: (span.__enter__(),))
    if span is None or entered is None:
        yield otherwise
        return
    try:
        yield entered[0]
    except BaseException as error:
        said = (type(error), error, error.__traceback__)
        _quietly(lambda: span.__exit__(*said))
        raise
    _quietly(lambda: span.__exit__(None, None, None))


def _spans() -> Telemetry:
    from fanfold.engine.telemetry.spans import telemetry

    return telemetry()


def _quietly(tell: Callable[[], Found]) -> Found | None:
    try:
        return tell()
    except Exception as error:
        _warn_once(type(error).__name__, str(error))
        return None


@lru_cache(maxsize=100)
def _warn_once(kind: str, why: str) -> None:
    log.warning("[telemetry] Reporting failed: %s: %s. Work continues; this is logged only once", kind, why)


def _not_told(_usage: Usage) -> None:
    """Ignores all reports."""


_UNTOLD = nullcontext(_not_told)
