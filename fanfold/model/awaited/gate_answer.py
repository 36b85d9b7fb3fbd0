"""Answers that people gave at gates."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class GateAnswer:
    """An answer at the gate of a stage: what, by whom and when. The latest one at a gate counts."""

    stage: str
    answer: dict[str, Any]
    actor: str
    at: datetime
