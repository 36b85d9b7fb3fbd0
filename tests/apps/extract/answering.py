"""A scripted model for extraction: answers each field from a table of what it should say."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from fanfold.providers.services.service import Request
from tests.ai_protocol import Call

LINE = re.compile(r"^(\d+)\| (.*)$", re.MULTILINE)


def asked(request: Request) -> list[str]:
    """The fields that a question asks for."""
    schema = request.parameters["schema"]["properties"]
    return list(schema["rows"]["items"]["properties"] if list(schema) == ["rows"] else schema)


def lines(request: Request) -> dict[int, str]:
    """The numbered lines of the document in a question."""
    return {int(number): text for number, text in LINE.findall(request.prompt)}


def found(request: Request, value: Any, quote: str) -> dict[str, Any]:
    """A value that the document states, with its quote and the line where it is."""
    line = next((number for number, text in lines(request).items() if quote in text), None)
    return {"value": value, "status": "found", "quote": quote, "line": line}


ABSENT: dict[str, Any] = {"value": None, "status": "not_found", "quote": None, "line": None}


def honest(known: Mapping[str, tuple[Any, str]]) -> Any:
    """A model that gives the known values where their quotes are in the text, and null otherwise."""

    def answer(request: Request) -> str:
        there = "\n".join(lines(request).values())
        said = {
            name: found(request, *known[name]) if name in known and known[name][1] in there else ABSENT
            for name in asked(request)
        }
        return json.dumps(said, ensure_ascii=False)

    return answer


class AsRequest:
    """A call at the loopback service, as the scripted models of this module see a question."""

    def __init__(self, call: Call) -> None:
        self.prompt = call.prompt
        self.model = call.model
        self.parameters = {"schema": call.parameters["response_format"]["json_schema"]["schema"]}


def served(known: Mapping[str, tuple[Any, str]]) -> Callable[[Call], str]:
    """The honest model for the loopback service."""
    answer = honest(known)
    return lambda call: str(answer(AsRequest(call)))
