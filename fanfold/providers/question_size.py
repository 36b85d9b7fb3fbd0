"""The size of a question and of its answer in tokens, guessed before the call: only the service counts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fanfold.model.money.questions import Question
from fanfold.model.values.token_estimate import TOKENS_PER_IMAGE, guessed_tokens

LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
"""Names of the parameter that limits the length of an answer."""
SAFETY = 1.5
"""The guess may be too low by a third: other languages and code have shorter tokens."""
HIGH_OUTPUT = 2.0
"""A long answer has about twice as many tokens as its question."""
LEAST_HIGH_OUTPUT = 1_000


@dataclass(frozen=True)
class QuestionSize:
    """A question in tokens."""

    guessed: int
    """Tokens of the question, as a middle guess: as likely too high as too low."""
    limit: int | None
    """Most tokens that the answer may have; None if that is left to the service."""

    @property
    def most_input(self) -> int:
        """A number of tokens that the question very rarely exceeds."""
        return round(self.guessed * SAFETY) + 50

    @property
    def likely_output(self) -> int:
        """A number of tokens that few answers exceed, for use before anything was measured."""
        high = round(max(LEAST_HIGH_OUTPUT, self.guessed * HIGH_OUTPUT))
        return high if self.limit is None else min(high, self.limit)


def size_of(question: Question, parameters: Mapping[str, Any]) -> QuestionSize:
    """The size of a question, with the parameters that are sent with it."""
    guessed = guessed_tokens(question.system, question.prompt) + TOKENS_PER_IMAGE * len(question.images)
    limits = [parameters[name] for name in LIMITS if isinstance(parameters.get(name), int)]
    return QuestionSize(guessed, max(limits) if limits else None)
