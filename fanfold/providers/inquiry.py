"""A question to one model, with the key of its answer and the parameters that are sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fanfold.model.money.questions import Asking, Question
from fanfold.providers.configuration import Provider


@dataclass(frozen=True)
class Inquiry:
    """A question to one model, and the attempt that asks it."""

    asking: Asking
    question: Question
    provider: Provider
    model: str
    purpose: str | None = None
    """Why it is asked again, for the ledger; None the first time."""

    def key(self, changes: dict[str, Any]) -> str:
        """The key under which the answer is cached."""
        return self.question.fingerprint(self.provider.address, self.model, changes)

    def parameters(self, changes: dict[str, Any]) -> dict[str, Any]:
        """The parameters that are sent with the question."""
        limit = {"max_tokens": self.provider.max_tokens} if self.provider.max_tokens else {}
        return limit | self.question.parameters | changes
