"""Moves batches through their life: collect, send, poll, fetch, give back. Any worker may do any step.

One worker at a time holds a batch. It records its intent before it asks the service to create the batch. A worker that takes
over searches the service for a batch of that name before it creates another one. A worker that was frozen meanwhile finds
that it no longer holds the batch, right before it would create it or write about it.
"""

from __future__ import annotations

import logging
import secrets
from functools import partial
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.money.batch import UNREGISTERED, BatchState
from fanfold.model.text.sentences import say
from fanfold.providers.batches.batch_end import PAGE, BatchEnd
from fanfold.providers.batches.batch_service import (
    TOO_MANY_TOKENS,
    BatchStatus,
    BatchTaken,
    ProviderConnection,
    connect_batches,
)
from fanfold.providers.batches.deliver import Delivery
from fanfold.providers.batches.request_file import page_of, write_requests
from fanfold.providers.batches.trial import passes_trial
from fanfold.providers.configuration import Provider, load
from fanfold.providers.services.service import ServiceTrouble, TroubleKind
from fanfold.store.rows.money.batched_questions import MemberRow, QuestionGroup
from fanfold.store.rows.money.batches import BatchRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")
HOLD_SECONDS = 900.0
"""How long a worker holds a batch for one step; a dead worker's batch is free as soon as its lease is over."""
UNREGISTERED_SECONDS = 180.0
"""How long a process that is not a registered worker, such as a tick, holds a batch for one step."""
FIND_SECONDS = 60.0
"""How long to search for a batch that may have been created, before another one is created."""
AGAIN_SECONDS = 20.0
REFUSED_SECONDS = 3_600.0
"""How long new batches stay smaller after one was refused as too large."""
NOT_THERE = 404
"""The HTTP status of a batch, or of its results, that the service does not have."""
SLOWER = ((5, 1.0), (20, 5.0))
"""Factors of the poll interval, as (number of polls, factor); after these polls the factor is SLOWEST."""
SLOWEST = 15.0


async def run_round(store: Store, worker: str) -> None:
    """Do what is due now."""
    await BatchRound(store, worker).run()


class BatchRound:
    """One round of one worker through everything that is due."""

    def __init__(self, store: Store, worker: str) -> None:
        self.store = store
        self.worker = worker
        self.hold_seconds = UNREGISTERED_SECONDS if worker.startswith(UNREGISTERED) else HOLD_SECONDS
        self.providers = load()
        self._connections: dict[str, ProviderConnection] = {}

    async def run(self) -> None:
        """Make batches of the collected questions, then do the next step of each batch that is due."""
        self.store.transact(_ask_late_ones_live)
        self.store.transact(_withdraw_unwanted)
        self.store.transact(lambda tx: tx.batches.cancel_unwanted())
        try:
            with self.store.read() as tx:
                groups = tx.batched.groups()
            for group in groups:
                if self._is_ready(group):
                    await self._begin(group)
            with self.store.read() as tx:
                due = tx.batches.due()
            for batch in due:
                await self._step(batch)
        finally:
            for connection in self._connections.values():
                await connection.live.close()

    def _connection(self, provider: Provider) -> ProviderConnection:
        if provider.name not in self._connections:
            self._connections[provider.name] = connect_batches(provider)
        return self._connections[provider.name]

    def _is_ready(self, group: QuestionGroup) -> bool:
        """Whether to make a batch: it is full, no more questions come, or the first has waited long enough.

        False if the provider is not configured here, or has no key.
        """
        settings, provider = self.store.settings, self.providers.get(group.provider)
        if provider is None or provider.lacks_key:
            return False
        is_full = group.questions >= self._connection(provider).batches.limits.questions
        is_quiet = group.newest_seconds >= settings.batch_quiet_seconds
        return is_full or is_quiet or group.oldest_seconds >= settings.batch_age_seconds

    async def _begin(self, group: QuestionGroup) -> None:
        """Make a batch of as many questions as fit. Its first step will send it."""
        connection = self._connection(self.providers[group.provider])
        members = self._fitting(group, connection)
        provider = self.providers[group.provider]
        if not members or not await passes_trial(self.store, connection, provider, members, self.worker):
            return
        name = f"b-{secrets.token_hex(6)}"

        def begin(tx: Any) -> None:
            if tx.batches.begin(name, group, members, self.worker, self.hold_seconds) is None:
                raise _Overtaken

        try:
            self.store.transact(begin)
        except _Overtaken:
            log.info("[%s] Others have taken some of the questions; trying again", name)
            return
        log.info("[%s] %d questions for %s:%s", name, len(members), group.provider, group.model)

    def _fitting(self, group: QuestionGroup, connection: ProviderConnection) -> list[MemberRow]:
        """The first questions of a group, up to the limits of the service."""
        limits, provider = connection.batches.limits, self.providers[group.provider]
        with self.store.read() as tx:
            waiting = tx.batched.waiting(group, limits.questions)
            in_air = tx.batches.tokens_in_air(group.provider, group.model)
            refused = tx.batches.smallest_refused(group.provider, group.model, TOO_MANY_TOKENS, REFUSED_SECONDS)
        tokens = 0.9 * provider.batch_tokens - in_air
        if refused is not None:
            tokens = min(tokens, refused / 2 - in_air)
        size = limits.bytes
        chosen: list[MemberRow] = []
        for member in waiting:
            size, tokens = size - member.bytes, tokens - member.tokens
            # A question that is too large goes alone: the service says what is wrong with it.
            if (size < 0 or tokens < 0) and (chosen or in_air):
                break
            chosen.append(member)
        return chosen

    async def _step(self, due: BatchRow) -> None:
        """Do the next step of a batch; trouble with the service postpones it."""
        provider = self.providers.get(due.provider)
        if provider is None or provider.lacks_key:
            return
        batch = self.store.transact(
            lambda tx: tx.batches.take(due.id, self.worker, self.hold_seconds, self.store.settings.lease_seconds)
        )
        if batch is None:
            return
        try:
            await self._stepped(batch, self._connection(provider))
        except ServiceTrouble as trouble:
            self._trouble(batch, trouble)
        except BadInput as problem:
            self._change(batch, seconds=AGAIN_SECONDS, reason=problem.message)
        except BatchTaken:
            log.warning("[%s] Another worker has taken the batch over; leaving it to that one", batch.name)

    def _trouble(self, batch: BatchRow, trouble: ServiceTrouble) -> None:
        """Try again later, except with a batch that the service does not have and that nobody wants any more.

        A batch that is not there may have been paid for, and may be there for another key: only a person, or a deadline, can
        say that its questions are to be asked again.
        """
        is_gone = batch.job is not None and trouble.status == NOT_THERE
        if is_gone and batch.cancel_at is not None:
            self._lose(batch, trouble)
            return
        reason = say("batch_not_there", why=trouble.message) if is_gone else trouble.message
        seconds = max(AGAIN_SECONDS, trouble.after or 0.0)
        log.warning("[%s] %s Trying again in %.0f s", batch.name, trouble.message, seconds)
        self._change(batch, seconds=seconds, reason=reason)

    def _lose(self, batch: BatchRow, trouble: ServiceTrouble) -> None:
        """End a batch that the service no longer has. Its questions without an answer count as possibly paid."""
        self._move(batch, "fetch", free=False)
        ending = BatchEnd(self.store, self.worker, batch)
        ending.give_up(self.providers[batch.provider])
        ending.close("end", reason=say("batch_lost", why=trouble.message))

    async def _stepped(self, batch: BatchRow, connection: ProviderConnection) -> None:
        if batch.state is BatchState.SENDING:
            await self._send(batch, connection)
        elif batch.state is BatchState.RUNNING:
            await self._look(batch, connection)
        else:
            await self._fetch(batch, connection)

    def _change(self, batch: BatchRow, **values: Any) -> bool:
        return self.store.transact(lambda tx: tx.batches.change(batch.id, self.worker, **values))

    def _move(self, batch: BatchRow, verb: str, **values: Any) -> bool:
        return self.store.transact(lambda tx: tx.batches.move(batch.id, self.worker, verb, **values))

    async def _send(self, batch: BatchRow, connection: ProviderConnection) -> None:
        """Create the batch at the service, unless it is there already."""
        poll = self.store.settings.batch_poll_seconds
        if batch.intended_at is not None:
            with self.store.read() as tx:
                known, intended_seconds = tx.batches.jobs_known(batch.provider), tx.batches.intended_seconds(batch.id)
            job = await connection.batches.find(batch.name, batch.questions, batch.intended_at, known)
            if job is not None:
                self._move(batch, "send", job=job, seconds=poll, reason=None)
                return
            if intended_seconds < FIND_SECONDS:
                self._change(batch, seconds=AGAIN_SECONDS)
                return
        if batch.cancel_at is not None:
            await self._withdraw(batch, connection)
            return
        lines, questions = write_requests(self.store, connection.batches, batch)
        try:
            if not questions:  # Their tasks were deleted before the batch was sent.
                await self._withdraw(batch, connection)
                return
            job = await connection.batches.create(batch.name, lines, partial(self._intend, batch, questions))
        except ServiceTrouble as trouble:
            await self._not_created(batch, trouble, connection)
            return
        finally:
            lines.unlink(missing_ok=True)
        if not self._move(batch, "send", job=job, seconds=poll, reason=None):
            await self._cancel_second(batch, job, connection)

    def _intend(self, batch: BatchRow, questions: int) -> None:
        """Record that the batch may exist from now on; BatchTaken if another worker has taken it over."""
        if not self.store.transact(lambda tx: tx.batches.note_intent(batch.id, self.worker, questions)):
            raise BatchTaken

    async def _cancel_second(self, batch: BatchRow, job: str, connection: ProviderConnection) -> None:
        """Cancel a batch that was created after another worker had taken over, so that nothing is paid for twice.

        This process must have slept for a minute between ``_intend`` and its request. If the other worker has found this very
        batch, it stays.
        """
        with self.store.read() as tx:
            if job in tx.batches.jobs_known(batch.provider):
                return
        log.warning("[%s] Another worker has sent the batch: cancelling the second one, %s", batch.name, job)
        await connection.batches.cancel(job)

    async def _withdraw(self, batch: BatchRow, connection: ProviderConnection) -> None:
        """Close a batch that was not sent: nobody wants its answers any more."""
        ending = BatchEnd(self.store, self.worker, batch)
        ending.give_back("end")
        await self._remove(batch, connection)
        ending.close("end")

    async def _not_created(self, batch: BatchRow, trouble: ServiceTrouble, connection: ProviderConnection) -> None:
        """The service did not accept the batch. Search for it if that is uncertain, fail it if it was refused, else try later."""
        if trouble.unknown:
            self._change(batch, seconds=AGAIN_SECONDS, reason=trouble.message)
        elif trouble.kind in (TroubleKind.REFUSED, TroubleKind.REJECTED):
            refusal = BatchStatus(True, refusal=trouble.message, code=str(trouble.kind))
            await self._fail(batch, refusal, connection)
        else:
            wait = max(self.store.settings.batch_poll_seconds, trouble.after or 0.0)
            self._change(batch, seconds=wait, intended_at=None, reason=trouble.message)

    async def _look(self, batch: BatchRow, connection: ProviderConnection) -> None:
        assert batch.job is not None
        if batch.cancel_at is not None:
            await connection.batches.cancel(batch.job)
        status = await connection.batches.look(batch.job)
        if status.refusal is not None:
            await self._fail(batch, status, connection)
            return
        counted = {"answered": status.answered, "failed": status.failed, "reason": None}
        if not status.is_over:
            pause = self.store.settings.batch_poll_seconds * _slowness(batch.looks)
            self._change(batch, seconds=pause, looks=batch.looks + 1, **counted)
            return
        if self._move(batch, "fetch", free=False, **counted):
            await self._fetch(batch, connection)

    async def _fetch(self, batch: BatchRow, connection: ProviderConnection) -> None:
        """Read the results and settle the questions. Those without a result go into the next batch, or are asked live."""
        ending = BatchEnd(self.store, self.worker, batch)
        if batch.read_at is None:
            if not await self._read(batch, connection):
                return
            ending.give_back("end")
            ending.note_read()
        await self._remove(batch, connection)
        ending.close("end")

    async def _read(self, batch: BatchRow, connection: ProviderConnection) -> bool:
        """Write the outcome of each question; False if another worker has taken the batch over."""
        assert batch.job is not None
        delivery = Delivery(self.store, self.providers[batch.provider], batch)
        async for result in connection.batches.results(batch.job, batch.model):
            delivery.add(result)
            if delivery.is_full:
                if not self._still_held(batch):
                    return False
                delivery.write()
        delivery.write()
        return True

    def _still_held(self, batch: BatchRow) -> bool:
        lease = self.store.settings.lease_seconds
        return (
            self.store.transact(lambda tx: tx.batches.take(batch.id, self.worker, self.hold_seconds, lease)) is not None
        )

    async def _fail(self, batch: BatchRow, status: BatchStatus, connection: ProviderConnection) -> None:
        """The service refused the batch. If it was only too large, its questions go into smaller batches."""
        ending = BatchEnd(self.store, self.worker, batch)
        if status.code != TOO_MANY_TOKENS:
            while members := page_of(self.store, batch, 0):
                ending.refuse(members, status)
        ending.give_back("refuse")
        await self._remove(batch, connection)
        ending.close("refuse", reason=status.refusal, code=status.code)

    async def _remove(self, batch: BatchRow, connection: ProviderConnection) -> None:
        """Delete what the service stores of a batch. Before the batch is closed, so that a crash in between loses no file."""
        try:
            await connection.batches.remove(batch.name, batch.job)
        except ServiceTrouble as trouble:
            log.warning("[%s] Its files stay at the service: %s", batch.name, trouble.message)


def _ask_late_ones_live(tx: Transaction) -> None:
    tx.batched.late_collected(PAGE)
    tx.batched.free_budgets()


def _withdraw_unwanted(tx: Transaction) -> None:
    tx.batched.withdraw_unwanted(PAGE)
    tx.batched.free_budgets()


class _Overtaken(Exception):
    """Another worker has taken one of the questions."""


def _slowness(looks: int) -> float:
    return next((factor for most, factor in SLOWER if looks < most), SLOWEST)
