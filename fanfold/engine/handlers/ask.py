"""Asks a model on behalf of a handler: builds the question from the options of task and item, and records usage and marks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fanfold.engine.discovery import is_loaded, service
from fanfold.engine.handlers.files.kept_files import folded
from fanfold.errors import NotAsked, PauseTask, Temporary
from fanfold.model.item import REDONE
from fanfold.model.money.batch import LANE
from fanfold.model.money.questions import Answer, Check, Question, chain_of
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File

if TYPE_CHECKING:
    from fanfold.engine.handlers.work import Work


class AskingWork:
    """An attempt as the providers see it."""

    def __init__(self, work: Work) -> None:
        self.task_id = work.task_id
        self.task = work._row.number
        self.pipeline = work._row.pipeline
        self.owner = work._row.owner
        self.item = work._claimed.id
        self.lease = work._claimed.lease
        # Each claim increments both; a reset by a person clears only the attempts.
        self.first_lease = work._claimed.lease - work._claimed.attempts + 1
        self.failures = work._claimed.failures
        self.retries_left = work.retries_left
        self.wanted_by = work.wanted_by
        self.asked = work._asked
        self.clock = (work._attempt_of or work)._clock
        self.fold = lambda name, text, limit: folded(work, name, text, limit)


async def ask(
    work: Work,
    prompt: str,
    *,
    images: Sequence[bytes | File],
    system: str | None,
    model: str | None,
    fallback: Sequence[str] | None,
    check: Check | None,
    lane: str | None,
    parameters: dict[str, Any],
) -> Answer:
    """The answer. Its usage is recorded with the attempt, and an answer from a fallback model marks the result as degraded."""
    options = work.options
    chain = chain_of(options, model, fallback)
    pictures = tuple(image if isinstance(image, bytes) else image.read_bytes() for image in images)
    question = Question(
        prompt,
        pictures,
        system,
        chain,
        check,
        parameters,
        salt=_salt(work, options),
        keep_raw=bool(options.get("keep_raw")),
        lane=lane or str(work._all_options.get(LANE) or work.lane or ""),
        chosen=chain_of(options, None, ())[0],
    )
    if not is_loaded("ask"):
        await asyncio.to_thread(
            service, "ask"
        )  # Loading takes a second, during which the event loop must not be blocked.
    answer = await _asked(work, question)
    work.used(model=answer.source)
    if answer.fallback:
        tried = list(dict.fromkeys(answer.tried))
        work.degraded(say("answered_by_other", model=answer.source, asked=answer.asked, tried=tried))
    return answer


async def _asked(work: Work, question: Question) -> Answer:
    try:
        answer: Answer = await service("ask")(work._store, AskingWork(work), question)
        return answer
    except PauseTask as problem:
        raise NotAsked(problem) from problem
    except Temporary as problem:
        if problem.counts:
            raise
        raise NotAsked(problem) from problem


def _salt(work: Work, options: dict[str, Any]) -> str:
    """Part of the cache key that changes with each redo of a good result, so that the redo asks again."""
    redone = json.loads(work._claimed.options or "{}").get(REDONE) or ""
    return "/".join(str(part) for part in (options.get("fresh"), redone) if part)
