"""Tencent SCF, and WeChat cloud functions (CloudBase): one tick per call of a timer.

Handler: `tencent_scf.main_handler`. Set FANFOLD_DATABASE (PostgreSQL) and FANFOLD_FILES (a bucket), and a timeout of 60 s.
The timer's cron has seven fields, seconds first: `0 * * * * * *` is every minute, `*/30 * * * * * *` every 30 seconds.
"""

import json
from dataclasses import asdict
from typing import Any

import fanfold as ff

SECONDS = 45.0
"""Leaves time for the start and the end within a limit of 60 seconds."""


def main_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Work for 45 seconds. The timer's message may be JSON that names pipelines: `{"pipelines": ["app:book"]}`."""
    message = event.get("Message") or "{}"
    wanted = json.loads(message) if message.lstrip().startswith("{") else {}
    return asdict(ff.tick(*wanted.get("pipelines", ()), seconds=SECONDS))
