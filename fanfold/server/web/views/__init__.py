"""How the output of an item is shown: one file per view, which knows a shape of output and no application.

A pipeline chooses a view by its name. Each file has a function `shown(output, task_id)` that returns what to show, or None
when the output does not have its shape; then, as without a choice, the first view that fits is taken.
"""

from __future__ import annotations

from typing import Any

from fanfold.server.web.views import document, json, text
from fanfold.server.web.views.shown import Shown

BY_NAME = {"document": document.shown, "text": text.shown, "json": json.shown}
USUAL = ("document", "json")


def show(view: str, output: Any, task_id: str) -> Shown | None:
    """What a view makes of an output; None without an output."""
    if output is None:
        return None
    for name in (view, *USUAL) if view in BY_NAME else USUAL:
        if (found := BY_NAME[name](output, task_id)) is not None:
            return found
    return None
