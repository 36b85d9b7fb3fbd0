"""Asks several questions at the same time on behalf of one attempt, and lets every answer arrive before it reports an error."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fanfold.errors import BadInput, NotAsked, PauseTask
from fanfold.model.text.sentences import say

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work


async def ask_many(
    work: Work, questions: Iterable[str | Mapping[str, Any]], shared: Mapping[str, Any], *, return_exceptions: bool
) -> list[Any]:
    """The answers, in order.

    No question is cancelled because another one failed: what was sent is paid for, and its answer is kept. In the batch lane all
    questions are queued before the attempt ends.
    """
    asked = [{**shared, **_named(question)} for question in questions]
    found = await asyncio.gather(*(work.ask(**one) for one in asked), return_exceptions=True)
    errors = [one for one in found if isinstance(one, BaseException)]
    steering = [one for one in errors if not isinstance(one, Exception)]
    if steering:
        raise next((one for one in steering if _pauses(one)), steering[0])
    if errors and not return_exceptions:
        raise errors[0]
    return list(found)


def _named(question: object) -> Mapping[str, Any]:
    """The arguments of ``ask`` for one question."""
    if isinstance(question, str):
        return {"prompt": question}
    if isinstance(question, Mapping) and isinstance(question.get("prompt"), str):
        return question
    raise BadInput(say("not_a_question", type=type(question).__name__), code="not_a_question")


def _pauses(error: BaseException) -> bool:
    """Whether the task must be paused: that comes before any wait."""
    return isinstance(error, NotAsked) and isinstance(error.reason, PauseTask)
