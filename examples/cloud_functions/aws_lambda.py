"""AWS Lambda: one tick per call of EventBridge Scheduler.

Handler: `aws_lambda.lambda_handler`. Set FANFOLD_DATABASE (PostgreSQL) and FANFOLD_FILES (a bucket), and a timeout of 60 s.
"""

from dataclasses import asdict
from typing import Any

import fanfold as ff

LEAVE_SECONDS = 5.0
"""Time kept for the start and the end of the function."""


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Work until shortly before the function's own time limit. An event may name pipelines: `{"pipelines": ["app:book"]}`."""
    left = context.get_remaining_time_in_millis() / 1_000 - LEAVE_SECONDS
    return asdict(ff.tick(*event.get("pipelines", ()), seconds=max(1.0, min(45.0, left))))
