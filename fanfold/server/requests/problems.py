"""Converts errors to problem documents (RFC 9457) with a stable code, a fact and a way out."""

from __future__ import annotations

import errno
import json
import logging
import secrets
import tempfile
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.encoders import jsonable_encoder
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from fanfold.engine.redaction import without_keys
from fanfold.engine.worker.log_throttle import LogThrottle
from fanfold.errors import (
    BadOption,
    BadTemplate,
    DatabaseProblem,
    FanfoldError,
    IllegalMove,
    NotEnoughCredits,
    TaskStopped,
)
from fanfold.model.text.sentences import Sentence, say
from fanfold.server.requests.adapted_messages import without_commands

log = logging.getLogger("fanfold.server")
STATUS = {
    "unauthorized": 401, "not_enough_credits": 402, "forbidden": 403, "not_found": 404, "no_picture": 404, "no_result": 404,
    "ambiguous": 409,
    "no_form": 404, "no_template": 404, "no_template_kind": 404, "no_action": 404, "unknown_pipeline": 404, "action_failed": 500,
    "illegal_move": 409, "task_stopped": 409, "key_taken": 409, "key_reused": 409, "file_gone": 404, "too_large": 413,
    "bad_input": 422, "bad_pipeline": 422, "refused": 422, "form_failed": 500, "file_damaged": 500, "database": 503, "busy": 503,
}  # fmt: skip
"""HTTP status by error code; other codes mean bad input: 422."""
TITLES = {
    400: "Bad request", 401: "A token is needed", 402: "Not enough credits", 403: "Not allowed", 404: "Not found",
    405: "Method not allowed",
    408: "Too slow", 409: "Not possible now", 413: "Too large", 415: "Unknown kind of content", 416: "No such range",
    421: "Unknown host", 422: "Cannot be used", 500: "Unexpected", 503: "Not possible right now", 507: "No space left",
}  # fmt: skip
MEDIA_TYPE = "application/problem+json"
CODES = {
    400: "bad_request", 404: "not_found", 405: "method_not_allowed", 408: "too_slow", 413: "too_large",
    415: "unknown_content", 416: "bad_range",
}  # fmt: skip
FULL = (errno.ENOSPC, errno.EDQUOT)
Teller = Callable[[Request, int, str, str], Awaitable[Response]]
Speaker = Callable[[Request, str], str]


class ProblemDocument(JSONResponse):
    """A problem document in ASCII: it may quote anything, even half a surrogate pair, which UTF-8 cannot encode."""

    media_type = MEDIA_TYPE

    def render(self, content: Any) -> bytes:
        """Plain ASCII, everything else escaped."""
        return json.dumps(content).encode()


def problem(status: int, code: str, detail: str, **more: Any) -> JSONResponse:
    """A problem document."""
    said = without_commands(detail)
    if isinstance(said, Sentence):
        said = said.changed(without_keys)
        more["sentence"] = said.data
    body = {
        "type": "about:blank",
        "title": TITLES.get(status, "Problem"),
        "status": status,
        "detail": without_keys(said),
        "code": code,
    }
    headers = {401: {"www-authenticate": "Bearer"}, 503: {"retry-after": "2"}}.get(status)
    return ProblemDocument(jsonable_encoder(body | more), status, headers)


def status_of(error: FanfoldError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, DatabaseProblem) and error.code not in ("refused", "file_damaged"):
        return 503
    return STATUS.get(error.code, 422)


def possible(error: FanfoldError) -> dict[str, Any]:
    """The commands possible instead, if known; the mistakes in a template; the balance and the price of a task too dear."""
    if isinstance(error, BadTemplate):
        return {"problems": [without_keys(str(without_commands(one))) for one in error.problems]}
    if isinstance(error, IllegalMove | TaskStopped) and error.available_commands:
        return {"available_commands": list(error.available_commands)}
    if isinstance(error, NotEnoughCredits):
        return {"balance": error.balance, "price": error.price}
    return {}


repeats = LogThrottle()


def told_to_all(error: FanfoldError) -> str:
    """Message for the client. The database's address and messages go only to the log, because /health is public."""
    if not isinstance(error, DatabaseProblem) or error.code == "refused":
        return error.message
    said, like_it = repeats.count(error.message)
    log.log(logging.WARNING if said else logging.DEBUG, "[server] %s%s", error.message, like_it)
    return error.public or say("database_not_usable")


def no_space() -> Sentence:
    """Message for an upload when the disk is full."""
    return say("no_space", place=say("in_folder", folder=tempfile.tempdir) if tempfile.tempdir else "")


def told(app: FastAPI, tell_page: Teller, speak: Speaker) -> None:
    """Register the error handlers: problem documents for programs, and ``tell_page`` for people on the pages.

    Page scripts also get documents, which include the message in the reader's language (``speak``).
    """

    async def tell(request: Request, status: int, code: str, detail: str, **more: Any) -> Response:
        if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
            if (shown := without_keys(speak(request, detail))) != without_keys(without_commands(detail)):
                more["shown"] = shown
            return problem(status, code, detail, **more)
        return await tell_page(request, status, code, detail)

    @app.exception_handler(FanfoldError)
    async def known(request: Request, error: FanfoldError) -> Response:
        if not isinstance(error, BadOption):
            return await tell(request, status_of(error), error.code, told_to_all(error), **possible(error))
        answer = await tell(request, 422, error.code, error.message, field=error.field)
        if request.headers.get("content-type", "").startswith("multipart/"):
            answer.headers["connection"] = "close"  # The rest of an upload stays unread.
        return answer

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        found = [{"at": list(map(str, one["loc"])), "message": one["msg"]} for one in error.errors()]
        detail = "; ".join(f"{'.'.join(one['at'])}: {one['message']}" for one in found[:5])
        return await tell(request, 422, "bad_request", detail, errors=found)

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        # A body that cannot be parsed is reported like one with invalid values.
        status = 422 if error.status_code == 400 else error.status_code
        answer = await tell(request, status, CODES.get(error.status_code, "refused"), error.detail)
        answer.headers.update(error.headers or {})
        return answer

    @app.exception_handler(FileNotFoundError)
    async def gone(request: Request, error: FileNotFoundError) -> Response:
        if error.filename is None:  # Python found no writable folder for temporary files.
            return await tell(request, 507, "no_space", no_space())
        log.warning("[server] %s %s: a file is gone: %s", request.method, request.url.path, error.filename)
        return await tell(request, 404, "file_gone", say("page_file_gone"))

    @app.exception_handler(OSError)
    async def refused_by_system(request: Request, error: OSError) -> Response:
        if error.errno in FULL:
            log.warning("[server] %s %s: %s", request.method, request.url.path, error)
            return await tell(request, 507, "no_space", no_space())
        return await unexpected(request, error)

    @app.exception_handler(Exception)
    async def unexpected(request: Request, error: Exception) -> Response:
        mark = secrets.token_hex(4)
        log.error("[server] %s %s failed, marked %s", request.method, request.url.path, mark, exc_info=error)
        return await tell(request, 500, "unexpected", say("unexpected", mark=mark))
