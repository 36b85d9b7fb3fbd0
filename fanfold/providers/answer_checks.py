"""Checks that every answer of a model has to pass; an application adds its own."""

from __future__ import annotations

import re

from fanfold.errors import BadAnswer
from fanfold.model.money.questions import NOT_TOLD, Check
from fanfold.model.text.sentences import say
from fanfold.model.values.chatter import without_chatter
from fanfold.providers.services.service import Finish, ServiceReply

LONGEST_UNIT = 200
REPEATED_LENGTH = 600
"""A cut-off answer that ends in this many repetitive characters was stuck in a loop."""
REPEATED_LONG = 3_000
"""The same for a complete answer: not even a table with equal rows repeats for this long."""
SHORT = 500
"""A refusal is shorter than this; a longer text merely begins with the same words."""
REFUSALS = re.compile(
    r"^\W*(i'?m (really )?sorry|i am sorry|sorry,? (but )?i|i can(no|'|’)t (help|assist|process|transcribe|view|see|read)|"
    r"i('m| am) (unable|not able) to|as an ai\b|unfortunately,? i (can|am)|抱歉|对不起|很抱歉|"
    r"我无法|我不能|作为(一个)?(ai|人工智能))",
    re.IGNORECASE,
)


ENDED: dict[str, Finish] = {
    "cut_off": Finish.CUT_OFF,
    "repetition": Finish.CUT_OFF,
    "filtered": Finish.FILTERED,
}
"""How a bad answer ended, by its code; answers with any other code were complete."""


def judge(reply: ServiceReply, check: Check | None = None) -> str:
    """The text without what models put around it; BadAnswer if it cannot be used, with the reason."""
    text = without_chatter(reply.text)
    if repeats(text, REPEATED_LENGTH if reply.finish is Finish.CUT_OFF else REPEATED_LONG):
        raise BadAnswer(say("answer_repeats"), code="repetition")
    if reply.finish is Finish.CUT_OFF:
        raise BadAnswer(say("answer_cut_off"), code="cut_off")
    if reply.finish is Finish.FILTERED:
        raise BadAnswer(say("answer_filtered"), code="filtered")
    if not text:
        raise BadAnswer(say("answer_empty"), code="empty")
    if len(text) < SHORT and REFUSALS.match(text):
        raise BadAnswer(say("answer_refuses", text=" ".join(text.split())[:120]), code="refusal")
    return check(text) if check is not None else text


def judge_again(text: str, code: str, check: Check | None = None) -> str:
    """Judge a bad answer again. The verdict is the same, unless the application's check has changed."""
    try:
        return judge(ServiceReply(text, ENDED.get(code, Finish.WHOLE), NOT_TOLD), check)
    except BadAnswer as bad:
        raise BadAnswer(bad.message, code=code) from None


def repeats(text: str, least: int = REPEATED_LENGTH) -> bool:
    """Whether at least the last ``least`` characters repeat one short passage."""
    tail = text[-2 * least :]
    return len(tail) >= least and any(_repeats_unit(tail, length, least) for length in range(1, LONGEST_UNIT + 1))


def _repeats_unit(tail: str, length: int, least: int) -> bool:
    """Whether the tail repeats every ``length`` characters. Dot leaders and table rules do not count."""
    span = max(least, 4 * length)
    if len(tail) < span or tail[-span:-length] != tail[-span + length :]:
        return False
    return any(letter.isalnum() for letter in tail[-length:])
