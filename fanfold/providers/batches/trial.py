"""Asks one question of a large batch live first: a mistake in the request would otherwise cause thousands of refusals."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fanfold.errors import BadAnswer
from fanfold.model.money.batch import LIVE, MemberState
from fanfold.model.money.questions import NOT_TOLD, Answer
from fanfold.providers.answer_checks import judge
from fanfold.providers.batches.batch_service import Connection, unpacked_request
from fanfold.providers.batches.charge import PaidAnswer, charge
from fanfold.providers.configuration import Provider
from fanfold.providers.desk import packed
from fanfold.providers.services.service import ServiceTrouble, TroubleKind
from fanfold.store.rows.money.answers import ASKED, BAD_ANSWER, NO_ANSWER, OUTCOMES, TAKEN
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.batches import AT_ONCE
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")


async def passes_trial(store: Store, connection: Connection, provider: Provider, members: Sequence[MemberRow]) -> bool:
    """Whether the batch may be sent now: it is small, or its model has already answered a question of each of its tasks.

    Otherwise one question is asked live, and the result is False: the next round makes the batch without that question.
    """
    if not store.settings.batch_trial or len(members) < store.settings.batch_trial:
        return True
    with store.read() as tx:
        if tx.batches.has_answered(provider.name, members[0].model, {member.task for member in members}):
            return True
        found = tx.batched.with_request(members[0].id)
    if found is None or found.request is None:
        return False
    asked = PaidAnswer(found, NOT_TOLD, LIVE)
    call = store.transact(lambda tx: tx.calls.begin(asked.row(provider, ASKED)))
    if call is None:
        return False
    try:
        request = unpacked_request(store.unfold(found.request))
        headers = {provider.idempotency_header: found.key} if provider.idempotency_header else {}
        reply = await connection.live.call(replace(request, headers=headers))
    except ServiceTrouble as problem:
        trouble = problem
        store.transact(lambda tx: _failed(tx, call, asked.row(provider, NO_ANSWER), members, trouble))
        return False
    try:
        outcome, text = TAKEN, judge(reply)
    except BadAnswer as bad:
        outcome, text = BAD_ANSWER if bad.code in OUTCOMES else bad.code, ""

    def keep(tx: Transaction) -> None:
        waiting = tx.batched.open_among([found.id])
        answer = PaidAnswer(found, reply.usage, LIVE)
        raw = None if outcome == TAKEN else reply.text
        if tx.calls.settle(call, answer.row(provider, outcome, raw)) and outcome == TAKEN:
            tx.answers.keep(found.key, packed(Answer(text, provider.name, found.model)))
        if provider.idempotency_header:
            tx.calls.withdraw_repeated(call, found.item, found.key)  # The service treated them as one call.
        tx.batched.settle([member.id for member in waiting], MemberState.ANSWERED)
        tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()
        charge(tx, provider, [answer])

    store.transact(keep)
    return False


def _failed(
    tx: Transaction, call: int, row: dict[str, Any], members: Sequence[MemberRow], trouble: ServiceTrouble
) -> None:
    """If the service refuses the request, it would refuse them all, so all fail with this reason. Other trouble may pass."""
    if trouble.unknown:
        tx.calls.settle(call, row)
    else:
        tx.calls.withdraw(call)
    log.warning("A question was tried before its batch is sent: %s", trouble.message)
    if trouble.kind in (TroubleKind.REFUSED, TroubleKind.REJECTED):
        for start in range(0, len(members), AT_ONCE):
            waiting = tx.batched.open_among([member.id for member in members[start : start + AT_ONCE]])
            tx.batched.settle([member.id for member in waiting], MemberState.FAILED, str(trouble.kind), trouble.message)
            tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()
