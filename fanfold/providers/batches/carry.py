"""Carries batches through their life: collect, send, look, fetch, give back. Any worker may do any step.

Each batch is held by one worker at a time. Before the service is asked to create it, the intent is written down; a worker
that takes over looks for the batch at the service by its name before it creates another one.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fanfold.errors import BadInput
from fanfold.model.batch import BatchState, MemberState
from fanfold.model.text.sentences import say
from fanfold.providers.batches.batch_service import (
    TOO_MANY_TOKENS,
    BatchStatus,
    Connection,
    connect_batches,
    unpacked_request,
)
from fanfold.providers.batches.deliver import Delivery
from fanfold.providers.batches.trial import passes_trial
from fanfold.providers.configuration import Provider, load
from fanfold.providers.services import ServiceTrouble, TroubleKind
from fanfold.store.rows.batched_questions import Group, MemberRow
from fanfold.store.rows.batches import BatchRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")
HOLD_SECONDS = 900.0
"""How long a worker holds a batch for one step; a dead worker's batch is free as soon as its lease is over."""
FIND_SECONDS = 60.0
"""A batch that was perhaps created is looked for this long before another one is created."""
AGAIN_SECONDS = 20.0
REFUSED_SECONDS = 3_600.0
"""How long the size of a batch that was too large is heeded."""
PAGE = 200
"""Questions that are read or settled in one transaction."""
SLOWER = ((5, 1.0), (20, 5.0))
"""After how many looks at a batch the pauses between them grow, and by how much."""
SLOWEST = 15.0


async def carry(store: Store, worker: str) -> None:
    """Do what is due now."""
    await Carrier(store, worker).run()


class Carrier:
    """One round of one worker through all that is due."""

    def __init__(self, store: Store, worker: str) -> None:
        self.store = store
        self.worker = worker
        self.providers = load()
        self._connections: dict[str, Connection] = {}

    async def run(self) -> None:
        """Send what is collected, then look at what is due."""
        self.store.transact(_ask_late_ones_live)
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

    def _connection(self, provider: Provider) -> Connection:
        if provider.name not in self._connections:
            self._connections[provider.name] = connect_batches(provider)
        return self._connections[provider.name]

    def _is_ready(self, group: Group) -> bool:
        """Whether no more questions are coming, or the first has waited long enough; and whether we know the provider."""
        settings, provider = self.store.settings, self.providers.get(group.provider)
        if provider is None or provider.lacks_key:
            return False
        is_full = group.questions >= self._connection(provider).batches.limits.questions
        is_quiet = group.newest_seconds >= settings.batch_quiet_seconds
        return is_full or is_quiet or group.oldest_seconds >= settings.batch_age_seconds

    async def _begin(self, group: Group) -> None:
        """Make a batch of as many questions as fit, and send it."""
        connection = self._connection(self.providers[group.provider])
        members = self._fitting(group, connection)
        if not members or not await passes_trial(self.store, connection, self.providers[group.provider], members):
            return
        name = f"b-{secrets.token_hex(6)}"

        def begin(tx: Any) -> None:
            if tx.batches.begin(name, group, members, self.worker, HOLD_SECONDS) is None:
                raise _Overtaken

        try:
            self.store.transact(begin)
        except _Overtaken:
            log.info("[%s] Others have taken some of the questions; trying again", name)
            return
        log.info("[%s] %d questions for %s:%s", name, len(members), group.provider, group.model)

    def _fitting(self, group: Group, connection: Connection) -> list[MemberRow]:
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
            # One question goes alone, however large it is: the service says what is wrong with it.
            if (size < 0 or tokens < 0) and (chosen or in_air):
                break
            chosen.append(member)
        return chosen

    async def _step(self, due: BatchRow) -> None:
        """One step of a batch; trouble with the service puts it off."""
        provider = self.providers.get(due.provider)
        if provider is None or provider.lacks_key:
            return
        batch = self.store.transact(
            lambda tx: tx.batches.take(due.id, self.worker, HOLD_SECONDS, self.store.settings.lease_seconds)
        )
        if batch is None:
            return
        try:
            await self._stepped(batch, self._connection(provider))
        except ServiceTrouble as trouble:
            log.warning("[%s] %s Trying again in a while", batch.name, trouble.message)
            self._change(batch, seconds=max(AGAIN_SECONDS, trouble.after or 0.0), reason=trouble.message)
        except BadInput as problem:
            self._change(batch, seconds=AGAIN_SECONDS, reason=problem.message)

    async def _stepped(self, batch: BatchRow, connection: Connection) -> None:
        if batch.state is BatchState.SENDING:
            await self._send(batch, connection)
        elif batch.state is BatchState.RUNNING:
            await self._look(batch, connection)
        else:
            await self._fetch(batch, connection)

    def _change(self, batch: BatchRow, **values: Any) -> bool:
        return self.store.transact(lambda tx: tx.batches.change(batch.id, self.worker, **values))

    async def _send(self, batch: BatchRow, connection: Connection) -> None:
        """Create the batch at the service, unless it is there already."""
        poll = self.store.settings.batch_poll_seconds
        if batch.intended_at is not None:
            with self.store.read() as tx:
                known = tx.batches.jobs_known(batch.provider)
            job = await connection.batches.find(batch.name, batch.intended_at, known)
            if job is not None:
                self._change(batch, state=BatchState.RUNNING.value, job=job, seconds=poll, reason=None)
                return
            if (datetime.now(UTC) - batch.intended_at).total_seconds() < FIND_SECONDS:
                self._change(batch, seconds=AGAIN_SECONDS)
                return
        if batch.cancel_at is not None:
            self._end(batch, BatchState.DONE)
            return
        lines = self._lines(batch, connection)
        try:
            if not self.store.transact(lambda tx: tx.batches.note_intent(batch.id, self.worker)):
                return
            job = await connection.batches.create(batch.name, lines)
        except ServiceTrouble as trouble:
            self._not_created(batch, trouble)
            return
        finally:
            lines.unlink(missing_ok=True)
        self._change(batch, state=BatchState.RUNNING.value, job=job, seconds=poll, reason=None)

    def _lines(self, batch: BatchRow, connection: Connection) -> Path:
        """The file that is sent, written page by page."""
        path = self.store.scratch / f"batch-{batch.name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8") as file:
            last = 0
            while members := self._page(batch, last):
                for member in members:
                    request = unpacked_request(self.store.unfold(member.request))
                    file.write(connection.batches.line(f"{batch.name}-{member.id}", request) + "\n")
                last = members[-1].id
        return path

    def _page(self, batch: BatchRow, last: int) -> list[MemberRow]:
        with self.store.read() as tx:
            return tx.batched.members(batch.id, last, PAGE)

    def _not_created(self, batch: BatchRow, trouble: ServiceTrouble) -> None:
        """The service did not take the batch: it is looked for where that is not certain, and tried again where it may pass."""
        if trouble.unknown:
            self._change(batch, seconds=AGAIN_SECONDS, reason=trouble.message)
        elif trouble.kind in (TroubleKind.REFUSED, TroubleKind.REJECTED):
            self._fail(batch, BatchStatus(True, refusal=trouble.message, code=str(trouble.kind)))
        else:
            wait = max(self.store.settings.batch_poll_seconds, trouble.after or 0.0)
            self._change(batch, seconds=wait, intended_at=None, reason=trouble.message)

    async def _look(self, batch: BatchRow, connection: Connection) -> None:
        assert batch.job is not None
        if batch.cancel_at is not None:
            await connection.batches.cancel(batch.job)
        status = await connection.batches.look(batch.job)
        if status.refusal is not None:
            self._fail(batch, status)
            return
        counted = {"answered": status.answered, "failed": status.failed, "reason": None}
        if not status.is_over:
            pause = self.store.settings.batch_poll_seconds * _slowness(batch.looks)
            self._change(batch, seconds=pause, looks=batch.looks + 1, **counted)
            return
        if self._change(batch, free=False, state=BatchState.FETCHING.value, **counted):
            await self._fetch(batch, connection)

    async def _fetch(self, batch: BatchRow, connection: Connection) -> None:
        """Read the results and settle the questions; what has no result goes into the next batch, or live."""
        assert batch.job is not None
        delivery = Delivery(self.store, self.providers[batch.provider], batch)
        async for result in connection.batches.results(batch.job, batch.model):
            delivery.add(result)
            if delivery.is_full:
                if not self._still_held(batch):
                    return
                delivery.write()
        delivery.write()
        self._end(batch, BatchState.DONE)
        try:
            await connection.batches.remove(batch.job)
        except ServiceTrouble as trouble:
            log.warning("[%s] Its files stay at the service: %s", batch.name, trouble.message)

    def _still_held(self, batch: BatchRow) -> bool:
        lease = self.store.settings.lease_seconds
        return self.store.transact(lambda tx: tx.batches.take(batch.id, self.worker, HOLD_SECONDS, lease)) is not None

    def _end(self, batch: BatchRow, state: BatchState, **values: Any) -> None:
        """Give back what has no result, and close the batch."""

        def give_back(tx: Any) -> int:
            live, again = tx.batched.give_back(batch.id, PAGE)
            tx.batched.wake(live)
            tx.batched.free_budgets()
            return len(live) + len(again)

        while self.store.transact(give_back):
            pass
        self.store.transact(lambda tx: tx.batches.end(batch.id, self.worker, state, **values))
        log.info("[%s] Batch is %s", batch.name, state)

    def _fail(self, batch: BatchRow, status: BatchStatus) -> None:
        """The service refused the batch. If it was only too large, its questions go into smaller ones."""
        if status.code != TOO_MANY_TOKENS:
            while members := self._page(batch, 0):
                self.store.transact(partial(_refuse, members=members, status=status))
        self._end(batch, BatchState.FAILED, reason=status.refusal, code=status.code)


def _ask_late_ones_live(tx: Transaction) -> None:
    tx.batched.late_collected(PAGE)
    tx.batched.free_budgets()


class _Overtaken(Exception):
    """Somebody else has taken a question meanwhile."""


def _refuse(tx: Any, members: Sequence[MemberRow], status: BatchStatus) -> None:
    open_ones = tx.batched.open_among([member.id for member in members])
    kind = TroubleKind.REFUSED if status.code == TroubleKind.REFUSED else TroubleKind.REJECTED
    reason = status.refusal or say("batch_without_answer")
    tx.batched.settle([member.id for member in open_ones], MemberState.FAILED, str(kind), reason)
    tx.batched.wake([member.item for member in open_ones])
    tx.batched.free_budgets()


def _slowness(looks: int) -> float:
    return next((factor for most, factor in SLOWER if looks < most), SLOWEST)
