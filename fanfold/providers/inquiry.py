"""A question on its way to one model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanfold.model.values.questions import Asking, Question
from fanfold.providers.configuration import Provider


@dataclass(frozen=True)
class Inquiry:
    """A question on its way to one model, and for whom."""

    asking: Asking
    question: Question
    provider: Provider
    model: str
    purpose: str | None = None
    """Why it is asked, if it is not for the first time, for the books."""

    def key(self, changes: dict[str, Any]) -> str:
        """What the answer is kept under."""
        return self.question.fingerprint(self.provider.address, self.model, changes)

    def parameters(self, changes: dict[str, Any]) -> dict[str, Any]:
        """What is sent with the question."""
        limit = {"max_tokens": self.provider.max_tokens} if self.provider.max_tokens else {}
        return limit | self.question.parameters | changes
