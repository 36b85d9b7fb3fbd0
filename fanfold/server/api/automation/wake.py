"""The route by which services say that an external job has changed."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path

from fanfold.engine.tasks.steering.wake import TOKEN_LENGTH, wake
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.requests.authentication import At
from fanfold.server.threads.database_threads import Router

router = Router(tags=["external jobs"])


@router.post("/wake/{token}", status_code=204, responses=may_answer(404))
def wake_external_job(place: At, token: Annotated[Text, Path(max_length=TOKEN_LENGTH)]) -> None:
    """Look at an external job now, instead of at the next poll. The URL is the only key that is needed.

    The body is ignored: the handler asks the service itself. A call that comes twice, or too late, changes nothing.
    """
    wake(place.store, token)
