"""Makes pipelines of existing Celery tasks: durable, visible, with the progress that they report by `update_state`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

from fanfold.errors import Permanent, Temporary
from fanfold.model.pipelines.pipeline import Pipeline, TaskFunction, task
from fanfold.model.retry import Retry

PROGRESS = ("current", "total")
"""What Celery tasks usually put into `meta`."""
_current: ContextVar[Any] = ContextVar("fanfold_celery_work", default=None)
"""The attempt that runs a Celery task here."""
_wrapped: WeakKeyDictionary[Pipeline, Any] = WeakKeyDictionary()
"""The Celery task behind a pipeline."""


def from_celery(celery_task: Any, *, name: str | None = None) -> TaskFunction[..., Any]:
    """Wrap a task of a Celery app as a pipeline of one step, which can be submitted, run and dispatched like any other.

    It keeps its arguments, queue, time limit and `max_retries`; with None, `self.retry` has no limit, as in Celery, and any other
    exception is retried 3 times. `self.update_state(meta={"current": 3, "total": 9})` becomes
    progress, with the `message` in it. `self.retry(...)` becomes a retry of Fanfold. Its code runs unchanged, in the process that
    claims the item; no result backend is used.
    """
    _map_progress(celery_task)
    # Celery replaces `run` if the task has autoretry_for; the signature is that of the function itself.
    function = getattr(celery_task, "_orig_run", celery_task.run)

    def run(task: Any, *arguments: Any, **named: Any) -> Any:
        return _call(celery_task, task, arguments, named)

    run.__signature__ = _with_task(function)  # type: ignore[attr-defined]
    run.__doc__ = celery_task.__doc__
    run.__name__ = run.__qualname__ = name or _name(celery_task.name)
    run.__module__ = celery_task.__module__
    limit = Retry().limit if celery_task.max_retries is None else int(celery_task.max_retries)
    made: TaskFunction[..., Any] = task(
        name=run.__name__, timeout=celery_task.time_limit or celery_task.soft_time_limit, retry=Retry(limit=limit)
    )(run)
    _wrapped[made.pipeline] = celery_task
    return made


def queue_of_task(pipeline: Pipeline) -> str | None:
    """The queue of the Celery task that a pipeline wraps, as the app routes it; None for other pipelines."""
    from celery.app.routes import prepare

    celery_task = _wrapped.get(pipeline)
    if celery_task is None:
        return None
    conf = celery_task.app.conf
    for route in prepare(conf.task_routes):
        found = route(celery_task.name, (), {}, {}) or {}
        if isinstance(found, str) or found.get("queue"):
            queue = found if isinstance(found, str) else found["queue"]
            return str(getattr(queue, "name", queue))
    return str(getattr(celery_task, "queue", None) or conf.task_default_queue)


def _name(celery_name: str) -> str:
    """A name for a pipeline: the last part of a task's dotted name."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", celery_name.rpartition(".")[2])[:63] or "task"


def _with_task(function: Callable[..., Any]) -> inspect.Signature:
    """The task's own parameters after one for the attempt."""
    own = inspect.signature(function)
    first = inspect.Parameter("task", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return own.replace(parameters=[first, *(one for one in own.parameters.values() if one.name != "self")])


def _call(celery_task: Any, work: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Run the Celery task's code here, with a request that says so, and turn Celery's exceptions into Fanfold's."""
    from celery.exceptions import Ignore, Reject, Retry

    celery_task.push_request(
        id=work.idempotency_key,
        args=arguments,
        kwargs=named,
        retries=work.attempt - 1,
        called_directly=False,
        is_eager=True,
        delivery_info={"is_eager": True, "exchange": None, "routing_key": None, "priority": None},
    )
    token = _current.set(work)
    try:
        return celery_task.run(*arguments, **named)
    except Retry as again:
        said = str(again.exc or again.message or "the Celery task asks for a retry")
        raise Temporary(said, after=_delay(again), counts=celery_task.max_retries is not None) from again
    except (Ignore, Reject) as refused:
        raise Permanent(f"the Celery task raised {type(refused).__name__}") from refused
    finally:
        _current.reset(token)
        celery_task.pop_request()


def _delay(again: Any) -> float | None:
    """Seconds until the retry that Celery would make."""
    when = again.when
    if isinstance(when, datetime):
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(0.0, (aware - datetime.now(UTC)).total_seconds())
    return None if when is None else max(0.0, float(when))


def _map_progress(celery_task: Any) -> None:
    """Let `update_state` report to the attempt that runs the task here; elsewhere it stays as it was."""
    before = celery_task.update_state
    if getattr(before, "reports_to_fanfold", False):
        return

    def update_state(task_id: Any = None, state: Any = None, meta: Any = None, **request: Any) -> None:
        work = _current.get()
        if work is None:
            before(task_id=task_id, state=state, meta=meta, **request)
            return
        known = meta if isinstance(meta, dict) else {}
        current, total = (known.get(name) for name in PROGRESS)
        said = known.get("message") or known.get("status") or state
        work.progress(current / total if total and current is not None else 0.0, said)

    update_state.reports_to_fanfold = True  # type: ignore[attr-defined]
    celery_task.update_state = update_state
