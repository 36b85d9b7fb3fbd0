"""Did the model write down the page? Its answer is held against the text layer, where there is one."""

from __future__ import annotations

import re
from collections import Counter

import fanfold as ff
from fanfold.apps.pdf.sentences import say_of_pdf
from fanfold.model.values.chatter import offer_at_the_end

ENOUGH_WORDS = 30
"""Of fewer words it cannot be told how many are missing, only whether nearly all of them are."""
LEAST_SHARE = 0.5
"""Figures, headers and formulas are written down differently; when half of the words are gone, text is."""
FEWEST_WORDS = 10
"""Fewer words may be those of a figure, which is described in others."""
LEAST_SHARE_OF_FEW = 0.2
WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W_]+")


def words(text: str) -> Counter[str]:
    """How often each word occurs; each character of Chinese and Japanese is one."""
    return Counter(WORD.findall(text.casefold()))


def share_found(text_layer: str, answer: str) -> float:
    """How much of the text layer is in the answer; 1 when there is too little of it to tell."""
    wanted = words(text_layer)
    total = wanted.total()
    share = (wanted & words(answer)).total() / total if total >= FEWEST_WORDS else 1.0
    return share if total >= ENOUGH_WORDS or share < LEAST_SHARE_OF_FEW else 1.0


def check_against(text_layer: str) -> ff.Check:
    """A check that refuses answers which have lost much of the page's text."""

    def check(answer: str) -> str:
        share = share_found(text_layer, answer)
        if share < LEAST_SHARE:
            raise ff.BadAnswer(say_of_pdf("words_lost", percent=share * 100), code="lost_text")
        return _without_offer(answer, text_layer)

    return check


def _without_offer(answer: str, text_layer: str) -> str:
    """The answer without an offer of more help at its end, unless the page says it itself."""
    offer = offer_at_the_end(answer)
    if offer is None or (words(offer) - words(text_layer)).total() * 2 < words(offer).total():
        return answer
    return answer.rstrip().removesuffix(offer).rstrip()
