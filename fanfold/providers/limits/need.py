"""What a call uses of its limits: estimated before it is sent, corrected by what it really used."""

from __future__ import annotations

from fanfold.model.money.questions import Question, Usage
from fanfold.model.money.rate_limits import Dimension
from fanfold.model.values.token_estimate import TOKENS_PER_IMAGE, guessed_tokens

FIRST_OUTPUT = 500.0
"""Estimated tokens of an answer, before the first answer."""
WEIGHT = 0.1
"""Weight of the last call in the estimate of the next one."""
Need = dict[Dimension, float]


class NeedEstimate:
    """Estimates what calls to one model use, and learns from what they used."""

    def __init__(self) -> None:
        self._output = FIRST_OUTPUT
        self._ratio = 1.0
        """Input tokens used per estimated token."""

    def need(self, question: Question) -> Need:
        """What the call for a question is expected to use."""
        raw = _raw(question)
        told = question.parameters.get("max_tokens")
        output = min(self._output, float(told)) if isinstance(told, int | float) and told > 0 else self._output
        return _need(raw * self._ratio, output)

    def learn(self, question: Question, usage: Usage) -> Need | None:
        """Learn from a call. Returns what it used; None if the service does not report it."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        self._output += WEIGHT * (usage.output_tokens - self._output)
        self._ratio += WEIGHT * (usage.input_tokens / max(1.0, _raw(question)) - self._ratio)
        return _need(float(usage.input_tokens), float(usage.output_tokens))


def _raw(question: Question) -> float:
    return guessed_tokens(question.system, question.prompt) + TOKENS_PER_IMAGE * len(question.images)


def _need(given: float, written: float) -> Need:
    return {
        Dimension.REQUESTS: 1.0,
        Dimension.TOKENS: given + written,
        Dimension.INPUT_TOKENS: given,
        Dimension.OUTPUT_TOKENS: written,
        Dimension.REQUESTS_DAY: 1.0,
    }


NOTHING: Need = dict.fromkeys(Dimension, 0.0)
"""The need of a call that is not sent."""
