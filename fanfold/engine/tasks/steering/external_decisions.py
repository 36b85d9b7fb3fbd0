"""Carries out people's decisions about external jobs: check, lost or resend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from fanfold.errors import BadInput, IllegalMove, NotFound
from fanfold.model.awaited.external import EXTERNAL_COMMANDS, ExternalJob, JobState
from fanfold.model.task import TaskRow
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.text.texts import check_reason
from fanfold.store.store import Store, Transaction

AT_ONCE = 300
"""Most jobs decided in one transaction: up to four rows each."""


@dataclass(frozen=True)
class Wish:
    """What a person wants: the verb, for the named items or for every job that it applies to, and why."""

    verb: str
    items: tuple[str, ...] = ()
    stage: str | None = None
    reason: str | None = None


FITS: dict[str, tuple[Callable[[ExternalJob, bool], bool], JobState | None]] = {
    # The item that would poll the job, or start it again, must not have ended. That a job is lost can be said at any time.
    "check": (lambda job, named: job.state in (JobState.UNKNOWN, JobState.STARTED) and not job.ended, None),
    # A job that was certainly started may be running well: it must be named to be given up.
    "lost": (
        lambda job, named: job.state is JobState.UNKNOWN or (named and job.state is JobState.STARTED),
        JobState.OVER,
    ),
    "resend": (lambda job, named: job.state is JobState.UNKNOWN and not job.ended, JobState.RESEND),
}
"""Per verb: the jobs that it applies to, and their state afterwards."""


def decide(store: Store, number: int, wish: Wish, actor: str) -> None:
    """Carry out the decision, with an event for each job.

    All jobs are checked together first, then decided in short transactions. After a crash in between, the same command decides
    the rest.
    """
    if wish.verb not in EXTERNAL_COMMANDS:
        raise BadInput(say("no_external_verb", verb=wish.verb, known=EXTERNAL_COMMANDS))
    check_reason(wish.reason)
    lease_seconds = store.settings.lease_seconds
    with store.read() as tx:
        found = _found(tx, number, wish, lease_seconds)
    for start in range(0, len(found), AT_ONCE):
        some = {(item, job.name) for item, job in found[start : start + AT_ONCE]}
        store.transact(lambda tx, some=some: _decide(tx, number, wish, actor, lease_seconds, some))  # type: ignore[misc]


def _decide(
    tx: Transaction, number: int, wish: Wish, actor: str, lease_seconds: float, some: set[tuple[int, str]]
) -> None:
    """Decide some of the jobs, if the verb still applies to them."""
    row = tx.tasks.lock(number)
    if row is None:
        raise NotFound(say("deleted_meanwhile"))
    fits, state = FITS[wish.verb]
    known = tx.externals.of_items(sorted({item for item, _ in some}), lease_seconds)
    found = [(item, job) for item, job in known if (item, job.name) in some and fits(job, bool(wish.items))]
    for item, job in found:
        tx.externals.decide(item, job.name, state)
    _note(tx, row, [job for _, job in found], wish, actor)
    tx.announce()


def _found(tx: Transaction, number: int, wish: Wish, lease_seconds: float) -> list[tuple[int, ExternalJob]]:
    """The requested jobs. Raises IllegalMove if the verb applies to none of them."""
    fits, _ = FITS[wish.verb]
    row = tx.tasks.get(number)
    if row is None:
        raise NotFound(say("deleted_meanwhile"))
    known = tx.externals.of_task(number, lease_seconds)
    chosen = [(item, job) for item, job in known if _is_named(job, wish)]
    _check_names(row, [job for _, job in chosen], wish)
    found = [(item, job) for item, job in chosen if fits(job, bool(wish.items))]
    if not found:
        raise IllegalMove(_nothing(row, [job for _, job in chosen], wish))
    return found


def _is_named(job: ExternalJob, wish: Wish) -> bool:
    return (not wish.items or job.item in wish.items) and (wish.stage is None or job.stage == wish.stage)


def _check_names(row: TaskRow, jobs: list[ExternalJob], wish: Wish) -> None:
    if wish.stage is not None:
        row.plan.stage(wish.stage)
    unknown = [key for key in wish.items if key not in {job.item for job in jobs}]
    if unknown:
        raise NotFound(say("no_external_jobs_for", task=row.id, keys=unknown))


def _nothing(row: TaskRow, jobs: list[ExternalJob], wish: Wish) -> Sentence:
    """Why the verb applies to none of the jobs, and what to do instead."""
    if any(job.state is JobState.INTENDED for job in jobs):
        return say("external_starting", task=row.id)
    if ended := [job.item for job in jobs if job.ended and job.state is JobState.UNKNOWN]:
        return say("external_item_ended", task=row.id, keys=ended, key=ended[0])
    if wish.verb == "check":
        return say("no_external_to_check", task=row.id)
    return say("no_external_unknown", task=row.id)


def _note(tx: Transaction, row: TaskRow, jobs: list[ExternalJob], wish: Wish, actor: str) -> None:
    tx.events.add(
        [
            {
                "task": row.number,
                "actor": actor,
                "verb": wish.verb,
                "stage": job.stage,
                "item": job.item,
                "reason": _why(job, wish),
            }
            for job in jobs
        ]
    )


def _why(job: ExternalJob, wish: Wish) -> Sentence:
    what = say("external_job", job=job.key)
    return say("because", what=what, why=wish.reason) if wish.reason else what
