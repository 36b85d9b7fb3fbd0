"""The states of a cell."""

from __future__ import annotations

from typing import Any

Cell = dict[str, Any]
OK, WEAK, UNSUPPORTED, INVALID, ABSENT, CONFLICT = "ok", "weak", "unsupported", "invalid", "absent", "conflict"
DOUBTFUL = (WEAK, UNSUPPORTED, INVALID, CONFLICT)
"""States that make a record degraded."""
