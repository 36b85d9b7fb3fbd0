"""Shows rendered Markdown, from text or a mapping with `markdown`, beside the item's picture."""

from __future__ import annotations

from typing import Any

from fanfold.server.web.task.result_view import files_in
from fanfold.server.web.views.shown import Shown


def shown(output: Any, _task_id: str) -> Shown | None:
    """The Markdown of an output."""
    if isinstance(output, dict) and isinstance(output.get("markdown"), str):
        return Shown(output["markdown"], True, "md", tuple(files_in(output)))
    return Shown(output, True, "md") if isinstance(output, str) else None
