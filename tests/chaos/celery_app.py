"""A Celery app whose workers process the tasks of these tests; broker and database come from the environment."""

from __future__ import annotations

import os
from pathlib import Path

from celery import Celery

import fanfold as ff
from tests.acceptance.work import crowd
from tests.chaos.handlers import crowd_in_children, deaf_function

app = Celery("chaos", broker=os.environ.get("CELERY_BROKER_URL", "memory://"))
app.conf.broker_connection_retry_on_startup = True
app.conf.task_routes = {"team.*": {"queue": "team"}}
app.conf.broker_transport_options = {"visibility_timeout": 5}


@app.task(bind=True, name="team.count_up", max_retries=2)
def count_up(self, path: str, total: int) -> str:  # type: ignore[no-untyped-def]
    """A task that the team had before. It fails once, and reports its progress."""
    if self.request.retries == 0:
        raise self.retry(countdown=0)
    for number in range(total):
        self.update_state(state="COUNTING", meta={"current": number + 1, "total": total, "message": f"at {number + 1}"})
    Path(path).write_text(str(total))
    return f"{total} of {self.request.retries}"


counted = ff.from_celery(count_up)
ff.celery.attach(app, [crowd, crowd_in_children, deaf_function, counted])
