"""Routes for the contents of a task: items with data and pictures, failures, events, calls and the timeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response

from fanfold.engine.client import Client
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import NotFound
from fanfold.model.item import ItemDetail
from fanfold.model.lifecycle import ItemState
from fanfold.model.task import Cells, Event, Timeline
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File
from fanfold.model.views.images import numbered
from fanfold.server.api.documented import may_answer
from fanfold.server.api.shapes.json_values import plain
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.shapes.task_shapes import Failure, ItemList, ItemShape
from fanfold.server.api.tasks import TaskId
from fanfold.server.requests.adapted_messages import neutral
from fanfold.server.requests.authentication import At, Looking
from fanfold.store.rows.money.answers import CallRow

router = APIRouter(tags=["items"])
Key = Annotated[Text, Query(description="Key of the item, or its position if it has none.", max_length=200)]
Stage = Annotated[Text | None, Query(description="By default the stage with many items.", max_length=63)]
Number = Annotated[
    int | None,
    Query(ge=0, le=1_000, description="Number of a picture among those of its output, from 1; 0 is the one before."),
]
Page = Annotated[int | None, Query(ge=1, le=1_000_000, description="Number of a page, from 1.")]
KINDS = (
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"\x89PNG\r\n", "image/png"),
    (b"RIFF", "image/webp"),
    (b"GIF8", "image/gif"),
)
AVIF = b"ftypavif"
"""The beginning of an AVIF file, after the four bytes of a length."""
PICTURE = {
    "content": {"image/jpeg": {}, "image/png": {}, "image/webp": {}, "image/avif": {}},
    "description": "The picture.",
}
HOUR = "private, max-age=3600"


@router.get("/tasks/{task_id}/items", responses=may_answer(404, 409))
def list_items(
    client: Looking,
    task_id: TaskId,
    stage: Stage = None,
    state: Annotated[list[ItemState], Query(description="Only items in these states.")] = [],  # noqa: B006
    degraded: Annotated[bool | None, Query(description="Only degraded items, or only the others.")] = None,
    after: Annotated[Text | None, Query(description="The `next` of the previous page.", max_length=200)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> ItemList:
    """List a task's items in order."""
    found = client.items(task_id, stage=stage, states=state, degraded=degraded, after=after, limit=limit)
    return ItemList.model_construct(
        items=[neutral(item) for item in found], next=found[-1].key if len(found) == limit else None
    )


@router.get("/tasks/{task_id}/items/detail", responses=may_answer(404, 409))
def get_item(client: Looking, task_id: TaskId, key: Key, stage: Stage = None) -> ItemShape:
    """Get one item with its input, output, errors, attempts and neighbours."""
    return ItemShape.of(client.item(task_id, key, stage), client.get(task_id).id)


@router.get("/tasks/{task_id}/items/output", responses=may_answer(404, 409))
def get_output(
    client: Looking,
    task_id: TaskId,
    key: Key,
    stage: Stage = None,
    earlier: Annotated[bool, Query(description="The output from before it was redone.")] = False,
) -> JSONResponse:
    """Get the output of a finished item as JSON; files in it are links."""
    return JSONResponse(plain(client.output(task_id, key, stage, earlier=earlier), client.get(task_id).id))


@router.get("/tasks/{task_id}/items/image", responses={**may_answer(404, 409), 200: PICTURE}, response_class=Response)
async def get_image(
    client: Looking, place: At, task_id: TaskId, key: Key, stage: Stage = None, page: Page = None, image: Number = None
) -> Response:
    """Get the picture of an item: the one stored with its output, or one that its pipeline renders now.

    With `page`, get the picture of that page of it, if its pipeline renders pages. With `image`, get one of the pictures
    of its output, as the view `images` numbers them.
    """
    if image is not None:
        return shown_picture(await run_in_threadpool(output_picture, client, task_id, key, stage, image))
    kept, pipeline, name, value = await run_in_threadpool(wanted_picture, client, task_id, key, stage)
    picture = kept if kept and page is None else None
    picture = picture or await place.pictures.draw(place.pipelines.get(pipeline), name, value, page)
    return shown_picture(picture)


def shown_picture(picture: bytes) -> Response:
    """A picture in a format that browsers show; NotFound for anything else, whatever it is called."""
    avif = "image/avif" if picture[4:12] == AVIF else None
    kind = next((kind for magic, kind in KINDS if picture.startswith(magic)), avif)
    if kind is None:
        raise NotFound(say("no_shown_picture"), code="no_picture")
    return Response(picture, media_type=kind, headers={"cache-control": HOUR})


def output_picture(client: Client, task_id: str, key: str, stage: str | None, number: int) -> bytes:
    """The bytes of one of the pictures in an item's output."""
    file = numbered(client.item(task_id, key, stage).output, number)
    if file is None:
        raise NotFound(say("no_shown_picture"), code="no_picture")
    return file.read_bytes()


def wanted_picture(client: Client, task_id: str, key: str, stage: str | None) -> tuple[bytes | None, str, str, Any]:
    """The stored picture, or the pipeline that can render one, with a cache name and the input to render."""
    task = client.get(task_id)
    detail = client.item(task_id, key, stage)
    kept = picture_of(detail)
    name = f"{task.id}/{detail.item.stage}/{detail.item.seq}"
    pipeline = client.pipelines.get(task.pipeline)
    if kept is None and pipeline is not None and pipeline.picture is not None:
        detail = client.typed(pipeline).item(task_id, key, stage)
    return kept.read_bytes() if kept else None, task.pipeline, name, detail.input


@router.get("/tasks/{task_id}/failures", responses=may_answer(404, 409))
def list_failures(client: Looking, task_id: TaskId) -> list[Failure]:
    """List the reasons why items failed, most frequent first."""
    return [Failure.of(*group) for group in client.failures(task_id)]


@router.get("/tasks/{task_id}/events", responses=may_answer(404, 409))
def list_events(
    client: Looking,
    task_id: TaskId,
    after: Annotated[int, Query(ge=0, le=2**62, description="Id of the last event seen.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> list[Event]:
    """List the events of a task in order."""
    return [neutral(event) for event in client.events(task_id, after, limit)]


@router.get("/tasks/{task_id}/calls", responses=may_answer(404, 409))
def list_calls(
    client: Looking,
    task_id: TaskId,
    key: Annotated[Text | None, Query(max_length=200)] = None,
    stage: Stage = None,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="Id of the first call seen.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1000,
) -> list[CallRow]:
    """List the latest model calls of a task or one of its items, in order, with the cost of each."""
    return client.calls(task_id, key, stage, before=before, limit=limit)


@router.get("/tasks/{task_id}/cells", responses=may_answer(404, 409))
def get_cells(client: Looking, task_id: TaskId, stage: Stage = None) -> Cells:
    """Get the states of all items of a stage as letters: p(ending) r(unning) t (retrying) w(aiting) d(one) f(ailed).

    `g` is done but degraded.
    """
    return WebQueries(client.lookup).cells(task_id, stage)


@router.get("/tasks/{task_id}/timeline", responses=may_answer(404, 409))
def get_timeline(client: Looking, task_id: TaskId) -> Timeline:
    """Get the task's timeline: its stages, what its workers settled when, and the attempts that failed or were lost."""
    found = WebQueries(client.lookup).timeline(task_id)
    return replace(found, attempts=tuple(neutral(attempt) for attempt in found.attempts))


def picture_of(detail: ItemDetail) -> File | None:
    """The picture stored with an item's output."""
    image = detail.output.get("image") if isinstance(detail.output, dict) else None
    return image if isinstance(image, File) else None
