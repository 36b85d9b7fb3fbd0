"""Asks a question for a handler: cached answers first, then the chain of models; each answer is checked and cached."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import replace
from typing import Any

from fanfold.errors import BadAnswer, BadInput, NoAnswer, PauseTask, Permanent, Temporary
from fanfold.model.money.questions import Answer, Asking, Question
from fanfold.model.text.sentences import say
from fanfold.providers.batches.question_lane import batched_answer, goes_into_batch
from fanfold.providers.configuration import Provider, unknown_model, unknown_provider
from fanfold.providers.costs.estimating import UNKNOWN, estimate, extrapolated
from fanfold.providers.inquiry import Inquiry
from fanfold.providers.question_asker import QuestionAsker, asker_here
from fanfold.providers.rate_limit import LONGEST_WAIT, RateLimit
from fanfold.providers.services.service import Request, ServiceReply, ServiceTrouble, TroubleKind, connect, objection
from fanfold.store.rows.money.answers import AGAIN as ASKED_AGAIN
from fanfold.store.rows.money.answers import FALLBACK, RETRY
from fanfold.store.store import Store

__all__ = [
    "UNKNOWN", "ask", "carry_batches", "estimate", "extrapolated", "try_once", "unknown_model", "unknown_provider",
]  # fmt: skip
log = logging.getLogger("fanfold.providers")
AGAIN: dict[str, dict[str, Any]] = {
    "cut_off": {"max_tokens": 32_000},
    "repetition": {"temperature": 0.5, "frequency_penalty": 0.3},
}
"""Parameters to change after a bad answer, by its code."""
OTHERWISE = {"temperature": 0.4}
"""Parameters to change after any other bad answer: some randomness gives a different one."""
SPREAD_SECONDS = 1.0
"""Items that wait for the same rate limit come back spread over this time."""


async def ask(store: Store, asking: Asking, question: Question) -> Answer:
    """An answer to the question, from the first model of its chain that gives a good one.

    Bad answers of earlier attempts at the item are not paid for again: this attempt continues after them.
    """
    try:
        here = await asker_here(store)
    except BadInput as problem:
        raise PauseTask(say("then_resume", why=problem.message)) from None
    tried: list[str] = []
    code: str | None = None
    for entry in question.models:
        provider, model = _chosen(entry, here)
        rate_limit = here.rate_limit(provider, model)
        inquiry = Inquiry(asking, question, provider, model, _purpose(asking, is_first=entry == question.models[0]))
        try:
            answer = await _asked_twice(here, rate_limit, inquiry, tried)
            first = _source(question.models[0], here)
            fallback = answer.source not in (first, _source(question.chosen, here))
            return replace(answer, tried=tuple(tried), fallback=fallback, asked=first)
        except BadAnswer as bad:
            code = bad.code
        except ServiceTrouble as trouble:
            _react(trouble, rate_limit, inquiry, is_last=entry == question.models[-1])
            tried.append(trouble.message)
            code = str(trouble.kind)
        log.info("[%s] %s gave no acceptable answer: %s", asking.task_id, provider.name, tried[-1])
    reasons = say("no_answer", reasons=list(dict.fromkeys(tried)))
    raise NoAnswer(reasons, code=code if len(question.models) == 1 else None, reasons=tuple(tried))


def _purpose(asking: Asking, *, is_first: bool) -> str | None:
    """Why a question is asked again; None the first time."""
    if not is_first:
        return FALLBACK
    return RETRY if asking.failures else None


def _source(entry: str, here: QuestionAsker) -> str:
    """`provider:model` of a chain entry; empty if there is none."""
    try:
        provider, model = here.choose(entry)
    except BadInput:
        return ""
    return f"{provider.name}:{model}"


def _chosen(entry: str, here: QuestionAsker) -> tuple[Provider, str]:
    try:
        provider, model = here.choose(entry)
    except BadInput as problem:
        raise PauseTask(say("put_right", why=problem.message)) from None
    if reason := objection(provider):
        raise PauseTask(say("then_resume", why=reason))
    return provider, model


async def _asked_twice(here: QuestionAsker, rate_limit: RateLimit, inquiry: Inquiry, tried: list[str]) -> Answer:
    """The answer to the question; if it is bad, the answer to the same question with changed parameters."""
    changes: dict[str, Any] = {}
    for last in (False, True):
        try:
            if goes_into_batch(inquiry) and (found := await _batched(here, rate_limit, inquiry, changes)) is not None:
                return found
            return await here.answer(rate_limit, inquiry, changes)
        except BadAnswer as bad:
            model = f"{inquiry.provider.name}:{inquiry.model}"
            tried.append(say("answer_not_taken", model=model, why=bad.message))
            if last:
                raise
            changes = AGAIN.get(bad.code, OTHERWISE)
            inquiry = replace(inquiry, purpose=inquiry.purpose or ASKED_AGAIN)
    raise AssertionError("the second time ends in an answer or an error")


async def _batched(
    here: QuestionAsker, rate_limit: RateLimit, inquiry: Inquiry, changes: dict[str, Any]
) -> Answer | None:
    """The answer from a batch, or None if the question is to be asked live. Refusals count like those of live questions."""
    try:
        return await batched_answer(here, inquiry, changes)
    except ServiceTrouble as trouble:
        if trouble.kind is TroubleKind.REFUSED:
            rate_limit.refused(inquiry.asking.task_id, inquiry.model)
        raise


def _react(trouble: ServiceTrouble, rate_limit: RateLimit, inquiry: Inquiry, *, is_last: bool) -> None:
    """Raise what the trouble calls for: an uncounted wait, a pause, or a retry. Otherwise the next model is asked."""
    spread = random.uniform(0, SPREAD_SECONDS)
    asking = inquiry.asking
    if trouble.kind is TroubleKind.LIMITED and (trouble.after or 0) > LONGEST_WAIT and not trouble.is_own:
        raise PauseTask(say("left_alone", why=trouble.message, minutes=(trouble.after or 0) / 60))
    used_up = trouble.kind is TroubleKind.QUOTA and is_last
    if used_up or trouble.kind in (TroubleKind.LIMITED, TroubleKind.UNREACHABLE):
        wait = max(trouble.after or 0.0, rate_limit.closed_seconds()) + spread
        name = inquiry.provider.name
        raise Temporary(trouble.message, after=wait, code=trouble.kind, counts=False, by=name)
    if trouble.kind is TroubleKind.REFUSED and not rate_limit.is_refused_alone(asking.item):
        if rate_limit.is_refused(asking.task_id, inquiry.model):
            raise PauseTask(say("put_right", why=trouble.message))
        raise Temporary(trouble.message, after=1 + spread, code=trouble.kind, counts=False)
    if trouble.kind in (TroubleKind.BUSY, TroubleKind.LATE) and asking.retries_left > 0:
        raise Temporary(trouble.message, after=trouble.after, code=trouble.kind)


def carry_batches(store: Store, worker: str) -> None:
    """Send, poll and fetch the batches that are due now. Blocks, so it needs its own thread."""
    from fanfold.providers.batches.batch_round import run_round

    asyncio.run(run_round(store, worker))


async def try_once(provider: Provider, model: str, prompt: str) -> ServiceReply:
    """Make one call outside of any task, for `fanfold providers test`; Permanent says what is wrong."""
    service = connect(provider)
    try:
        return await service.call(Request(model, prompt))
    except ServiceTrouble as trouble:
        raise Permanent(trouble.message, code=trouble.kind) from None
    finally:
        await service.close()
