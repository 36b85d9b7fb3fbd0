"""Ends a batch that a worker holds: gives back or refuses its questions, and closes it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

from fanfold.model.lifecycle import sources
from fanfold.model.money.batch import BATCH_MOVES, MemberState
from fanfold.model.money.questions import NOT_TOLD
from fanfold.model.text.sentences import say
from fanfold.providers.batches.batch_service import BatchStatus, BatchTaken
from fanfold.providers.batches.charge import PaidAnswer
from fanfold.providers.configuration import Provider
from fanfold.providers.services.service import TroubleKind
from fanfold.store.rows.money.answers import NO_ANSWER
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.batches import BatchRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")
PAGE = 200
"""Number of questions that are read or settled in one transaction."""


class BatchEnd:
    """The last steps of one batch; each raises BatchTaken if another worker has taken the batch over."""

    def __init__(self, store: Store, worker: str, batch: BatchRow) -> None:
        self.store = store
        self.worker = worker
        self.batch = batch

    def give_back(self, verb: str) -> None:
        """Take the questions without a result out of the batch, before the move ``verb`` closes it."""
        while self.store.transact(partial(self._give_back, verb)):
            pass

    def give_up(self, provider: Provider) -> None:
        """Take the questions out of a batch that the service has lost. They may have been charged."""
        while self.store.transact(partial(self._give_back, "end", lost_at=provider)):
            pass

    def _give_back(self, verb: str, tx: Transaction, lost_at: Provider | None = None) -> int:
        if lost_at is not None:
            lost = [PaidAnswer(one, NOT_TOLD) for one in tx.batched.sent_in(self.batch.id, PAGE)]
            tx.calls.add([answer.row(lost_at, NO_ANSWER) for answer in lost])
        live, looked_at = tx.batched.give_back(self.batch.id, PAGE)
        tx.batched.wake(live)
        self._check_hold(tx, verb)
        tx.batched.free_budgets(lost=lost_at is not None)
        return looked_at

    def refuse(self, members: Sequence[MemberRow], status: BatchStatus) -> None:
        """Let questions fail with the service's reason."""
        self.store.transact(partial(self._refuse, members, status))

    def _refuse(self, members: Sequence[MemberRow], status: BatchStatus, tx: Transaction) -> None:
        open_ones = tx.batched.open_among([member.id for member in members])
        kind = TroubleKind.REFUSED if status.code == TroubleKind.REFUSED else TroubleKind.REJECTED
        reason = status.refusal or say("batch_without_answer")
        tx.batched.settle([member.id for member in open_ones], MemberState.FAILED, str(kind), reason)
        tx.batched.wake([member.item for member in open_ones])
        self._check_hold(tx, "refuse")
        tx.batched.free_budgets()

    def _check_hold(self, tx: Transaction, verb: str) -> None:
        """BatchTaken, which rolls back, if this worker no longer holds the batch for a move. After the items are locked.

        Otherwise a worker that was frozen could give back or refuse questions that another one has sent meanwhile.
        """
        if not tx.batches.change(self.batch.id, self.worker, free=False, from_states=sources(BATCH_MOVES, verb)):
            raise BatchTaken

    def note_read(self) -> None:
        """Record that no result is needed any more: what the service stores may be deleted."""
        if not self.store.transact(lambda tx: tx.batches.note_read(self.batch.id, self.worker)):
            raise BatchTaken

    def close(self, verb: str, **values: Any) -> None:
        """Make the batch's last move."""
        self.store.transact(lambda tx: tx.batches.move(self.batch.id, self.worker, verb, **values))
        said = values.get("reason") or "all its questions have their outcome"
        log.info("[%s] Batch is over: %s", self.batch.name, said)
