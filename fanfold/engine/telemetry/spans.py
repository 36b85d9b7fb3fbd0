"""Emits spans and metrics through the OpenTelemetry API, if ``telemetry = "otel"`` is set.

Nothing here is imported while the setting is empty (`telling`). The SDK that a program sets up decides where the spans go;
without an SDK the API does nothing. The trace of the submitting program is stored with the task, as ``traceparent`` in its
metadata.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fanfold.engine.redaction import without_keys
from fanfold.model.lifecycle import FINISHED_TASKS, TaskState
from fanfold.model.money.questions import Usage
from fanfold.model.money.usage import TOKENS
from fanfold.model.values import serial

if TYPE_CHECKING:
    from fanfold.engine.tasks.submitting.submission import Submission
    from fanfold.engine.worker.attempt.attempt_result import Settlement
    from fanfold.engine.worker.attempt.call import Call
    from fanfold.model.task import TaskRow

Carrier = dict[str, str]
"""The headers `traceparent` and `tracestate`, which carry a trace to another process."""
TRACE_FIELDS = ("traceparent", "tracestate")
NANOSECONDS = 1_000_000_000


class Telemetry:
    """The spans and metrics of Fanfold."""

    def __init__(self) -> None:
        self._tracer = trace.get_tracer("fanfold")
        self._headers = TraceContextTextMapPropagator()
        meter = metrics.get_meter("fanfold")
        self._attempts = meter.create_counter("fanfold.attempts", "{attempt}", "Attempts at items, by how they ended")
        self._seconds = meter.create_histogram("fanfold.attempt.duration", "s", "How long attempts at items took")
        self._tokens = meter.create_counter("fanfold.tokens", "{token}", "Tokens that calls to models took")
        self._cost = meter.create_counter("fanfold.cost", "USD", "What calls to models cost")
        self._call_seconds = meter.create_histogram("gen_ai.client.operation.duration", "s", "How long calls took")

    @contextmanager
    def submitting(self, pipeline: str, wanted: Submission) -> Iterator[Submission]:
        """The span of a submission, a child of the trace in its metadata, if any. The metadata then names this span."""
        given = _carried(wanted.metadata)
        parent = self._headers.extract(given) if given else None
        with self._span(f"submit {pipeline}", SpanKind.PRODUCER, {"fanfold.pipeline": pipeline}, context=parent):
            yield replace(wanted, metadata={**wanted.metadata, **self.carrier()})

    def begin_attempt(self, call: Call, worker: str) -> trace.Span:
        """The span of an attempt, a child of its task's trace; it becomes current in the caller's context."""
        named: dict[str, Any] = {"fanfold.item.key": call.claimed.key, "fanfold.attempt": call.claimed.attempts}
        span = self._tracer.start_span(
            f"{call.row.pipeline}.{call.stage.name}",
            self._context_of(call.row),
            SpanKind.CONSUMER,
            {**_about(call.row, call.stage.name), **named, "fanfold.worker.id": worker},
        )
        otel_context.attach(trace.set_span_in_context(span))
        return span

    def end_attempt(self, span: trace.Span, call: Call, settlement: Settlement | None, seconds: float) -> None:
        """End the span with the outcome of the attempt, and count it. None: its lease was lost."""
        named = {"fanfold.pipeline": call.row.pipeline, "fanfold.stage": call.stage.name}
        ending = "lost" if settlement is None else str(settlement.ending)
        span.set_attribute("fanfold.ending", ending)
        if settlement is not None:
            if settlement.ending.is_error:
                span.set_attribute("error.type", settlement.error_code or "error")
                span.set_status(Status(StatusCode.ERROR, settlement.error_message or ""))
            self._count_usage(serial.load(settlement.usage) or {}, named)
        span.end()
        self._attempts.add(1, {**named, "fanfold.ending": ending})
        self._seconds.record(seconds, {**named, "fanfold.ending": ending})

    def leave_stage(self, before: TaskRow, state: TaskState) -> None:
        """The span of a stage that is over, and of its task if that is over too; reported after the move is committed."""
        parent = self._context_of(before)
        named = _about(before, before.stage)
        # The row of a task is not written while its items are processed, so its last change is the start of the stage.
        self._past(f"stage {before.stage}", parent, named, before.updated_at)
        if state in FINISHED_TASKS:
            status = StatusCode.ERROR if state is TaskState.FAILED else StatusCode.UNSET
            ended = {**_about(before), "fanfold.task.state": str(state)}
            self._past(f"task {before.pipeline}", parent, ended, before.created_at, status)

    @contextmanager
    def model_call(self, provider: str, model: str) -> Iterator[Callable[[Usage], None]]:
        """The span of one call to a model; report the usage of the answer to it."""
        named = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model}
        started = time.monotonic()
        with self._span(f"chat {model}", SpanKind.CLIENT, named) as span:

            def note(usage: Usage) -> None:
                known = {name: value for name in TOKENS if (value := getattr(usage, name)) is not None}
                span.set_attributes({f"gen_ai.usage.{name}": value for name, value in known.items()})
                if usage.cost is not None:
                    span.set_attribute("fanfold.cost", usage.cost)
                self._count_usage({**known, "cost": usage.cost}, named)

            try:
                yield note
            finally:
                self._call_seconds.record(time.monotonic() - started, named)

    def carrier(self) -> Carrier:
        """The current trace, for another process; empty without one."""
        found: Carrier = {}
        self._headers.inject(found)
        return found

    @contextmanager
    def carried_on(self, carrier: Carrier) -> Iterator[None]:
        """In this block, spans are children of the trace of another process."""
        token = otel_context.attach(self._headers.extract(carrier))
        try:
            yield
        finally:
            otel_context.detach(token)

    @contextmanager
    def _span(
        self, name: str, kind: SpanKind, attributes: Mapping[str, Any], context: Any = None
    ) -> Iterator[trace.Span]:
        """A current span. Errors are recorded without keys that services quote, and without a traceback."""
        with self._tracer.start_as_current_span(
            name, context, kind, dict(attributes), record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield span
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR, without_keys(str(error))))
                raise

    def _past(
        self,
        name: str,
        parent: Any,
        attributes: Mapping[str, str],
        began_at: datetime,
        status: StatusCode = StatusCode.UNSET,
    ) -> None:
        """A span of which only the end was seen in this process."""
        start = int(began_at.timestamp() * NANOSECONDS)
        span = self._tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, start_time=start)
        if status is StatusCode.ERROR:
            span.set_status(status)
        span.end(max(start, time.time_ns()))  # The database's clock may be ahead.

    def _count_usage(self, usage: Mapping[str, Any], named: Mapping[str, str]) -> None:
        for name in TOKENS:
            if usage.get(name):
                self._tokens.add(usage[name], {**named, "gen_ai.token.type": name.removesuffix("_tokens")})
        if usage.get("cost"):
            self._cost.add(usage["cost"], dict(named))

    def _context_of(self, row: TaskRow) -> Any:
        """The trace that a task was submitted in; without one, an empty context, which begins a new trace."""
        return self._headers.extract(_carrier_in(row.extra), context=otel_context.Context())


@cache
def telemetry() -> Telemetry:
    """The telemetry of this process."""
    return Telemetry()


@lru_cache(maxsize=1_000)
def _carrier_in(metadata: str | None) -> Carrier:
    """The trace in a task's metadata; read for every attempt."""
    return _carried(serial.load(metadata) or {})


def _carried(metadata: Mapping[str, Any]) -> Carrier:
    return {name: metadata[name] for name in TRACE_FIELDS if isinstance(metadata.get(name), str)}


def _about(row: TaskRow, stage: str | None = None) -> dict[str, str]:
    named = {"fanfold.task.id": row.id, "fanfold.pipeline": row.pipeline}
    return named if stage is None else {**named, "fanfold.stage": stage}
