"""The actions on a task: redo pictures with another prompt, service or seed, and look for pictures that came late."""

from __future__ import annotations

from typing import Any

import fanfold as ff
from fanfold.apps.photo import configuration
from fanfold.apps.photo.late import late
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.apps.photo.services.known import connected
from fanfold.apps.photo.services.requests import ServiceTrouble
from fanfold.apps.photo.services.service import Moderated
from fanfold.model.awaited.external import JobState

STAGE = "ai_processing"
ENDED = ("completed", "partial", "failed")
PICTURES = ff.Option("items", "text", "Pictures, by number; empty for all.", (), many=True, label="Pictures")


def redo(work: ff.ActionWork) -> str:
    """Make pictures again; the ones before stay as alternatives, and a late one is fetched on the way."""
    keys = _keys(work)
    options = {
        name: work.options[name] for name in ("prompt", "service", "seed") if work.options[name] not in (None, "")
    }
    work.client.retry(work.task.id, keys, stage=STAGE, options=options | {"late": False})
    return say_of_photo("redone", count=len(keys))


def fetch_late(work: ff.ActionWork) -> str:
    """Ask the services about jobs that took too long. A picture that was made after all is delivered."""
    kept = _watched(work)
    found = [job.item for job in _given_up(work) if job.job["id"] in kept or _is_there(work, job)]
    if found:
        work.client.retry(work.task.id, found, stage=STAGE, options={"late": True})
    return say_of_photo("late_found", count=len(found))


def _watched(work: ff.ActionWork) -> set[str]:
    """The jobs whose pictures were copied while they were watched."""
    watches = work.client.list(parent=work.task.id, states=["completed"], limit=1_000)
    results = [work.client.result(one.id) for one in watches if one.pipeline == late.name]
    return {str(one["job"]) for one in results if one["images"]}


def _given_up(work: ff.ActionWork) -> list[ff.ExternalJob]:
    """Jobs of failed pictures that the service had accepted."""
    failed = {one.key for one in work.client.items(work.task.id, stage=STAGE, states=["failed"], limit=1_000)}
    jobs = work.client.external_jobs(work.task.id)
    return [job for job in jobs if job.item in failed and job.state is JobState.OVER and isinstance(job.job, dict)]


def _is_there(work: ff.ActionWork, job: ff.ExternalJob) -> bool:
    service = connected(configuration.load().chosen(_service(work, job)), _not_kept)
    try:
        return service.look(job.job) is not None
    except (Moderated, ServiceTrouble, ff.HandlerError):
        return False


def _service(work: ff.ActionWork, job: ff.ExternalJob) -> str:
    """The service that a job was started at. Jobs of older versions do not say it: it is that of the picture then."""
    if named := job.job.get("service"):
        return str(named)
    own = work.client.item(work.task.id, job.item, STAGE).options or {}
    return str(own.get("service") or work.task.options.get("service") or "")


def _keys(work: ff.ActionWork) -> list[str]:
    known = [one.key for one in work.client.items(work.task.id, stage=STAGE, limit=1_000)]
    named = [key.zfill(2) if key.isdecimal() else key for key in work.options["items"]]
    if unknown := [key for key in named if key not in known]:
        raise ff.Permanent(say_of_photo("no_such_picture", name=unknown[0], known=known), code="no_such_picture")
    if not known:
        raise ff.Permanent(say_of_photo("nothing_to_redo"), code="no_such_picture")
    return named or known


def _not_kept(name: str, content: bytes) -> Any:
    raise AssertionError("A look stores nothing.")


def declare(pipeline: ff.Pipeline) -> None:
    """Declare the actions of a pipeline."""
    pipeline.action(
        "redo",
        label="Make again",
        help="Make pictures again, also with another prompt, service or seed. The ones before stay as alternatives.",
        options=[
            PICTURES,
            ff.Option("prompt", "text", "Another prompt; empty for the same.", ""),
            ff.Option("service", "text", "Another service; empty for the same.", ""),
            ff.Option("seed", "number", "Another seed.", at_least=0, at_most=2**31 - 1),
        ],
        states=ENDED,
    )(redo)
    pipeline.action(
        "late",
        label="Look for late pictures",
        help="Ask the services about jobs that took too long, and deliver what they have made since.",
        options=[],
        states=ENDED,
    )(fetch_late)
