"""Fanfold in a FastAPI application: submit with POST, look with GET, follow as a stream of events.

    uvicorn fastapi_app:app

The worker runs in a thread of the application. To run it beside the application instead, or on other machines:

    WORKER_INSIDE=0 uvicorn fastapi_app:app
    fanfold worker fastapi_app.py:translate

`FANFOLD_DATABASE` and `FANFOLD_DATA` say where the tasks are kept.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

import fanfold as ff

translate = ff.Pipeline("translate-pages")


@translate.each(concurrency=20, timeout=60)
async def page(item: ff.ItemWork) -> str:
    """One page; in practice this would call a service."""
    return str(item.input).upper()


@translate.merge
def bind(task: ff.TaskWork, results: ff.Results) -> str:
    """All pages as one text."""
    return "\n".join(str(result.output) for result in results)


class NewBook(BaseModel):
    """What is posted."""

    pages: list[str] = Field(min_length=1)


class Progress(BaseModel):
    """The progress of a book."""

    id: str
    state: str
    done: int
    total: int

    @classmethod
    def of(cls, task: ff.Task) -> "Progress":
        """The fields of a task that the response needs."""
        return cls(id=task.id, state=task.state, done=task.done, total=task.total)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One client for all requests, opened and closed with the application."""
    async with ff.AsyncClient(pipelines=[translate]) as client:
        app.state.client = client
        if os.environ.get("WORKER_INSIDE") == "0":
            yield
        else:
            async with worker_inside():
                yield


@asynccontextmanager
async def worker_inside() -> AsyncIterator[None]:
    """A worker in a thread of this process; it hands back what it has not finished when the application stops."""
    worker = await asyncio.to_thread(ff.Worker, [translate])
    running = asyncio.create_task(asyncio.to_thread(worker.run))
    try:
        yield
    finally:
        worker.stop()
        await running
        worker.store.close()


app = FastAPI(lifespan=lifespan)


def client_of(request: Request) -> ff.AsyncClient:
    """The client of the application."""
    client: ff.AsyncClient = request.app.state.client
    return client


Client = Annotated[ff.AsyncClient, Depends(client_of)]


@app.post("/books", status_code=202)
async def submit(
    book: NewBook, client: Client, idempotency_key: Annotated[str | None, Header(max_length=200)] = None
) -> Progress:
    """Submit a book. The same Idempotency-Key returns the same task, so a repeated request does no work."""
    return Progress.of(await client.submit(translate, items=book.pages, key=idempotency_key))


@app.get("/books/{book_id}")
async def look(book_id: str, client: Client) -> Progress:
    """The progress of a book."""
    return Progress.of(await client.get(book_id))


@app.get("/books/{book_id}/result")
async def result(book_id: str, client: Client) -> str:
    """The whole text."""
    text: str = await client.result(book_id)
    return text


@app.get("/books/{book_id}/follow")
async def follow(book_id: str, client: Client) -> StreamingResponse:
    """The progress of a book as server-sent events. The stream ends when the browser disconnects; it holds no thread."""
    await client.get(book_id)  # An unknown book is answered before the stream begins.

    async def lines() -> AsyncIterator[str]:
        async for one in client.follow(book_id):
            if isinstance(one, ff.Task):
                yield f"data: {Progress.of(one).model_dump_json()}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


@app.exception_handler(ff.NotFound)
async def not_found(_request: Request, error: ff.NotFound) -> JSONResponse:
    """An unknown id."""
    return JSONResponse({"detail": str(error)}, status_code=404)


@app.exception_handler(ff.FanfoldError)
async def refused(_request: Request, error: ff.FanfoldError) -> JSONResponse:
    """Everything else that cannot be done now; the text says why, and the way out."""
    return JSONResponse({"detail": str(error)}, status_code=409)
