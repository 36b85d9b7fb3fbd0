"""The parts of the OpenAPI description that all routes share: problems, tokens and limits."""

from __future__ import annotations

from typing import Any

from fanfold.server.api.shapes.shared_shapes import Problem
from fanfold.server.api.shapes.task_requests import GivenFile
from fanfold.server.requests.problems import MEDIA_TYPE

WORDS = {
    401: "No valid token was given.",
    402: "The owner has fewer credits than this costs; nothing was begun.",
    403: "The token does not allow it, or the request came from a page of another site.",
    404: "It does not exist, or you may not see it.",
    409: "Its state does not allow this, or the shortened id matches several tasks.",
    413: "The request is too large.",
    408: "The request did not arrive completely in time.",
    415: "Only JSON and multipart/form-data are accepted.",
    416: "The file has no such range.",
    421: "The server does not accept this host name.",
    422: "The input cannot be used; nothing was changed.",
    500: "The application's own code failed; `detail` says how.",
    503: "The database cannot be used right now, or there are too many requests.",
    507: "The server has no disk space left for the upload.",
}
ALWAYS = (401, 403, 413, 421, 422, 503)
REFERENCE = "#/components/schemas/{model}"
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "Created with `fanfold tokens create`; not needed on a loopback address.",
}


def may_answer(*statuses: int, always: tuple[int, ...] = ALWAYS) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route: these problems and those common to all routes."""
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
    return {status: {"description": WORDS[status], "content": content} for status in sorted({*statuses, *always})}


def completed(described: dict[str, Any]) -> dict[str, Any]:
    """The description, completed with what routes only refer to: the problem and file schemas and the token scheme."""
    components = described.setdefault("components", {})
    shapes = components.setdefault("schemas", {})
    for model in (Problem, GivenFile):
        shapes[model.__name__] = model.model_json_schema(ref_template=REFERENCE)
    components["securitySchemes"] = {"bearer": BEARER}
    described["security"] = [{"bearer": []}, {}]
    return described
