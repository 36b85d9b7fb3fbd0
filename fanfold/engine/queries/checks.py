"""What a check of the doctor is: one thing that was looked at, with a fact and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

OK, WARNING, PROBLEM = "ok", "warning", "problem"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `ok`, `warning` or `problem`, what was found, and what to do."""

    name: str
    status: str
    fact: str
    advice: str = ""
