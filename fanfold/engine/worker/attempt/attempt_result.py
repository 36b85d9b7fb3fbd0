"""The result of an attempt (a settlement), and the conversion of exceptions into one."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from typing import Any, NamedTuple

from fanfold.engine.redaction import without_keys
from fanfold.engine.tasks.many_items.new_items import NewItems
from fanfold.errors import BadInput, DatabaseProblem, FanfoldError, HandlerError, Permanent, Temporary
from fanfold.model.endings import Ending
from fanfold.model.item import AddedItem, Claimed
from fanfold.model.pipelines.pipeline import Stage
from fanfold.model.shortage import shortage
from fanfold.model.text.sentences import Sentence, joined, say
from fanfold.store.database_errors import DAMAGED, MISFIT, UNREACHABLE
from fanfold.store.files.file_store import FILES_AWAY

MESSAGE_LENGTH = 4_000
DETAIL_LENGTH = 20_000
DEGRADED_LENGTH = 300
SERVICE_LENGTH = 63
NOT_COUNTED_STEPS = 5
"""Maximum doublings of the back-off after failures that are not the item's fault: by default to 16 s, not to minutes."""
NO_FAULT = (UNREACHABLE, MISFIT, DAMAGED, *FILES_AWAY)


class OutOfTime(NamedTuple):
    """Why an item was cut off at the end of a tick, and after how many cut-offs in a row it waits for a person."""

    reason: str
    limit: int
    begun_by: float = 0.0
    """Only attempts that started by this time had a fair share of the tick; later ones are not counted."""


class Settlement(NamedTuple):
    """The end of one attempt: how it ended, and what to store."""

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
    """Why the task should be paused, if it should."""
    degraded: str | None = None
    """Why the result is degraded; None if it is not."""
    hold: str | None = None
    """Why the item waits for a person, if it does."""
    out_of_time: OutOfTime | None = None
    """For an item that is handed back because a tick is over."""
    by: str | None = None
    """The service to wait for, if the failure does not count."""
    in_batch: bool = False
    """Whether a postponed item waits for a batch of questions."""
    added: tuple[AddedItem, ...] = ()
    """Items that the handler adds to its stage; stored only if the item is finished under its lease."""
    awaits: tuple[str, ...] = ()
    """The subtasks that a postponed item waits for, by name."""
    told: tuple[str, ...] = ()
    """The subtasks whose failure this attempt has seen, by name; recorded if the item fails."""
    shared: bool = False
    """Whether a batch failed or was lost as a whole: the item may not be at fault, and is not given up for it."""
    short: bool = False
    """Whether the machine was short of open files or disk space, or the bucket of the files was away."""


def failed(claimed: Claimed, stage: Stage, error: BaseException, retry_limit: int | None = None) -> Settlement:
    """The settlement for an exception: a permanent failure, or a retry after a back-off while retries are left."""
    code, message, detail = describe(error)
    known: dict[str, Any] = {"error_code": code, "error_message": message, "error_detail": detail}
    advice = None if _is_final(error) else shortage(error)
    if advice is not None and not isinstance(error, HandlerError | FanfoldError):  # These carry their own advice.
        known["error_message"] = clean(
            say("with_advice", what=message[: MESSAGE_LENGTH // 2], advice=advice), MESSAGE_LENGTH
        )
    if advice is not None or not _counts(error):
        asked = error.after if isinstance(error, Temporary) else None
        step = min(NOT_COUNTED_STEPS, max(1, claimed.attempts - claimed.failures))
        delay = stage.retry.delay(step) if asked is None else asked
        by = clean(str(error.by), SERVICE_LENGTH) if isinstance(error, Temporary) and error.by else None
        short = advice is not None or code in FILES_AWAY
        return Settlement(claimed, Ending.BACK_OFF, delay=delay, counted=False, by=by, short=short, **known)
    limit = stage.retry.limit if retry_limit is None else retry_limit
    if _is_final(error) or claimed.failures + 1 > limit:
        return Settlement(claimed, Ending.FAIL, **known)
    asked = error.after if isinstance(error, Temporary) else None
    delay = stage.retry.delay(claimed.failures + 1) if asked is None else asked
    return Settlement(claimed, Ending.BACK_OFF, delay=delay, **known)


def _is_final(error: BaseException) -> bool:
    """Whether retrying is useless, because the handler says so or its result cannot be stored."""
    return isinstance(error, Permanent | BadInput)


def _counts(error: BaseException) -> bool:
    """Whether the failure counts: not if nothing was tried or the database was unreachable."""
    if isinstance(error, DatabaseProblem):
        return error.code not in NO_FAULT
    return not isinstance(error, Temporary) or error.counts


def describe(error: BaseException) -> tuple[str, str, str]:
    """A code, a message and a detail that any database can store."""
    code = str(error.code) if isinstance(error, HandlerError | FanfoldError) else type(error).__name__
    try:
        message = said_by(error) or say("error_without_message", type=type(error).__name__)
    except Exception:
        message = say("error_not_shown", type=type(error).__name__)
    detail = "".join(traceback.format_exception(error))
    return clean(code, 100), clean(message, MESSAGE_LENGTH), clean(without_keys(detail)[-DETAIL_LENGTH:], DETAIL_LENGTH)


def said_by(error: BaseException) -> str:
    """The text of an error, with code and parameters if it is a sentence of Fanfold."""
    said = error.message if isinstance(error, HandlerError | FanfoldError) else None
    return said if isinstance(said, Sentence) else str(error)


def clean(text: str, length: int) -> str:
    """External text, made storable: without API keys, and without what databases refuse (NUL, lone surrogates).

    The parameters of a sentence are cleaned too.
    """
    if isinstance(text, Sentence):
        return text.changed(lambda part: _cleaned(part, length))
    return _cleaned(text, length)


def _cleaned(text: str, length: int) -> str:
    plain = without_keys(text).replace("\0", "\N{REPLACEMENT CHARACTER}")
    return plain.encode("utf-8", "replace").decode("utf-8")[:length]


def shortfall(reasons: Sequence[str]) -> str | None:
    """The reasons why a result is degraded, as one text that any database can store; None if there are none."""
    return clean(joined(reasons) or "", DEGRADED_LENGTH) if reasons else None


def unstorable(one: Settlement, reason: str) -> Settlement:
    """The settlement for a result that the database refused: this item fails, and the others are not held up."""
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
