"""Routes for results: files with ranges, values as JSON, and streams of item results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse

from fanfold.engine.client import Client
from fanfold.engine.queries.results.output_stream import OutputStream
from fanfold.engine.queries.web_queries import WebQueries
from fanfold.errors import NotFound
from fanfold.model.item import BEGAN_AGAIN
from fanfold.model.text.sentences import say
from fanfold.model.values.files import File
from fanfold.server.api.documented import may_answer
from fanfold.server.api.items import Stage
from fanfold.server.api.shapes.json_values import plain
from fanfold.server.api.shapes.shared_shapes import Text
from fanfold.server.api.tasks import TaskId
from fanfold.server.app_state import AppState
from fanfold.server.requests.authentication import Asking, At, Looking
from fanfold.server.requests.downloads import formed, sent
from fanfold.server.threads.database_threads import making

router = APIRouter(tags=["results"])
LINES = "application/x-ndjson"
POLL_SECONDS = 0.5
FILE: dict[str, Any] = {
    "content": {"application/octet-stream": {}, "application/json": {}},
    "description": "The file, or the value.",
}
Earlier = Annotated[bool, Query(description="While it is being redone: the previous result.")]
FormName = Annotated[Text | None, Query(max_length=63, description="Form of the result; `/pipelines` lists them.")]
Partial = Annotated[bool, Query(description="With `form`, before the task is completed: made of the results so far.")]
RANGES: dict[int | str, dict[str, Any]] = {
    200: FILE,
    206: {"description": "The part of the file that `Range` asked for."},
    307: {"description": "The file is in a bucket, and the settings allow links to it: `Location` has one."},
}
STREAM: dict[str, Any] = {"content": {LINES: {}}, "description": "One JSON document per line."}


@router.get("/tasks/{task_id}/result", responses={**may_answer(404, 409, 416, 500), **RANGES}, response_class=Response)
async def get_result(
    client: Looking, task_id: TaskId, earlier: Earlier = False, form: FormName = None, partial: Partial = False
) -> Response:
    """Get the result of a task: a file (with ranges), or a value as JSON in which files are links.

    With `form`, get it as a file in that form; `/pipelines` lists the forms, and which of them can be `partial`.
    """
    if form is not None:
        return formed(await making(client.make_form, task_id, form, earlier=earlier, partial=partial))
    return await run_in_threadpool(whole_result, client, task_id, earlier)


def whole_result(client: Client, task_id: str, earlier: bool) -> Response:
    """The result in its original form."""
    return answer(client.result(task_id, earlier=earlier), client.get(task_id).id)


@router.get(
    "/tasks/{task_id}/result/{name}", responses={**may_answer(404, 409, 416), **RANGES}, response_class=Response
)
def get_part(
    client: Looking, task_id: TaskId, name: Annotated[Text, Path(max_length=200)], earlier: Earlier = False
) -> Response:
    """Get one named entry of a result that has several."""
    value = client.result(task_id, earlier=earlier)
    if not isinstance(value, dict) or name not in value:
        known = say("result_has", names=list(value)) if isinstance(value, dict) else ""
        raise NotFound(say("result_has_no", task=task_id, name=name[:100], known=known))
    return answer(value[name], client.get(task_id).id)


@router.get("/tasks/{task_id}/files/{name}", responses={**may_answer(404, 409, 416), **RANGES}, response_class=Response)
def get_file(client: Looking, task_id: TaskId, name: Annotated[Text, Path(max_length=300)]) -> Response:
    """Get a file of a task by the name used in links."""
    return sent(WebQueries(client.lookup).file(task_id, name))


@router.get(
    "/tasks/{task_id}/results", responses={**may_answer(404, 409), 200: STREAM}, response_class=StreamingResponse
)
def get_results(client: Looking, task_id: TaskId, stage: Stage = None) -> StreamingResponse:
    """Get the results of all items so far, in order, as JSON lines."""
    id_ = client.get(task_id).id
    found = client.results(task_id, stage)
    return StreamingResponse((line(plain(result, id_)) for result in found.all()), media_type=LINES)


@router.get(
    "/tasks/{task_id}/emitted", responses={**may_answer(404, 409), 200: STREAM}, response_class=StreamingResponse
)
def get_emitted(
    access: Asking,
    client: Looking,
    place: At,
    task_id: TaskId,
    follow: Annotated[bool, Query(description="Keep the stream open until the task ends.")] = False,
    after: Annotated[
        str | None, Query(description="`place` of the last line received, to continue after it.", max_length=60)
    ] = None,
) -> StreamingResponse:
    """Get the pieces that items emit while they run, in item order, as JSON lines.

    `began_again` instead of `value` means that the item started another attempt: its earlier pieces no longer count.
    """
    id_ = client.get(task_id).id
    emitted = WebQueries(client.lookup).emitted(task_id, follow=follow, after=after)
    lines = followed(emitted, place, id_, access.token)
    return StreamingResponse(lines, media_type=LINES)


async def followed(emitted: OutputStream, place: AppState, task_id: str, token: str | None) -> AsyncIterator[str]:
    """The pieces as lines. Uses a thread only for each query, not for the time in between."""
    watcher = place.live.watch(task_id, token)
    try:
        while not emitted.over and not watcher.is_closed:
            pieces = await run_in_threadpool(emitted.next_placed)
            for key, value, at in pieces:
                said = {"began_again": True} if value is BEGAN_AGAIN else {"value": plain(value, task_id)}
                yield line({"key": key, **said, "place": at})
            if not pieces and not emitted.over:
                await asyncio.sleep(emitted.pause(POLL_SECONDS))
    finally:
        place.live.unwatch(task_id, watcher)


def answer(value: Any, task_id: str) -> Response:
    """A file unchanged, any other value as JSON."""
    return sent(value) if isinstance(value, File) else JSONResponse(plain(value, task_id))


def line(value: Any) -> str:
    """One line of JSON."""
    return json.dumps(value, ensure_ascii=False, default=str) + "\n"
