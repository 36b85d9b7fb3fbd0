"""cancelled: asks the services to stop the jobs of a cancelled task, so that nothing is made that nobody wants."""

from __future__ import annotations

from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble


def stopped(task: ff.TaskWork) -> None:
    """Cancel each job under way. A service that does not answer is asked again; in the end the task says which ones remain."""
    troubles: list[str] = []
    for job in task.running_jobs():
        task.check()
        try:
            _stop(job)
        except (ServiceTrouble, ff.HandlerError) as problem:
            troubles.append(str(problem))
    if troubles:
        raise ff.Temporary(say_of_photo("not_stopped", count=len(troubles), why=troubles[0]), code="not_stopped")


def _stop(job: ff.ExternalJob) -> None:
    if isinstance(job.job, dict):
        service = connected(configuration.load().chosen(job.job.get("service", "")), _not_kept)
        service.cancel(job.job)


def _not_kept(name: str, content: bytes) -> Any:
    raise AssertionError("A cancel stores nothing.")
