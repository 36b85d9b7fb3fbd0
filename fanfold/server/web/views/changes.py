"""Shows the paragraphs of an item as plain text after its changes; the task has a page with all changes."""

from __future__ import annotations

from typing import Any

from fanfold.model.views.changes import has_changes, paragraphs_in
from fanfold.server.web.views.shown import Shown


def shown(output: Any, _task_id: str) -> Shown | None:
    """The text of an output after its changes."""
    if not has_changes(output):
        return None
    return Shown("\n\n".join(one.after for one in paragraphs_in(output)), False, "txt")
