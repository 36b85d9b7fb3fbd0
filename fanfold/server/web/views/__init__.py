"""Views for the output of items: one module per view, which knows a shape of output but no application.

A pipeline chooses a view by name. Each module has a function `shown(output, task_id)` that returns what to show, or None
if the output does not have its shape. In that case, or without a choice, `document` is tried, then `json`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from fanfold.model.pipelines.view_names import VIEWS
from fanfold.server.web.views.shown import Shown

View = Callable[[Any, str], Shown | None]
BY_NAME: dict[str, View] = {name: import_module(f"{__name__}.{name}").shown for name in VIEWS}
USUAL = ("document", "json")


def show(view: str, output: Any, task_id: str) -> Shown | None:
    """Show an output with a view; None without an output."""
    if output is None:
        return None
    for name in (view, *USUAL) if view in BY_NAME else USUAL:
        if (found := BY_NAME[name](output, task_id)) is not None:
            return found
    return None
