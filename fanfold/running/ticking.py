"""`ff.tick`: works for a limited time and returns, for timers and cloud functions."""

from __future__ import annotations

from fanfold.engine.discovery import load, load_all
from fanfold.engine.tasks.recovery.tick import TickReport
from fanfold.engine.tasks.recovery.tick import tick as run_tick
from fanfold.engine.webhooks.deliveries import OWN_PIPELINES
from fanfold.model.pipelines.pipeline import Target
from fanfold.settings import load as load_settings
from fanfold.store.store import Store


def tick(
    *pipelines: Target | str,
    seconds: float = 45.0,
    tasks_per_stage: int | None = 10,
    concurrency: int | None = None,
    database: str | None = None,
    data: str | None = None,
    store: Store | None = None,
) -> TickReport:
    """Work on what is due for at most ``seconds``, and return what was done.

    ``pipelines`` are pipelines, functions with ``@task``, or targets such as `module:name`; without any, those that are
    installed. Of each stage at most ``tasks_per_stage`` tasks are served. What does not fit into the time left is not
    started: as the stage's ``takes`` says, and as earlier ticks have measured. Ticks may overlap with each other and with
    workers: nothing is done twice. Items that still run at the end are handed back without a failure counted.
    """
    known = [load(one) if isinstance(one, str) else one for one in pipelines] or load_all(()).values()
    opened = store or Store.open(load_settings(database=database, data=data))
    try:
        return run_tick(
            opened,
            [*known, *OWN_PIPELINES],
            seconds=seconds,
            tasks_per_stage=tasks_per_stage,
            concurrency=concurrency,
        )
    finally:
        if store is None:
            opened.close()
