"""Routes for estimates: what a task would cost, before it is submitted."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from fastapi import Request
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile

from fanfold.engine.client import Client
from fanfold.engine.tasks.submitting.inputs import Upload
from fanfold.model.money.estimates import Estimate, LaneEstimate
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.shared_shapes import Said
from fanfold.server.api.shapes.task_requests import NewTask
from fanfold.server.api.submitting import BODY, check_endings, file_name, given, new_item, pipeline_of, read_submission
from fanfold.server.api.tasks import TaskId
from fanfold.server.api.uploading import close
from fanfold.server.app_state import AppState
from fanfold.server.requests.adapted_messages import without_commands
from fanfold.server.requests.authentication import At, Changing, Looking
from fanfold.server.threads.database_threads import Router, unlocking

router = Router(tags=["money"])


class EstimateShape(BaseModel):
    """What a task would cost, in US dollars; null is unknown."""

    lanes: list[LaneEstimate] = Field(description="`live`, and `batch` where the service answers batches.")
    why: str = Field(description="How this is known, or why it is not.")
    sentence: Said | None
    model: str
    items: int | None
    calls: int | None
    input_tokens: int | None
    output_tokens: int | None
    sampled: int = Field(description="How many items were processed for it.")
    spent: float = Field(description="What the sample has cost; part of the estimate.")

    @classmethod
    def of(cls, made: Estimate) -> EstimateShape:
        """The estimate as JSON."""
        said = without_commands(made.why)
        names = ("model", "items", "calls", "input_tokens", "output_tokens", "sampled", "spent")
        known: dict[str, Any] = {name: getattr(made, name) for name in names}
        return cls(lanes=list(made.lanes), why=str(said), sentence=Said.of(said), **known)


@router.post("/estimate", responses=may_answer(404, 408, 415, 507), openapi_extra=BODY)
async def estimate(request: Request, place: At, access: Changing, client: Looking) -> EstimateShape:
    """Estimate what a task would cost. Takes the body of `POST /tasks`; nothing is submitted, and no model is asked."""
    wanted, uploads = await read_submission(request, place, None)
    try:
        # An application's estimate may need a child process, like unlocking a file.
        return EstimateShape.of(await unlocking(estimated, place, client, wanted, uploads))
    finally:
        await close(uploads)


@router.get("/tasks/{task_id}/estimate", responses=may_answer(404, 409))
def estimate_of_task(client: Looking, task_id: TaskId) -> EstimateShape:
    """Estimate what a task will cost in all, from what its items have cost so far; for tasks submitted with a `sample`."""
    return EstimateShape.of(client.extrapolate(task_id))


def estimated(place: AppState, client: Client, wanted: NewTask, uploads: list[UploadFile]) -> Estimate:
    """The estimate; uploaded files are in a temporary folder meanwhile."""
    pipeline = pipeline_of(place, wanted.pipeline)
    files = [*map(given, wanted.files), *(Upload(file_name(upload.filename), upload.file) for upload in uploads)]
    check_endings(pipeline, files)
    items = None if wanted.items is None else [new_item(value) for value in wanted.items]
    with tempfile.TemporaryDirectory(prefix="estimate-") as folder:
        paths = [_written(Path(folder) / str(place_), file) for place_, file in enumerate(files)]
        inputs = [*wanted.inputs, *paths]
        return client.estimate(pipeline, *inputs, items=items, options=wanted.options, literal=True)


def _written(folder: Path, file: Upload) -> Path:
    folder.mkdir()
    path = folder / file.name
    with path.open("wb") as target:
        if isinstance(file.data, bytes):
            target.write(file.data)
        else:
            shutil.copyfileobj(file.data, target)
    return path
