"""Views for the output of items: one module per view, which knows a shape of output but no application.

A pipeline chooses a view by name. Each module has a function `shown(output, task_id)` that returns what to show, or None
if the output does not have its shape. In that case, or without a choice, the first view that fits is used.
"""

from __future__ import annotations

from typing import Any

from fanfold.server.web.views import changes, document, images, json, record, table, text
from fanfold.server.web.views.shown import Shown

BY_NAME = {
    "document": document.shown,
    "record": record.shown,
    "table": table.shown,
    "changes": changes.shown,
    "images": images.shown,
    "text": text.shown,
    "json": json.shown,
}
USUAL = ("document", "json")


def show(view: str, output: Any, task_id: str) -> Shown | None:
    """Show an output with a view; None without an output."""
    if output is None:
        return None
    for name in (view, *USUAL) if view in BY_NAME else USUAL:
        if (found := BY_NAME[name](output, task_id)) is not None:
            return found
    return None
