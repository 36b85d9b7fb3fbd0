"""Asks a question in the batch lane: the attempt ends, and a later attempt reads the outcome of the question.

A handler is called again from its start, so it must ask the same questions in the same order. If it asks something else
instead of a question that was answered, it fails: otherwise each attempt would pay for another batch.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from fanfold.errors import BadAnswer, Permanent, Temporary
from fanfold.model.money.batch import AUTO, BATCH, LANE, LIVE, AwaitBatch, MemberState
from fanfold.model.money.questions import NOT_TOLD, Answer
from fanfold.model.text.sentences import say
from fanfold.model.values import serial
from fanfold.providers.answer_checks import judge_again
from fanfold.providers.batches.batch_service import packed_request
from fanfold.providers.cached_answer import from_cache
from fanfold.providers.costs.call_budget import BudgetFull, BudgetSpent
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.question_asker import QuestionAsker
from fanfold.providers.services.service import Request, ServiceTrouble, TroubleKind
from fanfold.store.rows.money.answers import BAD_ANSWER, CACHED, OUTCOMES, Rejected
from fanfold.store.rows.money.batched_questions import MemberRow, NewMember

LOOK_AGAIN_SECONDS = 6 * 3_600.0
"""An item is woken when its question is answered. In case the wake-up is lost, it also checks this often."""
SHORTEST_BATCH_SECONDS = 3_600.0
"""The lane `auto` asks live when the deadline is nearer than this; most batches end within an hour."""
BUDGET_SECONDS = 60.0
"""How long a question waits before it checks again whether the budget has room."""
RESERVED_SECONDS = 26 * 3_600.0
"""Longest time that a batch may take. The reservations of its questions count as in flight for this long."""
INLINE_BYTES = 64_000
"""Longer requests, such as those with pictures, are stored in files until they are sent."""
PASSING = (TroubleKind.BUSY, TroubleKind.LATE, TroubleKind.LIMITED, TroubleKind.UNREACHABLE)
"""Trouble that may pass: the next batch may answer the same question."""
BY_PERSON = (TroubleKind.REFUSED,)
"""Trouble that a person has to fix; then the question is asked again."""


def goes_into_batch(inquiry: Inquiry) -> bool:
    """Whether this question goes into the batch lane: its lane and deadline allow it, and the provider has batches."""
    lane, wanted_by = inquiry.question.lane, inquiry.asking.wanted_by
    if lane not in (BATCH, AUTO) or not inquiry.provider.has_batches:
        return False
    left = None if wanted_by is None else (wanted_by - datetime.now(UTC)).total_seconds()
    return left is None or left > (SHORTEST_BATCH_SECONDS if lane == AUTO else 0)


async def batched_answer(here: QuestionAsker, inquiry: Inquiry, changes: dict[str, Any]) -> Answer | None:
    """The answer from a batch, or None if the question is to be asked live.

    AwaitBatch while there is no answer; BadAnswer and ServiceTrouble as for a live question.
    """
    key = inquiry.key(changes)
    inquiry.asking.asked.add(key)
    member, body, rejected, is_live = await asyncio.to_thread(_known, here, inquiry, key)
    if rejected is not None:
        text = judge_again(rejected.raw, rejected.code, inquiry.question.check)
        return Answer(text, inquiry.provider.name, inquiry.model, cached=True)
    if body is not None:
        kept = await _kept(here, inquiry, key, from_cache(body), member)
        if kept is not None:
            return kept
    if (member is None and is_live) or (member is not None and member.state is MemberState.LIVE):
        return None
    if member is not None and member.state is MemberState.FAILED and member.lease >= inquiry.asking.first_lease:
        await _fail(here, inquiry, member)
    if member is None or member.state in (MemberState.ANSWERED, MemberState.FAILED):
        full = await asyncio.to_thread(_register, here, inquiry, key, changes, member is not None)
        if full is not None:
            await _wait_for_budget(here, full)
    raise AwaitBatch(LOOK_AGAIN_SECONDS)


def _known(
    here: QuestionAsker, inquiry: Inquiry, key: str
) -> tuple[MemberRow | None, str | None, Rejected | None, bool]:
    """The question in the lane, its answer, its bad answer, and whether a person has switched the task to live meanwhile."""
    asking = inquiry.asking
    with here.store.read() as tx:
        body = tx.answers.get(key)
        member = tx.batched.of_question(asking.item, key)
        rejected = None
        if body is None:
            rejected = tx.calls.rejected(asking.item, asking.first_lease, key) or _rejected(member, asking.first_lease)
        options = tx.batched.options_now(asking.item) if member is None else None
    return member, body, rejected, (serial.load(options) or {}).get(LANE) == LIVE


def _rejected(member: MemberRow | None, first_lease: int) -> Rejected | None:
    """The bad answer that this question shares with other items: only one of them has it in the ledger."""
    if member is None or member.state is not MemberState.ANSWERED or member.lease < first_lease or not member.code:
        return None
    return Rejected(member.code, member.reason or "")


async def _kept(
    here: QuestionAsker, inquiry: Inquiry, key: str, answer: Answer, member: MemberRow | None
) -> Answer | None:
    """A cached answer, checked. If a batch brought it for this item, it does not count as reused from the cache.

    BadAnswer if the check rejects an answer that this item has asked for. None if it rejects an older one, or one of another
    task: then the question is asked.
    """
    is_own = member is not None and member.state is MemberState.ANSWERED
    check = inquiry.question.check
    try:
        text = answer.text if check is None else check(answer.text)
    except BadAnswer as bad:
        code = BAD_ANSWER if bad.code in OUTCOMES else bad.code
        is_new = member is not None and is_own and member.lease >= inquiry.asking.first_lease
        if await asyncio.to_thread(_reject, here, inquiry, key, code, answer.text) or is_new:
            raise
        return None
    if not is_own:
        await asyncio.to_thread(here.account, inquiry, key, CACHED, NOT_TOLD, 0.0)
    return replace(answer, text=text, cached=not is_own)


def _reject(here: QuestionAsker, inquiry: Inquiry, key: str, code: str, raw: str) -> bool:
    """Remove an answer from the cache, and note that it is bad; returns whether this item has paid for it.

    Other items that wait for the same answer get its text with the note, and judge it themselves without paying again.
    """
    asking = inquiry.asking
    with here.store.write() as tx:
        has_paid = tx.calls.reject(asking.item, asking.first_lease, key, code, raw)
        tx.batched.reject(key, code, raw)
        tx.answers.drop(key)
    return has_paid


async def _fail(here: QuestionAsker, inquiry: Inquiry, member: MemberRow) -> None:
    """Raise the trouble of a question in a batch. If it may pass or a person can fix it, the next attempt asks again."""
    known = {str(kind): kind for kind in TroubleKind}
    kind = known.get(member.code or "", TroubleKind.BUSY)
    trouble = ServiceTrouble(inquiry.provider, kind, member.reason or say("batch_without_answer"))
    if (trouble.kind in PASSING and inquiry.asking.retries_left > 0) or trouble.kind in BY_PERSON:
        await asyncio.to_thread(_forget, here, inquiry.asking.item, member.key)
    raise trouble


def _forget(here: QuestionAsker, item: int, key: str) -> None:
    with here.store.write() as tx:
        tx.batched.forget(item, key)


async def _wait_for_budget(here: QuestionAsker, full: BudgetFull) -> None:
    """Pause the task if its budget is spent. If batches or calls in flight may free part of it, try again later."""
    try:
        await here.budget.until_room(full.plan, full.scope, 0.0)
    except Temporary as problem:
        raise Temporary(problem.message, after=BUDGET_SECONDS, code=problem.code, counts=False) from None
    raise Temporary(say("budget_waits"), after=1.0, code=BudgetSpent.code, counts=False)


def _register(
    here: QuestionAsker, inquiry: Inquiry, key: str, changes: dict[str, Any], is_again: bool
) -> BudgetFull | None:
    """Put the question into the lane, and reserve its cost. Returns the budget that is full, if any.

    Permanent if the handler no longer asks what it asked before.
    """
    asking, question = inquiry.asking, inquiry.question
    parameters = inquiry.parameters(changes)
    request = Request(inquiry.model, question.prompt, question.images, question.system, parameters)
    text = packed_request(request)
    folded = asking.fold(f"question-{key[:16]}.json", text, INLINE_BYTES)
    plan, size = here.budget.plan(inquiry, parameters, BATCH), len(text.encode())
    provider, scopes = inquiry.provider.name, plan.rules.scopes
    new = NewMember(
        key, provider, inquiry.model, folded, size, plan.size.guessed, asking.wanted_by, plan.amount, scopes,
        inquiry.purpose,
    )  # fmt: skip
    try:
        _write(here, inquiry, new, is_again)
    except _Full as full:
        return BudgetFull(plan, full.scope)
    return None


def _write(here: QuestionAsker, inquiry: Inquiry, new: NewMember, is_again: bool) -> None:
    asking = inquiry.asking
    with here.store.write() as tx:
        skipped = tx.batched.answered_keys(asking.item, asking.first_lease) - asking.asked
        # An answer may have left the cache since an earlier attempt: then the same question is asked again.
        if skipped and not tx.calls.has_asked(asking.item, asking.first_lease, new.key):
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
