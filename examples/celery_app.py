"""A team's own Celery app that also carries Fanfold's work.

Start these three, with FANFOLD_DATABASE and CELERY_BROKER_URL set, then submit tasks as usual:

    celery -A examples.celery_app worker
    fanfold dispatch --carrier celery -A examples.celery_app
    fanfold submit examples.celery_app:thumbnails a.png b.png
"""

import os
from typing import Any

from celery import Celery

import fanfold as ff

app = Celery("pictures", broker=os.environ.get("CELERY_BROKER_URL", "redis://127.0.0.1:6379/0"))
app.conf.task_routes = {"pictures.report": {"queue": "reports"}}

thumbnails = ff.Pipeline("thumbnails", unit=("picture", "pictures"))


@thumbnails.each
def shrink(item: ff.ItemWork) -> str:
    """Here the picture would be made smaller."""
    return f"small-{item.input}"


@app.task(bind=True, name="pictures.report", max_retries=1)  # type: ignore[untyped-decorator]
def report(self: Any, month: str) -> str:
    """A task that the team had before: it reports its progress to Celery."""
    for day in range(1, 31):
        self.update_state(state="PROGRESS", meta={"current": day, "total": 30})
    return f"report of {month}"


monthly_report = ff.from_celery(report)
"""The same task as a pipeline: durable, with progress, history and retries, and on its own queue."""

ff.celery.attach(app, [thumbnails, monthly_report])
