"""Shows plain text, from text or a mapping with `text`."""

from __future__ import annotations

from typing import Any

from fanfold.server.web.task.result_view import files_in
from fanfold.server.web.views.shown import Shown


def shown(output: Any, _task_id: str) -> Shown | None:
    """The text of an output."""
    if isinstance(output, dict) and isinstance(output.get("text"), str):
        return Shown(output["text"], False, "txt", tuple(files_in(output)))
    return Shown(output, False, "txt") if isinstance(output, str) else None
