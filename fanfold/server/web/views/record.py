"""Shows a record: fields with their state and evidence. The page lists them; as text they are JSON."""

from __future__ import annotations

from typing import Any

from fanfold.server.tables.cells import is_record
from fanfold.server.web.views import json
from fanfold.server.web.views.shown import Shown


def shown(output: Any, task_id: str) -> Shown | None:
    """The record as JSON, to copy and download."""
    return json.shown(output, task_id) if is_record(output) else None
