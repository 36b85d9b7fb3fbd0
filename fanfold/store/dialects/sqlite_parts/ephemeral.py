"""Refuses a database file where it would vanish: on the disk of a cloud function, which lives as long as one instance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fanfold.errors import DatabaseProblem
from fanfold.model.text.sentences import say

PLATFORMS = {
    "AWS_LAMBDA_FUNCTION_NAME": "AWS Lambda",
    "TENCENTCLOUD_RUNENV": "Tencent SCF",
    "SCF_FUNCTIONNAME": "Tencent SCF",
    "VERCEL": "Vercel",
    "FC_FUNCTION_NAME": "Alibaba Function Compute",
    "K_SERVICE": "Cloud Run",
    "FUNCTIONS_WORKER_RUNTIME": "Azure Functions",
}
"""Environment variables that only these platforms set."""
MOUNTED = Path("/mnt")
"""Where these platforms mount disks that stay."""


def platform(environment: Mapping[str, str]) -> str | None:
    """The platform that this process runs on, if its own disk does not last."""
    return next((name for variable, name in PLATFORMS.items() if environment.get(variable)), None)


def refuse_ephemeral(file: Path, environment: Mapping[str, str] | None = None) -> None:
    """DatabaseProblem if the file would be lost with this instance of a cloud function."""
    where = platform(os.environ if environment is None else environment)
    if where is not None and not file.absolute().is_relative_to(MOUNTED):
        raise DatabaseProblem(say("sqlite_ephemeral", file=file, platform=where), code="ephemeral")
