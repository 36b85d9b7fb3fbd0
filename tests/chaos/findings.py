"""Records one finding per scenario in the file that FANFOLD_CHAOS_REPORT names, for the table in the documentation."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

REPORT = "FANFOLD_CHAOS_REPORT"
FULL = bool(os.environ.get("FANFOLD_CHAOS_FULL"))
"""Whether the scenarios run at full length, as `make chaos` does, or in the few seconds that CI has for each."""

only_in_full = pytest.mark.skipif(not FULL, reason="takes long; `make chaos` runs it")


def one_database_is_enough(url: str) -> None:
    """On PostgreSQL only at full length: what is tried there hardly depends on the database."""
    if kind_of(url) == "PostgreSQL" and not FULL:
        pytest.skip("on PostgreSQL `make chaos` runs it")


@dataclass(frozen=True)
class Finding:
    """What one scenario promised, and what was observed."""

    scenario: str
    database: str
    promised: str
    seen: str
    recovered_seconds: float | None = None
    """From the end of the fault (or from the fault itself, where nothing ends it) to the next finished item."""
    throughput: float | None = None
    """Items per second after the fault, as a share of those before it."""
    paid: tuple[int, int, int, int] | None = None
    """Workers killed, calls needed, calls paid for at the service, and calls in flight at the kills."""


def note(finding: Finding) -> None:
    """Report it, and store it if somebody collects findings."""
    print(finding)
    if path := os.environ.get(REPORT):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(finding)) + "\n")


def kind_of(url: str) -> str:
    """The database of a URL, by its name."""
    return "SQLite" if url.startswith("sqlite") else "PostgreSQL"
