"""The API does what its description says for any input, and nothing ends in a 5xx."""

import json
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.cli.samples import words
from tests.installation import Installation
from tests.server.asking import Asker

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # From its own dependencies, during import.
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.generation import GenerationMode
    from schemathesis.python.asgi import shutdown_lifespans
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_headers_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

EXAMPLES = 6
"""For each operation: valid and invalid data, for tasks that exist and for any; on the database that refuses more."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
HERE = {"host": "127.0.0.1"}
METHODS = ("get", "post", "delete", "put", "patch")


@pytest.fixture
def asker(installation: Installation) -> Iterator[Asker]:
    """A server with a few tasks, started and stopped by schemathesis."""
    installation.client.submit(words, items=["a", "b"], title="done", tags=["x"], owner="ann", key="k")
    installation.client.submit(words, items=["a", "bad"], title="partial")
    installation.work()
    yield Asker(installation)
    shutdown_lifespans()


def operations(description: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(path, method, what is said of it)."""
    for path, ways in description["paths"].items():
        for method, said in ways.items():
            if method in METHODS:
                yield path, method, said


@pytest.mark.parametrize("databases", ["postgresql"], indirect=True)
def test_the_api_does_what_its_description_says(asker: Asker, installation: Installation) -> None:
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", asker.app, headers=HERE)
    # The stream of the list never ends by itself; test_streams.py has it, over a socket.
    for found in schema.exclude(path="/api/v1/stream").get_all_operations():
        operation = found.ok()  # type: ignore[union-attr]
        # A path that is not as described is hardly to be made up; test_tasks.py and test_results.py have some.
        wrong = [GenerationMode.NEGATIVE] if len(operation.query) or len(operation.body) else []
        for mode in (GenerationMode.POSITIVE, *wrong):
            if "{task_id}" in operation.path:
                check(operation, mode, EXAMPLES // 3, known_task(installation, operation))
                if mode is GenerationMode.POSITIVE:
                    check(operation, mode, EXAMPLES // 6)
            else:
                check(operation, mode, EXAMPLES // 2)


def known_task(installation: Installation, operation: Any) -> str:
    """A task with which the operation has something to do; streams need a finished one, because they end with it."""
    if operation.path.endswith(("/stream", "/emitted")):
        return installation.client.cancel(installation.client.submit(words, items=["a"]).id).id
    if operation.method == "get":
        return next((task.id for task in installation.client.list(text="partial")), "t-none")
    return installation.client.submit(words, items=["a", "b"]).id


def check(operation: Any, mode: Any, examples: int, known: str | None = None) -> None:
    """Send what the description allows, or what it forbids, and check each response against it."""

    @settings(
        max_examples=examples,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def send(case: Any) -> None:
        if known:
            case.path_parameters["task_id"] = known
        if operation.path.endswith("/wait"):
            case.query = {**(case.query or {}), "seconds": 0}
        case.validate_response(case.call(headers=HERE), checks=CHECKS)

    send()


def test_every_operation_says_what_it_does(sqlite_asker: Asker) -> None:
    description = sqlite_asker.app.openapi()
    for path, method, said in operations(description):
        assert said.get("summary"), (path, method)
        assert said.get("description", "").rstrip().endswith("."), (path, method)
        assert said.get("tags"), (path, method)
        for parameter in said.get("parameters", ()):
            assert "schema" in parameter, (path, method, parameter["name"])
    ids = [said["operationId"] for _, _, said in operations(description)]
    assert len(ids) == len(set(ids))


def test_every_body_has_an_example(sqlite_asker: Asker) -> None:
    description = sqlite_asker.app.openapi()
    for path, method, said in operations(description):
        for kind, content in said.get("requestBody", {}).get("content", {}).items():
            assert exampled(description, content), (path, method, kind)


def exampled(description: dict[str, Any], content: dict[str, Any]) -> bool:
    """Whether a body, its schema or all its properties have an example."""
    schema = content["schema"]
    for part in [schema, *schema.get("anyOf", ()), *schema.get("allOf", ())]:
        name = part.get("$ref", "").rpartition("/")[2]
        part = description["components"]["schemas"][name] if name else part
        properties = part.get("properties", {}).values()
        if "examples" in content or "example" in content or "examples" in part:
            return True
        if properties and all("examples" in one for one in properties):
            return True
    return False


def test_every_example_is_accepted(sqlite_asker: Asker) -> None:
    """The examples of the bodies match the schemas: none is refused for its shape."""
    for path, method, said in operations(sqlite_asker.app.openapi()):
        content = said.get("requestBody", {}).get("content", {}).get("application/json", {})
        schema = content.get("schema", {})
        name = next((str(part["$ref"]) for part in [schema, *schema.get("anyOf", ())] if "$ref" in part), "")
        shape = sqlite_asker.app.openapi()["components"]["schemas"].get(name.rpartition("/")[2], {})
        for example in shape.get("examples", ()):
            filled = path.replace("{task_id}", "t-unknown")
            answer = sqlite_asker.ask(method.upper(), "/" + filled, json=example)
            assert answer.json().get("code") != "bad_request", (path, json.dumps(example), answer.text)


def test_errors_are_documents_with_a_stable_code(sqlite_asker: Asker) -> None:
    for method, path, status, code in (
        ("GET", "/nothing", 404, "not_found"),
        ("PUT", "/tasks", 405, "method_not_allowed"),
        ("GET", "/tasks?limit=x", 422, "bad_request"),
    ):
        answer = sqlite_asker.ask(method, path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert {"type", "title", "status", "detail", "code"} <= set(answer.json())
        assert (answer.json()["code"], answer.json()["status"]) == (code, status)
