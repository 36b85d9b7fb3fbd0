"""What may an answer be? The problem documents that routes can answer with, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from fanfold.server.api.shapes import Problem
from fanfold.server.problems import MEDIA_TYPE

WORDS = {
    401: "No valid token was given.",
    403: "The token does not allow it.",
    404: "There is no such thing, or it is not yours to see.",
    409: "Not possible in the state it is in, or the shortened id fits several tasks.",
    413: "The request is too large.",
    415: "Only JSON and multipart/form-data are understood.",
    422: "What was given can not be used; nothing was changed.",
    503: "The database can not be used right now.",
}


def may_answer(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that may answer with these problems, and with those that any route may."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": WORDS[status], "content": content} for status in (401, 403, *statuses, 422, 503)}


__all__ = ["Problem", "may_answer"]
