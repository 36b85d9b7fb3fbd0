"""What a call takes from its limits: estimated before it is sent, corrected by what was really used."""

from __future__ import annotations

from fanfold.model.rate_limits import Dimension
from fanfold.model.values.questions import Question, Usage
from fanfold.model.values.tokens import TOKENS_PER_IMAGE, guessed_tokens

FIRST_OUTPUT = 500.0
"""Tokens of an answer, before one was seen."""
WEIGHT = 0.1
"""How much the last call counts when the next one is estimated."""
Need = dict[Dimension, float]


class Estimate:
    """What calls to one model take, learned from what they took."""

    def __init__(self) -> None:
        self._output = FIRST_OUTPUT
        self._ratio = 1.0
        """Input tokens used for each one estimated."""

    def need(self, question: Question) -> Need:
        """What the call for a question is going to take."""
        raw = _raw(question)
        told = question.parameters.get("max_tokens")
        output = min(self._output, float(told)) if isinstance(told, int | float) and told > 0 else self._output
        return _need(raw * self._ratio, output)

    def learn(self, question: Question, usage: Usage) -> Need | None:
        """What the call took; None when the service does not tell."""
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
"""What a call takes that was not sent."""
