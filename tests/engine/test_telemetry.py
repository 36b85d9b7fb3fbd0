"""What the SDK of OpenTelemetry gets to see of a task: its spans below one trace, its metrics, and nothing when it is off."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import fanfold as ff
from fanfold.engine.telemetry.telling import _warn_once
from fanfold.settings import load
from tests.ai_server import AIServer
from tests.engine.live import Live
from tests.engine.pipelines import batch
from tests.engine.traced import traced

pytestmark = pytest.mark.one_database

KEY = "sk-live-9f8e7d6c5b4a"


class Watched(Live):
    """An installation that tells an SDK in this process."""

    def __init__(self, url: str, folder: Path, spans: InMemorySpanExporter, reader: InMemoryMetricReader) -> None:
        super().__init__(url, folder, telemetry="otel")
        self._spans = spans
        self._reader = reader

    def run(self, pipeline: ff.Pipeline, state: str = "completed", **given: Any) -> ff.Task:
        """Submit a task and work until it is in this state."""
        task = self.client.submit(self.know(pipeline), **given)
        with self.working():
            return self.until(task, state)

    def spans(self, name: str) -> list[ReadableSpan]:
        """The finished spans with this name."""
        return [span for span in self._spans.get_finished_spans() if span.name == name]

    def measured(self, name: str, **attributes: str) -> list[Any]:
        """The points of a metric with these attributes; `pipeline` means `fanfold.pipeline`."""
        wanted = {f"fanfold.{attribute}": value for attribute, value in attributes.items()}
        found = self._reader.get_metrics_data()
        assert found is not None
        points = (
            point
            for resource in found.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
            for point in metric.data.data_points
        )
        return [point for point in points if wanted.items() <= dict(point.attributes or {}).items()]


@pytest.fixture(scope="session")
def sdk() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """The real SDK, which can be set up once in a process."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


@pytest.fixture
def watched(
    database_url: str, tmp_path: Path, sdk: tuple[InMemorySpanExporter, InMemoryMetricReader]
) -> Iterator[Watched]:
    """An installation that is watched."""
    sdk[0].clear()
    made = Watched(database_url, tmp_path / "data", *sdk)
    yield made
    made.store.close()


def trace_of(span: ReadableSpan) -> int:
    """The number of its trace."""
    assert span.context is not None
    return int(span.context.trace_id)


def test_everything_done_for_a_task_is_in_the_trace_of_its_submitter(watched: Watched) -> None:
    tracer = trace.get_tracer("program")
    with tracer.start_as_current_span("request") as request:
        task = watched.client.submit(watched.know(traced))
    with watched.working():
        watched.until(task, "completed")
    number = request.get_span_context().trace_id
    [submit] = watched.spans("submit traced")
    assert submit.context is not None
    assert submit.parent == request.get_span_context()
    names = ["loop", "thread", "child", "cut", "gather"]
    for name in [*(f"traced.{stage}" for stage in names), *(f"stage {stage}" for stage in names), "task traced"]:
        [span] = watched.spans(name)
        assert span.parent is not None
        assert (trace_of(span), span.parent.span_id) == (number, submit.context.span_id), name
        assert (span.attributes or {})["fanfold.task.id"] == task.id
        assert (span.start_time or 0) <= (span.end_time or 0)
    assert task.metadata["traceparent"].split("-")[1] == f"{number:032x}"


def test_a_handler_runs_in_the_span_of_its_attempt_wherever_it_runs(watched: Watched) -> None:
    task = watched.run(traced)
    for stage in ("loop", "thread", "child"):
        [span] = watched.spans(f"traced.{stage}")
        assert span.context is not None
        here = f"{span.context.trace_id:032x}-{span.context.span_id:016x}"
        made = watched.client.output(task.id, "1", stage)
        assert made == ([here, here] if stage == "loop" else here)


def test_attempts_say_and_count_how_they_ended(watched: Watched) -> None:
    calls: list[str] = []

    async def convert(item: ff.ItemWork) -> str:
        calls.append(item.key)
        if item.input == "bad" or len(calls) == 1:
            raise RuntimeError("the service hiccuped")
        return "done"

    name = f"counted-{token_hex(4)}"  # What was measured before stays in the SDK.
    pages = batch(name, handler=convert, retry=ff.Retry(limit=1, first=0.01))
    task = watched.client.submit(watched.know(pages), items=["a", "bad"])
    with watched.working(concurrency=1):
        watched.until(task, "partial")
    points = watched.measured("fanfold.attempts", pipeline=name, stage="convert")
    assert {(point.attributes["fanfold.ending"], point.value) for point in points} >= {("finish", 1), ("fail", 1)}
    assert sum(point.value for point in points) == 4
    assert sum(point.count for point in watched.measured("fanfold.attempt.duration", pipeline=name)) == 4
    spans = watched.spans(f"{name}.convert")
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert len(spans) == 4
    assert {span.status.description for span in failed} == {"the service hiccuped"}
    assert [(span.attributes or {})["fanfold.attempt"] for span in spans].count(2) == 2
    [ended] = watched.spans(f"task {name}")
    assert (ended.attributes or {})["fanfold.task.state"] == "partial"


def test_a_call_to_a_model_has_a_span_with_its_tokens_and_cost(watched: Watched, ai: AIServer) -> None:
    async def ask(item: ff.ItemWork) -> str:
        return (await item.ask("a question")).text

    watched.run(batch("asking", handler=ask), items=["a"])
    [span] = watched.spans("chat fake-large")
    [attempt] = watched.spans("asking.convert")
    assert span.parent == attempt.context
    attributes = dict(span.attributes or {})
    assert (attributes["gen_ai.provider.name"], attributes["gen_ai.usage.input_tokens"]) == ("fake", 1000)
    assert attributes["fanfold.cost"] == pytest.approx(1.0, abs=0.1)
    assert watched.measured("fanfold.cost")
    assert watched.measured("gen_ai.client.operation.duration")


def test_what_a_handler_notes_as_used_is_measured(watched: Watched) -> None:
    def measured() -> tuple[float, float]:
        named = {"pipeline": "traced", "stage": "thread"}
        tokens, cost = (watched.measured(name, **named) for name in ("fanfold.tokens", "fanfold.cost"))
        return sum(point.value for point in tokens), sum(point.value for point in cost)

    watched.run(traced)
    tokens, cost = measured()
    watched.run(traced)
    assert measured() == (tokens + 7, cost + 0.5)


def test_a_key_that_a_service_quotes_is_in_no_span(
    watched: Watched, ai: AIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)

    async def ask(item: ff.ItemWork) -> str:
        raise RuntimeError(f"Incorrect API key provided: {KEY}")

    watched.run(batch("quoting", handler=ask), "failed", items=["a"])
    [span] = watched.spans("quoting.convert")
    assert "Incorrect API key" in (span.status.description or "")
    assert KEY not in span.to_json()


@pytest.mark.parametrize("moment", ["on_start", "on_end"])
def test_an_sdk_that_fails_costs_no_work(
    watched: Watched, ai: AIServer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    async def ask(item: ff.ItemWork) -> str:
        return (await item.ask("a question")).text

    def refuse(*_given: Any, **_named: Any) -> None:
        raise RuntimeError("the exporter is broken")

    _warn_once.cache_clear()
    monkeypatch.setattr(SimpleSpanProcessor, moment, refuse)
    task = watched.run(batch(handler=ask), items=["a"])
    assert [call.outcome for call in watched.client.calls(task.id)] == ["taken"]
    assert "Reporting failed" in caplog.text


def test_an_error_goes_through_a_span_unchanged(watched: Watched) -> None:
    with pytest.raises(ff.BadInput, match="at least one item"):
        watched.client.submit(watched.know(batch("empty")), items=[])
    [span] = watched.spans("submit empty")
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "BadInput"


@pytest.mark.parametrize("kind", ["arun", "client"])
def test_what_an_async_program_submits_is_in_its_trace(watched: Watched, kind: str) -> None:
    place: dict[str, Any] = {"database": watched.settings.database, "data": watched.settings.data}
    pages = batch("awaited")

    async def program() -> int:
        with trace.get_tracer("program").start_as_current_span("request") as request:
            if kind == "arun":
                await ff.arun(pages, items=["a"], progress=False, **place)
            else:
                async with ff.AsyncClient(**place) as client:
                    await client.submit(pages, items=["a"])
            return request.get_span_context().trace_id

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FANFOLD_TELEMETRY", "otel")
        number = asyncio.run(program())
    [submit] = watched.spans("submit awaited")
    assert trace_of(submit) == number


def test_a_trace_of_an_http_client_comes_with_the_metadata(watched: Watched) -> None:
    given = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    watched.run(batch("called"), items=["a"], metadata={"traceparent": given, "order": 5})
    [submit] = watched.spans("submit called")
    [attempt] = watched.spans("called.convert")
    assert f"{trace_of(submit):032x}" == f"{trace_of(attempt):032x}" == given.split("-")[1]


def test_nothing_is_told_and_nothing_imported_unless_it_is_asked_for(live: Live) -> None:
    task = live.client.submit(live.know(batch()), items=["a"])
    assert task.metadata == {}
    program = (
        "import sys, fanfold as ff\n"
        "p = ff.Pipeline('p')\n"
        "p.each(name='one')(lambda item: item.input)\n"
        "print(ff.run(p, items=['a'], database='sqlite:///' + sys.argv[1] + '/run.db', data=sys.argv[1], progress=False))\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(live.settings.data_folder)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["['a']", "[]"]


def test_a_missing_package_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load({"FANFOLD_TELEMETRY": "otel"}).telemetry == "otel"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ff.BadInput, match=r"pip install 'fanfold\[otel\]'"):
        load({"FANFOLD_TELEMETRY": "otel"})
    with pytest.raises(ff.BadInput, match="use otel"):
        load({"FANFOLD_TELEMETRY": "zipkin"})
