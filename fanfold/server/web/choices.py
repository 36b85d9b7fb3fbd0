"""Who else could do it? The providers that a person can have items retried with, where the pipeline knows providers at all."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fanfold.errors import FanfoldError
from fanfold.model.task import Task
from fanfold.providers.configuration import LOCAL, load
from fanfold.server.place import Place

SECRET = re.compile(
    r"(^|[_.-])(key|apikey|secret|token|password|passwd|passphrase|credentials?|authorization)$", re.IGNORECASE
)
"""Names of options whose values are not shown; secrets are not kept with tasks, but somebody may have put one there."""
HIDDEN = "••••••"


@dataclass(frozen=True)
class Choice:
    """A provider to choose, its own model, and whether it could be asked now."""

    name: str
    model: str
    ready: bool


def choices(place: Place, task: Task) -> tuple[Choice, ...]:
    """The providers for a task; none where its pipeline does not ask for one."""
    pipeline = place.pipelines.get(task.pipeline)
    if pipeline is None or "provider" not in pipeline.options:
        return ()
    try:
        known = load()
    except FanfoldError:
        return (Choice(LOCAL, "", True),)
    return (Choice(LOCAL, "", True), *(Choice(one.name, one.model, not one.lacks_key) for one in known.values()))


def without_secrets(value: Any, name: str = "") -> Any:
    """The value as it may be shown."""
    if SECRET.search(name):
        return HIDDEN
    if isinstance(value, dict):
        return {inner: without_secrets(kept, str(inner)) for inner, kept in value.items()}
    return [without_secrets(kept) for kept in value] if isinstance(value, list) else value
