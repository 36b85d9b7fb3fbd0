"""Shows any value as JSON; files appear with name and URL."""

from __future__ import annotations

import json
from typing import Any

from fanfold.server.api.shapes.json_values import plain
from fanfold.server.web.task.result_view import files_in
from fanfold.server.web.views.shown import Shown


def shown(output: Any, task_id: str) -> Shown:
    """The whole output."""
    text = json.dumps(plain(output, task_id), ensure_ascii=False, indent=2)
    return Shown(text, False, "json", tuple(files_in(output)))
