"""Runs an external job for an item: stores the intent, makes the call, stores the job's id, each durable before the next step.

A crash, a pause or a lost connection between two steps leaves an intent without an id. Then nobody knows whether the job was
started, so it is never started again blindly: the service is asked by key, or a person decides.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fanfold.engine.handlers.external_call import called, is_refusal
from fanfold.engine.handlers.typed_values import loaded
from fanfold.engine.handlers.unwanted_job import note_unwanted, unwanted
from fanfold.engine.tasks.steering.wake import hashed
from fanfold.errors import (
    BadInput,
    Cancelled,
    DatabaseProblem,
    FanfoldError,
    HandlerError,
    HoldItem,
    JobFailed,
    Permanent,
    Temporary,
)
from fanfold.model.awaited.external import JobRow, JobState
from fanfold.model.item import Later
from fanfold.model.lifecycle import TaskState
from fanfold.model.text.sentences import Sentence, say
from fanfold.model.values import serial
from fanfold.model.values.idempotency import job_key

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work

log = logging.getLogger("fanfold.worker")
JOB_BYTES = 10_000
WAKE_PATH = "/api/v1/wake/"
NAME_LENGTH = 63
KIND_LENGTH = 200
GRACE_SECONDS = 4.0
"""How long an attempt that is told to stop waits for a start in progress; its worker waits a little longer."""
SHORTEST_WAIT_SECONDS = 1.0
"""Usual durations below this are not worth a wait: the job is polled at once."""
SHORTEST_POLL_PAUSE_SECONDS, LONGEST_POLL_PAUSE_SECONDS = 5.0, 60.0
"""Pause after a poll that failed: a tenth of the time since the start, within these."""
IN_FLIGHT_SECONDS = 2.0
"""Interval at which to check whether a start left in progress by an earlier attempt has ended."""
KEEP_SECONDS = 600.0
"""How long to retry storing a job's id while the database is unreachable."""
_left_behind: set[asyncio.Task[Any]] = set()
"""Starts whose attempt has ended. Kept here because the loop holds only weak references."""


class LookLater(BaseException):
    """Ends the attempt: the item waits, without a worker, until the next poll.

    A BaseException, so that a handler with `except Exception` does not continue without a result.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds


@dataclass(frozen=True)
class ExternalService:
    """The functions that call the service; each may be `def` or `async def`."""

    start: Callable[..., Any]
    look: Callable[[Any], Any]
    find: Callable[[str], Any] | None = None
    cancel: Callable[[Any], Any] | None = None
    wakes: bool = False
    """Whether ``start`` also gets the URL by which the service can wake the item."""
    kind: str = ""
    """The kind of the job, for which its usual duration is learned; empty to poll at once."""


class External:
    """One external job of one item, as one attempt sees it."""

    def __init__(self, work: Work, name: str, service: ExternalService) -> None:
        if not name or len(name) > NAME_LENGTH:
            raise BadInput(say("external_name", most=NAME_LENGTH, length=len(name)))
        if len(service.kind) > KIND_LENGTH:
            raise BadInput(say("external_kind", most=KIND_LENGTH, length=len(service.kind)))
        self.work = work
        self.name = name
        self.service = service
        self._item, self._lease = work._claimed.id, work._claimed.lease
        self._unwanted = False

    async def result(self) -> Any:
        """The result of the job once it is done; until then LookLater."""
        row = await self._read()
        started = None
        if row is None or not self._is_ours(row):
            if row is not None and row.state in (JobState.INTENDED, JobState.UNKNOWN):
                await self._settle_earlier(row)
            job = started = await self._start(self._key(1))
        elif row.state is JobState.OVER:
            job = started = await self._start(self._key(self._number(row.key) + 1))
        elif row.state is JobState.RESEND:
            job = started = await self._start(row.key)
        elif row.state is JobState.STARTED:
            job = loaded(self.work, row.job, "The id of an external job")
        else:
            job = await self._resolve(row)
        if started is not None:
            await self._wait_as_usual()
        return await self._look(job)

    async def _wait_as_usual(self) -> None:
        """Postpone the first poll of a job that was just started by the time that half of such jobs take."""
        if not self.service.kind:
            return
        kind = self.service.kind
        usual = await asyncio.to_thread(self._reads, lambda tx: tx.external_durations.usual(kind))
        if usual is not None and usual >= SHORTEST_WAIT_SECONDS:
            raise LookLater(min(usual, self.work.wait_limit / 2))

    def _key(self, number: int) -> str:
        """The idempotency key of the item with the job's name, and a number after a job was lost or failed."""
        return job_key(self.work.idempotency_key, self.name, number)

    def _number(self, key: str) -> int:
        number = key.removeprefix(self._key(1)).removeprefix("~")
        return int(number) if number else 1

    def _is_ours(self, row: JobRow) -> bool:
        """Whether the job belongs to this generation of the item; after a redo or rerun the old one does not count."""
        rest = row.key.removeprefix(self._key(1))
        return row.key.startswith(self._key(1)) and (rest == "" or (rest[0] == "~" and rest[1:].isdecimal()))

    async def _find(self, row: JobRow) -> Any:
        """The job of an intent without an id, if the service knows one; without a way to ask, a person decides."""
        if row.in_flight:
            raise LookLater(IN_FLIGHT_SECONDS)
        if self.service.find is None:
            raise HoldItem(self._unclear(row.key))
        return await called(self.service.find, row.key)

    async def _resolve(self, row: JobRow) -> Any:
        """Find the job of an intent without an id: ask the service by key, or let a person decide."""
        found = await self._find(row)
        if found is None:
            return await self._start(row.key)
        text = serial.dump(found, "The id of an external job", JOB_BYTES)
        if not await self._write(lambda tx: tx.externals.found(self._item, self._lease, row, text)):
            raise self._stopped()
        return found

    async def _settle_earlier(self, row: JobRow) -> None:
        """Find out what became of a job of unknown outcome before a redo starts one with a key of its own.

        A job that was started after all is cancelled. Who asks for a redo wants another result, not to pay for both unknowingly.
        """
        found = await self._find(row)
        if found is not None:
            await self._superseded(found, row.key, late=False)

    async def _superseded(self, job: Any, key: str, *, late: bool) -> None:
        """Cancel a job at the service whose result nobody will use, and tell people: it may be paid for."""
        cancelled = await self._cancel(job)
        reason = unwanted(serial.dump(job, "The id"), key, late=late, cancelled=cancelled)
        log.warning("[%s] %s", self.work.task_id, reason)
        claimed = self.work._claimed
        try:
            await self._write(lambda tx: note_unwanted(tx, claimed.task, claimed.stage, claimed.key, reason))
        except DatabaseProblem as problem:
            log.warning("[%s] The event about job %s is not stored: %s", self.work.task_id, job, problem)

    def _unclear(self, key: str, error: BaseException | None = None) -> Sentence:
        task = self.work.task_id
        if error is None:
            return say("external_unclear", job=key, task=task)
        return say("external_unclear_error", job=key, error=f"{type(error).__name__}: {error}", task=task)

    async def _start(self, key: str) -> Any:
        """Store the intent, call the service and store the id, uninterrupted by a pause, a cancel or a shutdown."""
        starting = asyncio.get_running_loop().create_task(self._started(key))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            self._unwanted = True
            await self._wind_up(starting)
            raise

    async def _wind_up(self, starting: asyncio.Task[Any]) -> None:
        """Give a start in progress some time to end; if it does not, the intent is marked as unknown."""
        _left_behind.add(starting)
        starting.add_done_callback(_forget)
        until = time.monotonic() + self.work.grace_seconds
        while not starting.done() and (left := until - time.monotonic()) > 0:
            try:
                await asyncio.wait({starting}, timeout=left)
            except asyncio.CancelledError:
                continue  # Cancelled again, as by a shutdown after a pause: the deadline stays the same.
        if starting.done() and not starting.cancelled() and starting.exception() is None:
            await self._cancel_if_task_is(starting.result())

    async def _started(self, key: str) -> Any:
        token = secrets.token_urlsafe(32) if self.service.wakes else None
        wake = None if token is None else hashed(token)
        if not await self._write(lambda tx: tx.externals.intend(self._item, self._lease, self.name, key, wake)):
            raise self._stopped()
        mine = (self._item, self._lease, self.name, key)
        if self._unwanted:
            await self._withdraw(key)
            raise self._stopped()
        try:
            job = await called(self.service.start, key, *(() if token is None else (self._wake_url(token),)))
            if job is None:
                raise BadInput(say("external_no_id"))
            text = serial.dump(job, "The id of an external job", JOB_BYTES)
        except BaseException as error:
            if is_refusal(error):
                await self._withdraw(key)
                raise
            await self._write(lambda tx: tx.externals.not_known(*mine))
            if self.service.find is None and not isinstance(error, asyncio.CancelledError):
                raise HoldItem(self._unclear(key, error)) from error
            raise
        await self._keep(mine, text)
        return job

    def _wake_url(self, token: str) -> str | None:
        """The URL to give to the service; None if the setting `public_url` does not say where the server is."""
        base = self.work._store.settings.public_url.rstrip("/")
        return f"{base}{WAKE_PATH}{token}" if base else None

    async def _withdraw(self, key: str) -> None:
        """Remove the intent, and keep the memory of the job before it."""
        number = self._number(key)
        ended = self._key(number - 1) if number > 1 else None
        await self._write(lambda tx: tx.externals.withdraw(self._item, self._lease, self.name, key, ended))

    async def _keep(self, mine: tuple[int, int, str, str], text: str) -> None:
        """Store the job's id, with retries while the database is unreachable: it is known nowhere else."""
        pause, until = 0.1, time.monotonic() + KEEP_SECONDS
        while True:
            try:
                kept = await self._write(lambda tx: tx.externals.started(*mine, text))
                break
            except DatabaseProblem as problem:
                if time.monotonic() > until:
                    raise
                log.warning("[%s] Job %s is not stored yet: %s", self.work.task_id, text, problem)
                await asyncio.sleep(pause)
                pause = min(5.0, pause * 2)
        if not kept:
            await self._superseded(loaded(self.work, text, "The id of an external job"), mine[3], late=True)

    async def _look(self, job: Any) -> Any:
        try:
            found = await called(self.service.look, job)
        except (Permanent, JobFailed):
            await self._end()
            raise
        except asyncio.CancelledError:
            await self._cancel_if_task_is(job)
            raise
        except Exception as error:
            if not _may_pass(error):
                raise
            raise await self._poll_failed(job, error) from error
        row = await self._read() if isinstance(found, Later) or self.service.kind else None
        if not isinstance(found, Later):
            await self._learn(row)
            return found
        waited = row.seconds if row is not None else 0.0
        if waited > self.work.wait_limit:
            raise await self._given_up(job, waited)
        raise LookLater(found.seconds)

    async def _poll_failed(self, job: Any, error: Exception) -> HandlerError:
        """A poll that failed says nothing about the job, which may cost money: it is polled again, and no retry is used up.

        Failing the item would let a compensation run, and a retry start a second job, while this one may end well.
        """
        row = await self._read()
        waited = row.seconds if row is not None else 0.0
        cause = f"{type(error).__name__}: {error}"
        if waited > self.work.wait_limit:
            return await self._given_up(job, waited, cause)
        after = error.after if isinstance(error, Temporary) else None
        if after is None:
            after = min(LONGEST_POLL_PAUSE_SECONDS, max(SHORTEST_POLL_PAUSE_SECONDS, waited / 10))
        reason = say("external_poll_failed", job=serial.dump(job, "The id"), error=cause)
        return Temporary(reason, after=after, counts=False, code="poll_failed")

    async def _given_up(self, job: Any, waited: float, cause: str | None = None) -> Permanent:
        """End the job, and say that it took too long."""
        await self._cancel(job)
        await self._end()
        told, limit = serial.dump(job, "The id"), self.work.wait_limit
        if cause is None:
            reason = say("external_job_gave_up", job=told, waited=waited, limit=limit)
        else:
            reason = say("external_job_gave_up_error", job=told, waited=waited, limit=limit, error=cause)
        return Permanent(reason, code="gave_up")

    async def _learn(self, row: JobRow | None) -> None:
        """Remember how long the job took. A mistake here never costs the result."""
        if row is None or not self._is_ours(row):
            return
        try:
            await self._write(lambda tx: tx.external_durations.learn(self.service.kind, row.seconds))
        except DatabaseProblem as problem:
            log.warning("[%s] The duration of job %s is not learned: %s", self.work.task_id, row.key, problem)

    async def _cancel_if_task_is(self, job: Any) -> None:
        """Cancel the job if the task was cancelled, not only this attempt."""
        if self.service.cancel is None:
            return
        row = await asyncio.to_thread(self._task_state)
        if row is not None and (row.state is TaskState.CANCELLED or row.ending == TaskState.CANCELLED):
            await self._cancel(job)

    def _task_state(self) -> Any:
        with self.work._store.read() as tx:
            return tx.tasks.get(self.work._row.number)

    async def _cancel(self, job: Any) -> bool:
        """Ask the service to cancel; errors are only logged, since the attempt is over either way. Whether it was asked."""
        if self.service.cancel is None:
            return False
        try:
            async with asyncio.timeout(self.work.grace_seconds):
                await called(self.service.cancel, job)
        except Exception as error:
            log.warning("[%s] The external job %s could not be cancelled: %r", self.work.task_id, job, error)
            return False
        return True

    async def _end(self) -> None:
        row = await self._read()
        if row is not None and self._is_ours(row):
            await self._write(lambda tx: tx.externals.end(self._item, self.name, row.key))

    async def _read(self) -> JobRow | None:
        store = self.work._store

        def read() -> JobRow | None:
            with store.read() as tx:
                return tx.externals.get(self._item, self.name, store.settings.lease_seconds)

        return await asyncio.to_thread(read)

    def _reads(self, verb: Callable[[Any], Any]) -> Any:
        with self.work._store.read() as tx:
            return verb(tx)

    async def _write(self, verb: Callable[[Any], Any]) -> Any:
        return await asyncio.to_thread(self.work._store.transact, verb)

    def _stopped(self) -> Cancelled:
        self.work._stop.set()
        return Cancelled(say("external_stopped"))


def _may_pass(error: Exception) -> bool:
    """Whether the next poll may succeed. What a handler raises on purpose, and a lost lease or database, mean what they say."""
    if isinstance(error, HandlerError | FanfoldError):
        return isinstance(error, Temporary) and error.counts
    return True


def _forget(starting: asyncio.Task[Any]) -> None:
    _left_behind.discard(starting)
    if not starting.cancelled() and (error := starting.exception()) is not None:
        log.warning("A start of an external job ended after its attempt: %r", error)
