"""What a check of the doctor is: one thing that was looked at, with a fact and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True)
class DoctorCheck:
    """One thing that was looked at: `ok`, `warning` or `problem`, what was found, and what to do.

    ``command`` is what a person at a terminal could type for it; the advice is a sentence that needs no terminal.
    """

    name: str
    status: str
    fact: str
    advice: str = ""
    command: str = ""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """The codes and parameters of those texts that Fanfold or an application made, by field; filled in JSON."""
