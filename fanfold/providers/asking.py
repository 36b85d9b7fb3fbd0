"""What happens when a handler asks? Kept answers first; then the chain of models, each answer judged, kept and accounted for."""

from __future__ import annotations

import logging
import random
from dataclasses import replace
from typing import Any

from fanfold.errors import BadAnswer, BadInput, NoAnswer, PauseTask, Permanent, Temporary
from fanfold.model.asking import Answer, Question
from fanfold.model.item import Claimed
from fanfold.providers.configuration import Provider, choose
from fanfold.providers.desk import Desk, Inquiry, desk
from fanfold.providers.lanes import Lane
from fanfold.providers.services import Kind, Trouble, objection
from fanfold.store.store import Store

log = logging.getLogger("fanfold.providers")
AGAIN: dict[str, dict[str, Any]] = {
    "cut_off": {"max_tokens": 32_000},
    "repetition": {"temperature": 0.5, "frequency_penalty": 0.3},
}
"""What is changed after a bad answer, by what was bad about it; otherwise a little chance."""
OTHERWISE = {"temperature": 0.4}


async def ask(store: Store, claimed: Claimed, task: str, question: Question, retries_left: int) -> Answer:
    """An answer to the question, from the first model of its chain that gives a good one."""
    here = await desk(store)
    tried: list[str] = []
    code = None
    for entry in question.models:
        provider, model = _chosen(entry, here)
        lane = here.lane(provider)
        inquiry = Inquiry(claimed, task, question, provider, model)
        try:
            answer = await _asked_twice(here, lane, inquiry, tried)
            return replace(answer, tried=tuple(tried), fallback=entry != question.models[0])
        except BadAnswer as bad:
            code = bad.code
        except Trouble as trouble:
            _heed(trouble, lane, task, retries_left)
            tried.append(trouble.message)
            code = str(trouble.kind)
        log.info("[%s] %s gave no answer that can be taken: %s", task, provider.name, tried[-1])
    raise NoAnswer("; ".join(tried), code=code if len(question.models) == 1 else None, reasons=tuple(tried))


def _chosen(entry: str, here: Desk) -> tuple[Provider, str]:
    try:
        provider, model = choose(entry, here.providers)
    except BadInput as problem:
        raise PauseTask(str(problem)) from None
    if reason := objection(provider):
        raise PauseTask(f"{reason} Then resume.")
    return provider, model


async def _asked_twice(here: Desk, lane: Lane, inquiry: Inquiry, tried: list[str]) -> Answer:
    """The answer to the question as it is or, when that one is bad, to the question with changed parameters."""
    changes: dict[str, Any] = {}
    for last in (False, True):
        try:
            return await here.answer(lane, inquiry, changes)
        except BadAnswer as bad:
            tried.append(f"The answer of {inquiry.provider.name}:{inquiry.model} can not be taken: {bad}.")
            if last:
                raise
            changes = AGAIN.get(bad.code, OTHERWISE)
    raise AssertionError("the second time ends in an answer or an error")


def _heed(trouble: Trouble, lane: Lane, task: str, retries_left: int) -> None:
    """What trouble means for the item: wait without counting, pause the task, try again; or go on to the next model."""
    spread = random.uniform(0, 1)
    if trouble.kind is Kind.LIMITED:
        raise Temporary(trouble.message, after=(trouble.after or 1.0) + spread, code=trouble.kind, counts=False)
    if trouble.kind is Kind.REFUSED:
        if lane.refused(task):
            raise PauseTask(f"{trouble.message} Put that right, then resume.")
        raise Temporary(trouble.message, after=1 + spread, code=trouble.kind, counts=False)
    if trouble.kind is Kind.UNREACHABLE:
        if lane.unreachable():
            raise PauseTask(f"{trouble.message} Start it, or mend the connection, then resume.")
        raise Temporary(trouble.message, after=2 + spread, code=trouble.kind, counts=False)
    if trouble.kind in (Kind.BUSY, Kind.LATE) and retries_left > 0:
        raise Temporary(trouble.message, after=trouble.after, code=trouble.kind)


async def try_once(provider: Provider, model: str, prompt: str) -> Any:
    """One call outside of any task, for `fanfold providers test`; Permanent says what is wrong."""
    from fanfold.providers.services import Request, connect

    service = connect(provider)
    try:
        return await service.call(Request(model, prompt))
    except Trouble as trouble:
        raise Permanent(trouble.message, code=trouble.kind) from None
    finally:
        await service.close()
