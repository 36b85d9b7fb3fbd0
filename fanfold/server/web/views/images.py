"""Shows pictures: the result beside the picture before it, with and without its watermark, and alternatives."""

from __future__ import annotations

from typing import Any

from fanfold.model.views.images import pictures_in
from fanfold.server.web.views import json
from fanfold.server.web.views.shown import Shown


def shown(output: Any, task_id: str) -> Shown | None:
    """What is known of the pictures as JSON, to copy and download; the page shows the pictures themselves."""
    return json.shown(output, task_id) if pictures_in(output) else None
