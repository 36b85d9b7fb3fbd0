"""Asks one question of a large batch live first: a mistake in the request would otherwise cause thousands of refusals."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fanfold.errors import BadAnswer
from fanfold.model.money.batch import BATCH, LIVE, UNREGISTERED, MemberState
from fanfold.model.money.questions import NOT_TOLD, Answer
from fanfold.providers.answer_checks import judge
from fanfold.providers.batches.batch_service import ProviderConnection, unpacked_request
from fanfold.providers.batches.charge import PaidAnswer, charge
from fanfold.providers.cached_answer import for_cache
from fanfold.providers.configuration import Provider
from fanfold.providers.costs.call_budget import give_back
from fanfold.providers.costs.ledger_rows import storable
from fanfold.providers.costs.prices import lane_share
from fanfold.providers.services.service import ServiceTrouble, TroubleKind
from fanfold.store.rows.money.answers import ASKED, BAD_ANSWER, NO_ANSWER, OUTCOMES, TAKEN
from fanfold.store.rows.money.batched_questions import MemberRow
from fanfold.store.rows.money.batches import AT_ONCE
from fanfold.store.store import Store, Transaction

log = logging.getLogger("fanfold.batches")


async def passes_trial(
    store: Store, connection: ProviderConnection, provider: Provider, members: Sequence[MemberRow], worker: str
) -> bool:
    """Whether the batch may be sent now: it is small, or its model has accepted a question of each of its tasks.

    Otherwise one question is asked live, and the result is False: the next round makes the batch without that question. A bad
    answer is an answer: what is tried is whether the service accepts the request. If no answer comes, the question is repeated
    only where the service knows idempotency keys; elsewhere each repetition might be paid for.
    """
    if not store.settings.batch_trial or len(members) < store.settings.batch_trial:
        return True
    with store.read() as tx:
        tasks, is_repeatable = {member.task for member in members}, bool(provider.idempotency_header)
        if tx.batches.has_tried(provider.name, members[0].model, tasks, unanswered=not is_repeatable):
            return True
        found = tx.batched.with_request(members[0].id)
        is_known = tx.answers.get(members[0].key) is not None
    if is_known or found is None or found.request is None:
        return is_known
    asked = PaidAnswer(found, NOT_TOLD, LIVE)
    call = store.transact(lambda tx: _begin(tx, asked, provider, worker, store.settings.lease_seconds))
    if call is None:
        return False
    try:
        request = unpacked_request(store.unfold(found.request))
        headers = {provider.idempotency_header: found.key} if provider.idempotency_header else {}
        reply = await connection.live.call(replace(request, headers=headers))
    except ServiceTrouble as problem:
        trouble = problem
        noted = asked.row(provider, NO_ANSWER) | _held(found, provider)
        store.transact(lambda tx: _failed(tx, call, noted, members, trouble, worker))
        return False
    try:
        outcome, text = TAKEN, judge(reply)
    except BadAnswer as bad:
        outcome, text = BAD_ANSWER if bad.code in OUTCOMES else bad.code, ""

    def keep(tx: Transaction) -> None:
        waiting = tx.batched.open_among([found.id])
        answer = PaidAnswer(found, reply.usage, LIVE)
        code, raw = (None, None) if outcome == TAKEN else (outcome, storable(reply.text))
        if tx.calls.settle(call, answer.row(provider, outcome, raw)) and outcome == TAKEN:
            tx.answers.keep(found.key, for_cache(Answer(text, provider.name, found.model)))
        else:
            tx.answers.give_up(found.key, worker)
        # The service treated calls with one key as one call.
        lost = tx.calls.withdraw_repeated(call, found.item, found.key) if provider.idempotency_header else []
        tx.batched.settle([member.id for member in waiting], MemberState.ANSWERED, code, raw)
        tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()
        give_back(tx, lost)
        charge(tx, provider, [answer])

    store.transact(keep)
    return False


def _held(member: MemberRow, provider: Provider) -> dict[str, Any]:
    """What a trial without an answer may have cost: it stays in the budgets beside what the question reserves for its batch."""
    live_price = (member.reserved or 0) / (lane_share(provider, BATCH) or 1.0)
    return {"reserved": round(live_price), "scopes": member.scopes} if member.scopes else {}


def _begin(tx: Transaction, asked: PaidAnswer, provider: Provider, worker: str, lease_seconds: float) -> int | None:
    """Record the call; None if another worker asks this question now, or its item is gone."""
    member = asked.member
    if not tx.answers.begin(member.key, worker, provider.timeout + 30, member.item, lease_seconds):
        return None
    if not worker.startswith(UNREGISTERED):
        tx.answers.hold(member.key, worker)
    return tx.calls.begin(asked.row(provider, ASKED))


def _failed(
    tx: Transaction,
    call: int,
    row: dict[str, Any],
    members: Sequence[MemberRow],
    trouble: ServiceTrouble,
    worker: str,
) -> None:
    """If the service refuses the request, it would refuse them all, so all fail with this reason. Other trouble may pass."""
    tx.answers.give_up(members[0].key, worker)
    if trouble.unknown:
        tx.calls.settle(call, row)
        tx.budgets.settle(json.loads(row.get("scopes") or "[]"), 0, 0, unknown=row.get("reserved") or 0)
    else:
        tx.calls.withdraw(call)
    log.warning("A question was tried before its batch is sent: %s", trouble.message)
    if trouble.kind in (TroubleKind.REFUSED, TroubleKind.REJECTED):
        for start in range(0, len(members), AT_ONCE):
            waiting = tx.batched.open_among([member.id for member in members[start : start + AT_ONCE]])
            tx.batched.settle([member.id for member in waiting], MemberState.FAILED, str(trouble.kind), trouble.message)
            tx.batched.wake([member.item for member in waiting])
        tx.batched.free_budgets()
