"""Checks a model's answer against the page's text layer, if it has one."""

from __future__ import annotations

import re
from collections import Counter

import fanfold as ff
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.model.values.chatter import offer_at_the_end

ENOUGH_WORDS = 30
"""With fewer words than this, the check rejects only an answer that lacks nearly all of them."""
LEAST_SHARE = 0.5
"""Smallest share of words that must be found. Figures, headers and formulas may differ, but not half of the page."""
FEWEST_WORDS = 10
"""Fewer words than this may belong to a figure, which a model describes in other words."""
LEAST_SHARE_OF_FEW = 0.2
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


def words(text: str) -> Counter[str]:
    """Word counts; each Chinese or Japanese character counts as a word."""
    return Counter(WORD.findall(text.casefold()))


def share_found(text_layer: str, answer: str) -> float:
    """Share of the text layer found in the answer; 1 if there is too little text to tell."""
    wanted = words(text_layer)
    total = wanted.total()
    share = (wanted & words(answer)).total() / total if total >= FEWEST_WORDS else 1.0
    return share if total >= ENOUGH_WORDS or share < LEAST_SHARE_OF_FEW else 1.0


def check_against(text_layer: str) -> ff.Check:
    """A check that rejects answers that lost much of the page's text."""

    def check(answer: str) -> str:
        share = share_found(text_layer, answer)
        if share < LEAST_SHARE:
            raise ff.BadAnswer(say_of_pdf("words_lost", percent=share * 100), code="lost_text")
        return _without_offer(answer, text_layer)

    return check


def _without_offer(answer: str, text_layer: str) -> str:
    """The answer without a closing offer of help, unless the page itself contains it."""
    offer = offer_at_the_end(answer)
    if offer is None or (words(offer) - words(text_layer)).total() * 2 < words(offer).total():
        return answer
    return answer.rstrip().removesuffix(offer).rstrip()
