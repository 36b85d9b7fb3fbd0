"""Metrics for Prometheus, queried from the database at each scrape."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from fanfold.engine.queries.metrics import Metrics
from fanfold.model.lifecycle import TaskState
from fanfold.server.watching.live import Live

ITEMS = {"pending": "queue", "running": "running", "retrying": "retrying", "waiting": "waiting"}


def exposed(metrics: Metrics, live: Live) -> bytes:
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
    return generate_latest(registry)
