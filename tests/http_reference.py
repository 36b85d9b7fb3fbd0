"""Makes the HTTP reference from the OpenAPI description: every route, and every shape of JSON that is sent or received."""

import tempfile
from typing import Any

from fanfold.server.app import API, make_app
from fanfold.server.app_state import AppState
from fanfold.settings import Settings
from fanfold.store.store import Store

Described = dict[str, Any]

HEAD = f"""# HTTP API

Made from the OpenAPI description that a server publishes at `{API}/openapi.json`. How to use the API:
[Server and web page](../guides/server.md).

Bodies and answers are JSON unless a media type is given. Every route may also answer with a problem document, see
[Errors](#errors)."""


def http() -> str:
    """The whole page."""
    described = openapi()
    routes: dict[str, list[str]] = {}
    problems: dict[str, str] = {}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            routes.setdefault(operation["tags"][0], []).append(route(method, path, operation))
            problems |= {code: one["description"] for code, one in operation["responses"].items() if code >= "400"}
    parts = [HEAD]
    for tag, texts in routes.items():
        parts += [f"## {tag.capitalize()}", *texts]
    return "\n\n".join([*parts, "## Errors", errors(problems), "## Shapes", *shapes(described)])


def openapi() -> Described:
    """The description of the API, from a server that is never started."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Settings(data=folder))
        try:
            return make_app(AppState(store, {})).openapi()
        finally:
            store.close()


def route(method: str, path: str, operation: Described) -> str:
    """One route: what it does, its parameters, its body and its answer."""
    parts = [f"### `{method.upper()} {path}`", prose(operation["description"])]
    given = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    if given:
        parts.append(table("parameter", [(one["name"], one["schema"], one.get("required", False)) for one in given]))
    if bodies := operation.get("requestBody", {}).get("content", {}):
        parts += [body(kind, one.get("schema", {})) for kind, one in bodies.items()]
    return "\n\n".join([*parts, answer(operation["responses"])])


def body(kind: str, schema: Described) -> str:
    """What a route takes: a link to its shape, or the fields of one that has no name."""
    fields = schema.get("properties", {})
    if not fields:
        return f"Body: {content(kind, schema)}."
    required = set(schema.get("required", ()))
    rows = table("field", [(name, one, name in required) for name, one in fields.items()])
    return f"Body, as `{kind}`:\n\n{rows}"


def answer(responses: Described) -> str:
    """What a route answers with when all is well."""
    good = {code: one.get("content", {}) for code, one in responses.items() if code < "400"}
    said = [
        f"{code}" + "".join(f", {content(kind, one.get('schema', {}))}" for kind, one in contents.items())
        for code, contents in good.items()
    ]
    return f"Answer: {'; '.join(said)}."


def content(kind: str, schema: Described) -> str:
    """A body or an answer: its shape, and its media type unless it is JSON."""
    shape = kind_of(schema)
    if kind == "application/json":
        return shape
    return f"`{kind}`" + (f" ({shape})" if "$ref" in schema else "")


def errors(problems: dict[str, str]) -> str:
    """The statuses that any route may answer with."""
    rows = [f"| {code} | {escaped(meaning)} |" for code, meaning in sorted(problems.items())]
    head = "An error is a problem document (`application/problem+json`): [Problem](#problem)."
    return "\n".join([head, "", "| status | meaning |", "|---|---|", *rows])


def shapes(described: Described) -> list[str]:
    """Every named shape, in alphabetical order."""
    schemas = described["components"]["schemas"]
    return [shape(name, schemas[name]) for name in sorted(schemas, key=str.lower)]


def shape(name: str, schema: Described) -> str:
    """One shape with its fields, or with the values it may have."""
    parts = [f"### {name}"]
    if schema.get("description"):
        parts.append(prose(schema["description"]))
    if "enum" in schema:
        parts.append("One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".")
    elif fields := schema.get("properties"):
        required = set(schema.get("required", ()))
        parts.append(table("field", [(field, one, field in required) for field, one in fields.items()]))
    return "\n\n".join(parts)


def table(first: str, rows: list[tuple[str, Described, bool]]) -> str:
    """Parameters or fields as a table."""
    lines = [
        f"| `{name}` | {escaped(kind_of(schema))} | {default_of(schema, required)} "
        f"| {escaped(' '.join(schema.get('description', '').split()))} |"
        for name, schema, required in rows
    ]
    return "\n".join([f"| {first} | type | default | meaning |", "|---|---|---|---|", *lines])


def kind_of(schema: Described) -> str:
    """The type of a value in a word or two; a named shape is a link."""
    if reference := schema.get("$ref"):
        name = reference.rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return " or ".join(dict.fromkeys(kind_of(one) for one in choices))
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {kind_of(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind_of(schema['additionalProperties'])}"
    return str(schema.get("format") or schema.get("type") or "any")


def default_of(schema: Described, required: bool) -> str:
    """What counts when a value is left out."""
    if required:
        return "required"
    default = schema.get("default")
    return "" if default in (None, [], {}, "") else f"`{escaped(str(default).lower())}`"


def prose(text: str) -> str:
    """A docstring as Markdown."""
    return text.strip().replace("``", "`")


def escaped(text: str) -> str:
    """Text that may stand in a cell of a table."""
    return text.replace("``", "`").replace("|", "\\|")
