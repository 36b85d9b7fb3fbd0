"""Tries one question of a large batch live first: a mistake in the request would otherwise cost thousands of refusals."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from fanfold.errors import BadAnswer
from fanfold.model.batch import MemberState
from fanfold.model.values.money import parts_of
from fanfold.model.values.questions import NOT_TOLD, Answer, Usage
from fanfold.model.values.usage import ledger
from fanfold.providers.answer_checks import judge
from fanfold.providers.batches.batch_service import Connection, unpacked_request
from fanfold.providers.configuration import Provider
from fanfold.providers.desk import packed
from fanfold.providers.services import ServiceTrouble, TroubleKind
from fanfold.store.rows.answers import ASKED, BAD_ANSWER, NO_ANSWER, OUTCOMES, TAKEN
from fanfold.store.rows.batched_questions import MemberRow
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")


async def passes_trial(store: Store, connection: Connection, provider: Provider, members: Sequence[MemberRow]) -> bool:
    """Whether the batch may be sent: it is small, its model has answered for one of its tasks, or answers one question now.

    False once the question was asked: the batch is made without it in the next round.
    """
    if not store.settings.batch_trial or len(members) < store.settings.batch_trial:
        return True
    with store.read() as tx:
        if tx.batches.has_answered(provider.name, members[0].model, {member.task for member in members}):
            return True
        found = tx.batched.with_request(members[0].id)
    if found is None or found.request is None:
        return False
    call = store.transact(lambda tx: tx.calls.begin(_row(provider, found, ASKED, NOT_TOLD)))
    if call is None:
        return False
    try:
        reply = await connection.live.call(unpacked_request(store.unfold(found.request)))
    except ServiceTrouble as problem:
        trouble = problem
        store.transact(lambda tx: _failed(tx, call, provider, members, trouble))
        return False
    try:
        outcome, text = TAKEN, judge(reply)
    except BadAnswer as bad:
        outcome, text = BAD_ANSWER if bad.code in OUTCOMES else bad.code, ""

    def keep(tx: Transaction) -> None:
        waiting = tx.batched.open_among([found.id])
        raw = None if outcome == TAKEN else reply.text
        if tx.calls.settle(call, {**_row(provider, found, outcome, reply.usage), "raw": raw}) and outcome == TAKEN:
            tx.answers.keep(found.key, packed(Answer(text, provider.name, found.model)))
        tx.batched.settle([member.id for member in waiting], MemberState.ANSWERED)
        tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()
        charge(tx, found, reply.usage)

    store.transact(keep)
    return False


def _failed(
    tx: Transaction, call: int, provider: Provider, members: Sequence[MemberRow], trouble: ServiceTrouble
) -> None:
    """A request that is refused would be refused a thousand times: all of them fail with its reason. Other trouble passes."""
    first = members[0]
    if trouble.unknown:
        tx.calls.settle(call, _row(provider, first, NO_ANSWER, NOT_TOLD))
    else:
        tx.calls.withdraw(call)
    log.warning("A question was tried before its batch is sent: %s", trouble.message)
    if trouble.kind in (TroubleKind.REFUSED, TroubleKind.REJECTED):
        waiting = tx.batched.open_among([member.id for member in members])
        tx.batched.settle([member.id for member in waiting], MemberState.FAILED, str(trouble.kind), trouble.message)
        tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()


def charge(tx: Transaction, member: MemberRow, usage: Usage) -> None:
    """Count what an answer has cost in the budgets that its question reserved in; the last of its transaction."""
    if member.scopes:
        unpriced = int(usage.cost is None)
        tx.budgets.settle(json.loads(member.scopes), 0, parts_of(usage.cost or 0.0), unpriced=unpriced)


def _row(provider: Provider, member: MemberRow, outcome: str, usage: Usage) -> dict[str, Any]:
    return {
        "item": member.item,
        "lease": member.lease,
        "provider": provider.name,
        "model": member.model,
        "outcome": outcome,
        "seconds": 0.0,
        "answer": None if outcome in (ASKED, NO_ANSWER) else member.key,
        **ledger(asdict(usage)),
    }
