"""How an attempt ended: the settlement, and what is made of an exception."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from fanfold.engine.redaction import without_keys
from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError, HandlerError, Permanent, Temporary
from fanfold.model.endings import Ending
from fanfold.model.item import Claimed
from fanfold.model.pipelines.pipeline import Stage
from fanfold.model.shortage import shortage
from fanfold.model.text.sentences import Sentence, joined, say
from fanfold.store.database_errors import DAMAGED, MISFIT, UNREACHABLE

MESSAGE_LENGTH = 4_000
DETAIL_LENGTH = 20_000
DEGRADED_LENGTH = 300
SERVICE_LENGTH = 63
NOT_COUNTED_STEPS = 5
"""The wait after what is no fault of the item grows so many times: with the usual back-off to 16 s, not to minutes."""
NO_FAULT = (UNREACHABLE, MISFIT, DAMAGED)


class OutOfTime(NamedTuple):
    """Why an item was cut off at the end of a tick, and after how many times in a row it waits for a person."""

    reason: str
    limit: int
    begun_by: float = 0.0
    """Only attempts that began by this moment had a fair share of the tick; those that began later are not counted."""


class Settlement(NamedTuple):
    """The end of one attempt: how it ended, and what is to be kept."""

    claimed: Claimed
    ending: Ending
    output: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    error_detail: str | None = None
    delay: float = 0.0
    counted: bool = True
    model: str | None = None
    usage: str | None = None
    new_items: NewItems | None = None
    pause: str | None = None
    """Why the task is to be paused, if it is."""
    degraded: str | None = None
    """Why the result is not what was asked for; None when it is."""
    hold: str | None = None
    """Why the item waits for a person, if it does."""
    out_of_time: OutOfTime | None = None
    """For an item that is handed back because a tick is over."""
    by: str | None = None
    """The service that is waited for, where a failure does not count."""
    short: bool = False
    """Whether the machine was short of open files or disk space."""


def failed(claimed: Claimed, stage: Stage, error: BaseException, retry_limit: int | None = None) -> Settlement:
    """The ending for an exception: permanent, or another try after a while as long as there are retries left."""
    code, message, detail = describe(error)
    known: dict[str, Any] = {"error_code": code, "error_message": message, "error_detail": detail}
    advice = None if _is_final(error) else shortage(error)
    if advice is not None and not isinstance(error, HandlerError | FanfoldError):  # These say themselves what to do.
        known["error_message"] = clean(
            say("with_advice", what=message[: MESSAGE_LENGTH // 2], advice=advice), MESSAGE_LENGTH
        )
    if advice is not None or not _counts(error):
        asked = error.after if isinstance(error, Temporary) else None
        step = min(NOT_COUNTED_STEPS, max(1, claimed.attempts - claimed.failures))
        delay = stage.retry.delay(step) if asked is None else asked
        by = clean(str(error.by), SERVICE_LENGTH) if isinstance(error, Temporary) and error.by else None
        return Settlement(
            claimed, Ending.BACK_OFF, delay=delay, counted=False, by=by, short=advice is not None, **known
        )
    limit = stage.retry.limit if retry_limit is None else retry_limit
    if _is_final(error) or claimed.failures + 1 > limit:
        return Settlement(claimed, Ending.FAIL, **known)
    asked = error.after if isinstance(error, Temporary) else None
    delay = stage.retry.delay(claimed.failures + 1) if asked is None else asked
    return Settlement(claimed, Ending.BACK_OFF, delay=delay, **known)


def _is_final(error: BaseException) -> bool:
    """Whether trying again is no use, because the handler says so or its result cannot be kept."""
    return isinstance(error, Permanent | BadInput)


def _counts(error: BaseException) -> bool:
    """Whether the work itself failed: not when nothing was tried, nor for want of a database."""
    if isinstance(error, DatabaseProblem):
        return error.code not in NO_FAULT
    return not isinstance(error, Temporary) or error.counts


def describe(error: BaseException) -> tuple[str, str, str]:
    """A code, a message and a detail that any database can keep."""
    code = str(error.code) if isinstance(error, HandlerError | FanfoldError) else type(error).__name__
    try:
        message = said_by(error) or say("error_without_message", type=type(error).__name__)
    except Exception:
        message = say("error_not_shown", type=type(error).__name__)
    detail = "".join(traceback.format_exception(error))
    return clean(code, 100), clean(message, MESSAGE_LENGTH), clean(without_keys(detail)[-DETAIL_LENGTH:], DETAIL_LENGTH)


def said_by(error: BaseException) -> str:
    """What an error says, with the code and the parameters where it is Fanfold's own sentence."""
    said = error.message if isinstance(error, HandlerError | FanfoldError) else None
    return said if isinstance(said, Sentence) else str(error)


def clean(text: str, length: int) -> str:
    """Text from outside as it is kept: without keys, and without what databases refuse (NUL, halves of surrogate pairs).

    The parameters of a sentence are cleaned as well.
    """
    if isinstance(text, Sentence):
        return text.changed(lambda part: _cleaned(part, length))
    return _cleaned(text, length)


def _cleaned(text: str, length: int) -> str:
    plain = without_keys(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return plain.encode("utf-8", "replace").decode("utf-8")[:length]


def shortfall(reasons: Sequence[str]) -> str | None:
    """The reasons why a result is degraded as one text that any database can keep; None when there are none."""
    return clean(joined(reasons) or "", DEGRADED_LENGTH) if reasons else None


def unstorable(one: Settlement, reason: str) -> Settlement:
    """The ending for a result that the database itself refused: this item fails, the others are not held up."""
    return one._replace(
        ending=Ending.FAIL,
        output=None,
        usage=None,
        model=None,
        new_items=None,
        degraded=None,
        error_code="unstorable",
        error_message=clean(reason, MESSAGE_LENGTH),
        error_detail=None,
    )
