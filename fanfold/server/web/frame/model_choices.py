"""Who else could do it? The providers that a person can choose, where the pipeline knows providers at all."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.errors import FanfoldError
from fanfold.model.pipelines.options import LOCAL
from fanfold.model.task import Task
from fanfold.providers.configuration import load
from fanfold.server.app_state import AppState


@dataclass(frozen=True)
class Choice:
    """A provider to choose, its own model, and whether it could be asked now."""

    name: str
    model: str
    ready: bool


def choices(place: AppState, task: Task) -> tuple[Choice, ...]:
    """The providers for a task; none where its pipeline does not ask for one."""
    pipeline = place.pipelines.get(task.pipeline)
    if pipeline is None or "provider" not in pipeline.options:
        return ()
    return all_choices()


def all_choices() -> tuple[Choice, ...]:
    """Who can be asked: what needs nobody first; a configuration that cannot be read leaves only that."""
    try:
        known = list(load().values())
    except FanfoldError:
        known = []
    return (Choice(LOCAL, "", True), *(Choice(one.name, one.model, not one.lacks_key) for one in known))
