"""Metrics for Prometheus, queried from the database at each scrape."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fanfold.engine.queries.metrics import Metrics
from fanfold.model.lifecycle import TaskState
from fanfold.model.money.rate_limits import LimitRow
from fanfold.server.watching.live import Live

ITEMS = {"pending": "queue", "running": "running", "retrying": "retrying", "waiting": "waiting"}


def exposed(metrics: Metrics, live: Live, limits: Sequence[LimitRow] = ()) -> bytes:
    """The metrics in Prometheus format."""
    registry = CollectorRegistry()

    def gauge(name: str, meaning: str, *labels: str) -> Gauge:
        return Gauge(f"fanfold_{name}", meaning, labels, registry=registry)

    tasks = gauge("tasks", "Tasks in each state.", "state")
    for state in TaskState:
        tasks.labels(state).set(metrics.tasks.get(state, 0))
    items = gauge("open_items", "Open items of active tasks in each state; pending ones are the queue.", "state")
    for state_name, field in ITEMS.items():
        items.labels(state_name).set(getattr(metrics, field))
    gauge("items_per_minute", "Items settled in the last minute.").set(
        metrics.finished_last_minute + metrics.failed_last_minute
    )
    if metrics.mean_seconds is not None:
        gauge("item_seconds_mean", "Mean time of an attempt in the last minute.").set(metrics.mean_seconds)
    if metrics.failure_rate is not None:
        gauge("item_failure_ratio", "Share of attempts that failed in the last minute.").set(metrics.failure_rate)
    gauge("workers", "Live workers.").set(metrics.workers)
    gauge("watchers", "Open live streams of this server.").set(live.watchers)
    _add_limits(registry, limits)
    return generate_latest(registry)


def _add_limits(registry: CollectorRegistry, limits: Sequence[LimitRow]) -> None:
    """The metrics of rate limits, by name and dimension."""
    labels = ("limit", "dimension")
    size = Gauge("fanfold_limit_size", "Size of a rate limit, configured or learned.", labels, registry=registry)
    level = Gauge("fanfold_limit_level", "What is left of a rate limit.", labels, registry=registry)
    waiting = Gauge("fanfold_limit_waiting", "Calls that wait for a rate limit.", labels[:1], registry=registry)
    in_flight = Gauge("fanfold_limit_in_flight", "Calls that may be in flight.", labels[:1], registry=registry)
    refusals = Gauge("fanfold_limit_refusals", "Refusals met so far.", labels[:1], registry=registry)
    closed = Gauge("fanfold_limit_closed", "Whether a rate limit is closed.", labels, registry=registry)
    for limit in limits:
        if limit.size is not None:
            size.labels(limit.key, limit.dimension).set(limit.size)
        level.labels(limit.key, limit.dimension).set(limit.level)
        closed.labels(limit.key, limit.dimension).set(limit.closed_until is not None)
        if limit.has_calls:
            waiting.labels(limit.key).set(limit.waiting)
            in_flight.labels(limit.key).set(limit.in_flight)
            refusals.labels(limit.key).set(limit.refusals)
