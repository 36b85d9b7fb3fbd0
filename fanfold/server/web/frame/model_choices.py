"""The providers a person can choose for a task, if its pipeline uses providers."""

from __future__ import annotations

from dataclasses import dataclass

from fanfold.errors import FanfoldError
from fanfold.model.pipelines.options import LOCAL
from fanfold.model.task import Task
from fanfold.providers.configuration import load
from fanfold.server.app_state import AppState


@dataclass(frozen=True)
class Choice:
    """A provider to choose, its default model, and whether it is ready."""

    name: str
    model: str
    ready: bool


def choices(place: AppState, task: Task) -> tuple[Choice, ...]:
    """The providers for a task; none if its pipeline uses none."""
    pipeline = place.pipelines.get(task.pipeline)
    if pipeline is None or "provider" not in pipeline.options:
        return ()
    return all_choices()


def all_choices() -> tuple[Choice, ...]:
    """All choices, `local` first; an unreadable configuration leaves only `local`."""
    try:
        known = list(load().values())
    except FanfoldError:
        known = []
    return (Choice(LOCAL, "", True), *(Choice(one.name, one.model, not one.lacks_key) for one in known))
