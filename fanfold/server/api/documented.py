"""What may an answer be? What the OpenAPI description says of problems, tokens and limits, for every route alike."""

from __future__ import annotations

from typing import Any

from fanfold.server.api.shapes import GivenFile, Problem
from fanfold.server.requests.problems import MEDIA_TYPE

WORDS = {
    401: "No valid token was given.",
    403: "The token does not allow it, or the request came from a page of another site.",
    404: "There is no such thing, or it is not yours to see.",
    409: "Not possible in the state it is in, or the shortened id fits several tasks.",
    413: "The request is too large.",
    408: "The request did not come completely in time.",
    415: "Only JSON and multipart/form-data are understood.",
    416: "The file has no such range.",
    421: "The server is not called by this name.",
    422: "What was given cannot be used; nothing was changed.",
    500: "The application's own code failed; `detail` says how.",
    503: "The database cannot be used right now, or too much is wanted at once.",
    507: "The server has no space left for what was sent.",
}
ALWAYS = (401, 403, 413, 421, 422, 503)
REFERENCE = "#/components/schemas/{model}"
BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "Made by `fanfold tokens create`; not needed on a loopback address.",
}


def may_answer(*statuses: int, always: tuple[int, ...] = ALWAYS) -> dict[int | str, dict[str, Any]]:
    """The ``responses`` of a route that may answer with these problems, and with those that any route may."""
    content = {MEDIA_TYPE: {"schema": {"$ref": REFERENCE.format(model="Problem")}}}
    return {status: {"description": WORDS[status], "content": content} for status in sorted({*statuses, *always})}


def completed(described: dict[str, Any]) -> dict[str, Any]:
    """The description with what routes only refer to: the shapes of problems and files, and how a token is given."""
    components = described.setdefault("components", {})
    shapes = components.setdefault("schemas", {})
    for model in (Problem, GivenFile):
        shapes[model.__name__] = model.model_json_schema(ref_template=REFERENCE)
    components["securitySchemes"] = {"bearer": BEARER}
    described["security"] = [{"bearer": []}, {}]
    return described
