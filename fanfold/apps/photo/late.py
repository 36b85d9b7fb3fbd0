"""Watches a job that took too long, for up to a day: a picture that was paid for is kept, even if its task has ended.

It is a subtask, so it costs no credits, belongs to the same owner, and leaves with the task. Its result is the picture as the
service made it.
"""

from __future__ import annotations

from typing import Any

import fanfold as ff
from fanfold.apps.photo import chinese, configuration
from fanfold.apps.photo.sentences import say_of_photo
from fanfold.model.item import Later

WATCH_SECONDS = 24 * 3_600.0
FIRST_PAUSE, LONGEST_PAUSE = 60.0, 1_800.0

late = ff.Pipeline(
    "photo-late",
    title="Late pictures",
    unit=("picture", "pictures"),
    view="images",
    words=ff.Vocabulary(languages={"zh": chinese.WORDS}, sentences=say_of_photo),
)


def watch_of(job: dict[str, Any]) -> str:
    """The name of the subtask that watches a job."""
    return f"late {job['id']}"[:63]


@late.step(
    name="watching", ready="waiting for the service", doing="watching", wait_limit=2 * WATCH_SECONDS, timeout=300
)
def watch(task: ff.TaskWork) -> dict[str, Any] | Later:
    """Look at the job now and then. The result names the picture, or why there is none."""
    from fanfold.apps.photo.services.known import connected
    from fanfold.apps.photo.services.requests import ServiceTrouble
    from fanfold.apps.photo.services.service import Moderated

    given, settings = task.input, configuration.load()
    service = connected(settings.chosen(given["job"].get("service", "")), task.write)
    try:
        found = service.look(given["job"])
    except (Moderated, ff.HandlerError) as end:
        return {"images": [], "reason": str(end)}
    except ServiceTrouble:
        found = None
    if found is None:
        return _pause(task)
    from fanfold.apps.photo.inputs.copying import copied

    if not task.memory.get("paid"):  # Its item gave up before there was a cost.
        task.remember(paid=True)
        task.used(model=service.model, images=1, **service.cost)
    files = copied(service, found, f"{given['picture']}-late", settings.pixels, task.write)
    images = [{"file": one, "label": "alternative", "kind": "alternative"} for one in files]
    return {
        "images": images,
        "picture": given["picture"],
        "job": given["job"]["id"],
        "prompt": given["prompt"],
        "seed": given["job"].get("seed"),
        "service": service.settings.name,
    }


def _pause(task: ff.TaskWork) -> dict[str, Any] | Later:
    """Wait longer each time; after a day, give up."""
    waited = float(task.memory.get("waited", 0.0))
    if waited >= WATCH_SECONDS:
        return {"images": [], "reason": say_of_photo("never_came", hours=round(waited / 3_600))}
    seconds = min(LONGEST_PAUSE, max(FIRST_PAUSE, waited))
    task.remember(waited=waited + seconds)
    return ff.later(seconds)
