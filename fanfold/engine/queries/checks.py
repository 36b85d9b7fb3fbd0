"""The result of one check of the doctor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True)
class DoctorCheck:
    """One check: `ok`, `warning` or `problem`, what was found, and what to do.

    ``command`` is a shell command that helps; ``advice`` is a sentence that needs no terminal.
    """

    name: str
    status: str
    fact: str
    advice: str = ""
    command: str = ""
    sentences: dict[str, Any] = field(default_factory=dict, compare=False)
    """Codes and parameters of the texts that have them, by field; filled in JSON."""
