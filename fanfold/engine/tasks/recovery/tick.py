"""Runs a tick: recovers lost items, processes due items for some seconds, and ends. For hosts without a daemon."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from fanfold.engine.discovery import beside_service
from fanfold.engine.tasks.recovery.sweep import begin_due, close, recover, take_duty
from fanfold.engine.worker.attempt.measured import KEPT, Measured
from fanfold.engine.worker.beside.host import new_worker_id
from fanfold.engine.worker.loop import Worker
from fanfold.engine.worker.processes.children import Children
from fanfold.errors import BadInput
from fanfold.model.endings import Ending
from fanfold.model.money.batch import UNREGISTERED
from fanfold.model.pipelines.pipeline import Pipeline, Stage, Target, by_name
from fanfold.store.store import Store

log = logging.getLogger("fanfold.worker")
Found = TypeVar("Found")
MARGIN_SHARE = 0.2
LONGEST_MARGIN = 5.0
"""Longest time reserved at the end for handing back running items and leaving: what the parts of a worker may take together.
Ticks of 45 s beside twenty other processes on two cores took up to 46.1 s when 3 s were reserved."""
RETURN_SHARE = 0.02
"""Share of the time that the report leaves: waiting for it up to the last moment would end after that moment."""
CARRIED_AHEAD_SECONDS = 0.3
"""How much work a process of a carrier claims ahead. It serves one stage, mostly one item at a time, and a turn for each item
would cost more than a message of Celery. Celery itself prefetches four messages, however long they take."""
USUAL_SHARE = 0.95
"""Share of the earlier calls that took at most what is expected of the next one."""
LONGEST_SHARE = 0.8
"""Share of the time left at the first claim that a learned duration can take up."""


@dataclass(frozen=True)
class TickReport:
    """The result of a tick, in attempts."""

    finished: int
    failed: int
    retrying: int
    waiting: int
    held: int
    handed_back: int
    lost: int
    recovered: int
    next_due_seconds: float | None
    seconds: float
    advanced: int = 0
    """Tasks that got further: an item was finished, failed for good, or began to wait for an external job."""
    too_long: tuple[str, ...] = ()
    """Stages with work that no tick of this length starts, because their ``takes`` is longer."""

    def __str__(self) -> str:
        said = (
            (self.failed, "failed"), (self.retrying, "to be tried again"), (self.waiting, "waiting for a job or a subtask"),
            (self.held, "waiting for a person"),
            (self.handed_back, "handed back"), (self.lost, "lost with their process"), (self.recovered, "recovered"),
        )  # fmt: skip
        tasks = f" of {self.advanced} {'task' if self.advanced == 1 else 'tasks'}" if self.advanced else ""
        parts = [f"{self.finished} done{tasks}", *(f"{count} {what}" for count, what in said if count)]
        due = "" if self.next_due_seconds is None else f"; next due in {self.next_due_seconds:.0f} s"
        summary = f"{', '.join(parts)} in {self.seconds:.1f} s{due}"
        if self.too_long:
            summary += f"; take longer than the tick, so were not started: {', '.join(self.too_long)}"
            summary += ". Raise --seconds, or run a worker"
        return summary


def tick(
    store: Store,
    pipelines: Iterable[Target],
    *,
    seconds: float = 50.0,
    tasks_per_stage: int | None = 10,
    concurrency: int | None = None,
    exit_code: int | None = None,
    budget: float | None = None,
) -> TickReport:
    """Process due items for at most ``seconds``, at most ``tasks_per_stage`` tasks in each stage; safe beside other workers.

    A stage whose ``takes`` does not fit into the time left is not started; items still running at the end are handed back
    without a failure counted. A handler that blocks the event loop past that is interrupted; if that does not help and an
    ``exit_code`` is given, the process ends with it.

    The tick ends early once nothing runs, nothing can be claimed and nothing becomes due soon. ``budget`` is the old name
    of ``seconds``.
    """
    seconds = seconds if budget is None else budget
    if seconds <= 0:
        raise BadInput(f"A tick of {seconds:g} s cannot do anything; give it more than 0.")
    started = time.monotonic()
    end = started + seconds - min(LONGEST_MARGIN, seconds * MARGIN_SHARE)
    usable = end - started
    known = by_name(pipelines)
    recovered, usual = _InTime(lambda: _prepare(store, known), "its preparation").until(end, (0, {}))
    measured = Measured()
    worker = Worker(
        known.values(),
        store=store,
        concurrency=concurrency,
        name="tick",
        tasks_per_stage=tasks_per_stage,
        fits=_fits_until(end, usual, lambda: worker.claimer.has_claimed),
        measured=measured,
    )
    worker.run(drain=True, seconds=max(0.0, end - time.monotonic()), signals=True, exit_code=exit_code)
    too_long = worker.claimer.waiting_in(lambda stage: stage.takes > usable)
    concluded = _InTime(lambda: _conclude(store, worker, measured), "the report")
    next_due = concluded.until(started + seconds * (1 - RETURN_SHARE), worker.claimer.seconds_to_next)
    report = _report(worker, started, next_due, recovered=recovered, too_long=too_long)
    return replace(report, advanced=len(measured.tasks))


def _prepare(store: Store, pipelines: dict[str, Pipeline]) -> tuple[int, dict[int, float]]:
    """Recover lost items and carry batches before the first claim; returns how many were recovered, and the usual durations."""
    recovered = _recover(store, pipelines)
    usual = _usual_seconds(store, pipelines)
    _carry_batches(store)
    return recovered, usual


def _conclude(store: Store, worker: Worker, measured: Measured) -> float | None:
    """Remember how long the calls took; returns the seconds until something is due."""
    if measured.seconds:
        store.transact(lambda tx: tx.durations.learn(measured.seconds, KEPT))
    return _next_due(store, worker.claimer.seconds_to_next)


class _InTime(Generic[Found]):
    """Something before or after the work of a tick, in a thread of its own, because the tick has to end in time.

    It talks to the database or to services, which may be slow. Every step of it may be broken off, as by a crash.
    """

    def __init__(self, function: Callable[[], Found], what: str) -> None:
        self._function = function
        self._what = what
        self._found: list[Found] = []
        self._problem: BaseException | None = None

    def until(self, end: float, otherwise: Found) -> Found:
        """Its result, or ``otherwise`` if it takes longer; raises what it raises."""
        thread = threading.Thread(target=self._run, name=f"tick-{self._what}", daemon=True)
        thread.start()
        thread.join(max(0.0, end - time.monotonic()))
        if self._problem is not None:
            raise self._problem
        if not self._found:
            log.warning("[tick] The time is over before %s is done; the next tick continues", self._what)
        return self._found[0] if self._found else otherwise

    def _run(self) -> None:
        try:
            self._found.append(self._function())
        except BaseException as problem:
            self._problem = problem


def _fits_until(end: float, usual: Mapping[int, float], has_claimed: Callable[[], bool]) -> Callable[[Stage], bool]:
    """Make the rule that says whether a call of a stage fits into the time until ``end``.

    What was learned never counts as more than most of the time that was left at the first claim: a stage that was slow once
    is started at the beginning of the next tick, instead of never again. Opening the database and recovery come before the
    first claim, and may take up much of a short tick. Only ``takes``, which the pipeline declares, keeps a stage out of
    short ticks for good.
    """
    most = 0.0

    def fits_now(stage: Stage) -> bool:
        nonlocal most
        left = end - time.monotonic()
        if not has_claimed():
            most = left * LONGEST_SHARE
        return fits(stage, left, min(usual.get(id(stage), 0.0), most))

    return fits_now


def _usual_seconds(store: Store, pipelines: Mapping[str, Pipeline]) -> dict[int, float]:
    """What calls of each stage have taken lately, at a high quantile, by the identity of the stage."""
    with store.read() as tx:
        known = tx.durations.of(list(pipelines))
    return {
        id(stage): quantile(seconds)
        for pipeline in pipelines.values()
        for stage in pipeline.all_stages()
        if (seconds := known.get((pipeline.name, stage.name)))
    }


def quantile(seconds: Sequence[float], share: float = USUAL_SHARE) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def work_through(
    store: Store,
    pipelines: Iterable[Target],
    *,
    stages: Iterable[str],
    seconds: float,
    concurrency: int,
    name: str,
    is_over: Callable[[], bool] = lambda: False,
    children: Children | None = None,
) -> TickReport:
    """Claim items of some stages for at most ``seconds``, and return when nothing runs any more: for processes of others.

    ``is_over`` ends the claiming earlier. Unlike a tick it finishes what it has claimed, however long that takes, and leaves
    signals to the process it runs in.
    """
    started = time.monotonic()
    end = started + seconds
    worker = Worker(
        by_name(pipelines).values(),
        store=store,
        concurrency=concurrency,
        name=name,
        stages=stages,
        fits=lambda stage: time.monotonic() < end and not is_over(),
        outlives_handlers=True,
        children=children,
        ahead_seconds=CARRIED_AHEAD_SECONDS,
    )
    worker.run(drain=True)
    return _report(worker, started, _next_due(store, worker.claimer.seconds_to_next))


def _report(
    worker: Worker, started: float, next_due: float | None, *, recovered: int = 0, too_long: tuple[str, ...] = ()
) -> TickReport:
    ended = worker.endings
    return TickReport(
        finished=ended[Ending.FINISH], failed=ended[Ending.FAIL], retrying=ended[Ending.BACK_OFF],
        waiting=ended[Ending.POSTPONE], held=ended[Ending.HOLD], handed_back=ended[Ending.RELEASE],
        lost=ended[Ending.RECLAIM], recovered=recovered,
        next_due_seconds=next_due, seconds=time.monotonic() - started,
        too_long=too_long,
    )  # fmt: skip


def _carry_batches(store: Store) -> None:
    """Send, poll and fetch batches of questions before polling for items, because items may wait for them."""
    with store.read() as tx:
        is_due = tx.batches.is_anything_due()
    if is_due:
        beside_service("ask", "carry_batches")(store, UNREGISTERED + new_worker_id("tick"))


def _next_due(store: Store, seconds: float | None) -> float | None:
    """Seconds until an item, a schedule or a task that starts later is due."""
    with store.read() as tx:
        scheduled = tx.schedules.seconds_to_next()
    known = [moment for moment in (seconds, scheduled) if moment is not None]
    return max(0.0, min(known)) if known else None


def fits(stage: Stage, seconds_left: float, usual: float = 0.0) -> bool:
    """Whether a call of the stage usually ends within the time left: as declared, and as learned."""
    return seconds_left > 0 and max(stage.takes, usual) <= seconds_left


def _recover(store: Store, pipelines: dict[str, Pipeline]) -> int:
    """Reclaim lost items before polling for work: the next tick may be a minute away."""
    take_duty(store, "recover", store.settings.sweep_seconds, force=True)
    recovered = recover(store, "tick") + close(store, pipelines, "tick")
    begin_due(store, pipelines, "tick")
    return recovered
