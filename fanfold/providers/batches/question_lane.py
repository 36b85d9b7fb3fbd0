"""Asks a question in the batch lane: the attempt ends, and a later attempt finds what became of the question.

A handler is called again from its start, so it must ask the same questions in the same order. One that asks something else
instead of a question that was answered fails: otherwise each attempt would pay for another batch.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fanfold.errors import BadAnswer, Permanent, Temporary
from fanfold.model.batch import AUTO, BATCH, LANE, LIVE, AwaitBatch, MemberState
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.model.values.questions import NOT_TOLD, Answer
from fanfold.model.values.tokens import TOKENS_PER_IMAGE, guessed_tokens
from fanfold.providers.answer_checks import judge_again
from fanfold.providers.batches.batch_service import packed_request
from fanfold.providers.call_budget import BudgetFull, BudgetSpent
from fanfold.providers.desk import Desk, unpacked
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.services import Request, ServiceTrouble, TroubleKind
from fanfold.store.rows.answers import BAD_ANSWER, CACHED, OUTCOMES, Rejected
from fanfold.store.rows.batched_questions import MemberRow, NewMember

LOOK_AGAIN_SECONDS = 6 * 3_600.0
"""An item is woken when its question is answered. In case that is missed, it looks by itself this often."""
SHORTEST_BATCH_SECONDS = 3_600.0
"""The lane `auto` asks live when the deadline is nearer than this; most batches end within an hour."""
BUDGET_SECONDS = 300.0
"""How long a question waits before it looks again whether the budget has room."""
RESERVED_SECONDS = 26 * 3_600.0
"""How long a batch may take at the most, and with it what its questions reserve."""
INLINE_BYTES = 64_000
"""Longer requests, such as pictures, are kept in files until they are sent."""
PASSING = (TroubleKind.BUSY, TroubleKind.LATE, TroubleKind.LIMITED, TroubleKind.UNREACHABLE)
"""Troubles after which the same question may well be answered in the next batch."""
BY_PERSON = (TroubleKind.REFUSED,)
"""Troubles that a person puts right; then the question is asked again."""


def goes_into_batch(inquiry: Inquiry) -> bool:
    """Whether this question is for the batch lane: it is wanted there, and the provider has batches."""
    lane, wanted_by = inquiry.question.lane, inquiry.asking.wanted_by
    if lane not in (BATCH, AUTO) or not inquiry.provider.has_batches:
        return False
    left = None if wanted_by is None else (wanted_by - datetime.now(UTC)).total_seconds()
    return left is None or left > (SHORTEST_BATCH_SECONDS if lane == AUTO else 0)


async def batched_answer(here: Desk, inquiry: Inquiry, changes: dict[str, Any]) -> Answer | None:
    """The answer from a batch, or None when the question is to be asked live.

    AwaitBatch while there is none; BadAnswer and ServiceTrouble as for a question that is asked live.
    """
    key = inquiry.key(changes)
    inquiry.asking.asked.add(key)
    member, body, rejected, is_live = await asyncio.to_thread(_known, here, inquiry, key)
    if rejected is not None:
        text = judge_again(rejected.raw, rejected.code, inquiry.question.check)
        return Answer(text, inquiry.provider.name, inquiry.model, cached=True)
    if body is not None:
        return await _kept(here, inquiry, key, unpacked(body), member)
    if (member is None and is_live) or (member is not None and member.state is MemberState.LIVE):
        return None
    if member is not None and member.state is MemberState.FAILED and member.lease >= inquiry.asking.first_lease:
        await _fail(here, inquiry, member)
    if member is None or member.state in (MemberState.ANSWERED, MemberState.FAILED):
        full = await asyncio.to_thread(_register, here, inquiry, key, changes, member is not None)
        if full is not None:
            await _wait_for_budget(here, full)
    raise AwaitBatch(LOOK_AGAIN_SECONDS)


def _known(here: Desk, inquiry: Inquiry, key: str) -> tuple[MemberRow | None, str | None, Rejected | None, bool]:
    """The question in the lane, its answer, its bad answer, and whether a person has switched the task to live meanwhile."""
    asking = inquiry.asking
    with here.store.read() as tx:
        body = tx.answers.get(key)
        rejected = None if body is not None else tx.calls.rejected(asking.item, asking.first_lease, key)
        member = tx.batched.of_question(asking.item, key)
        options = tx.batched.options_now(asking.item) if member is None else None
    return member, body, rejected, (serial.load(options) or {}).get(LANE) == LIVE


async def _kept(here: Desk, inquiry: Inquiry, key: str, answer: Answer, member: MemberRow | None) -> Answer:
    """An answer of the cache, checked; one that a batch of this item has brought is no second use of it."""
    is_own = member is not None and member.state is MemberState.ANSWERED
    check = inquiry.question.check
    try:
        text = answer.text if check is None else check(answer.text)
    except BadAnswer as bad:
        code = BAD_ANSWER if bad.code in OUTCOMES else bad.code
        await asyncio.to_thread(_reject, here, inquiry, key, code, answer.text)
        raise
    if not is_own:
        await asyncio.to_thread(here.account, inquiry, key, CACHED, NOT_TOLD, 0.0)
    return replace(answer, text=text, cached=not is_own)


def _reject(here: Desk, inquiry: Inquiry, key: str, code: str, raw: str) -> None:
    with here.store.write() as tx:
        tx.calls.reject(inquiry.asking.item, key, code, raw)
        tx.answers.drop(key)


async def _fail(here: Desk, inquiry: Inquiry, member: MemberRow) -> None:
    """Raise the trouble that a question met in a batch. After one that may pass, the next attempt asks again."""
    known = {str(kind): kind for kind in TroubleKind}
    kind = known.get(member.code or "", TroubleKind.BUSY)
    trouble = ServiceTrouble(inquiry.provider, kind, member.reason or say("batch_without_answer"))
    if (trouble.kind in PASSING and inquiry.asking.retries_left > 0) or trouble.kind in BY_PERSON:
        await asyncio.to_thread(_forget, here, inquiry.asking.item, member.key)
    raise trouble


def _forget(here: Desk, item: int, key: str) -> None:
    with here.store.write() as tx:
        tx.batched.forget(item, key)


async def _wait_for_budget(here: Desk, full: BudgetFull) -> None:
    """Pause the task when its budget is spent; look again in a while when batches or calls under way may leave some of it."""
    try:
        await here.budget.until_room(full.plan, full.scope, 0.0)
    except Temporary as problem:
        raise Temporary(problem.message, after=BUDGET_SECONDS, code=problem.code, counts=False) from None
    raise Temporary(say("budget_waits"), after=1.0, code=BudgetSpent.code, counts=False)


def _register(here: Desk, inquiry: Inquiry, key: str, changes: dict[str, Any], is_again: bool) -> BudgetFull | None:
    """Put the question into the lane, with its cost reserved; the budget that is full, if one is.

    Permanent when the handler no longer asks what it asked before.
    """
    asking, question = inquiry.asking, inquiry.question
    parameters = inquiry.parameters(changes)
    request = Request(inquiry.model, question.prompt, question.images, question.system, parameters)
    text = packed_request(request)
    tokens = guessed_tokens(question.prompt, question.system) + len(question.images) * TOKENS_PER_IMAGE
    folded = asking.fold(f"question-{key[:16]}.json", text, INLINE_BYTES)
    plan = here.budget.plan(inquiry, parameters)
    reserved, size = int(plan.amount * inquiry.provider.batch_price), len(text.encode())
    provider, scopes = inquiry.provider.name, plan.rules.scopes
    new = NewMember(key, provider, inquiry.model, folded, size, tokens, asking.wanted_by, reserved, scopes)
    try:
        _write(here, inquiry, new, is_again)
    except _Full as full:
        return BudgetFull(plan, full.scope)
    return None


def _write(here: Desk, inquiry: Inquiry, new: NewMember, is_again: bool) -> None:
    asking = inquiry.asking
    with here.store.write() as tx:
        if tx.batched.answered_keys(asking.item, asking.first_lease) - asking.asked:
            raise Permanent(say("batch_question_changed"), code="question_changed")
        if is_again:
            tx.batched.forget(asking.item, new.key)
        if not tx.batched.register(asking.item, asking.lease, new):
            return
        full = tx.budgets.reserve(new.scopes, new.reserved, RESERVED_SECONDS)
        if full is not None:
            raise _Full(full)


class _Full(Exception):
    """A budget has no room; the transaction is rolled back."""

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope
